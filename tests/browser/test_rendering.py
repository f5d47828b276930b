"""What a page looks like once its scripts have run: selection, waiting, reading, refusing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from spaniel.browser.cdp import CdpSession
from spaniel.browser.idle import IdleWaiter
from spaniel.browser.page_reader import PageReader, PageSnapshot
from spaniel.errors import SpanielError
from spaniel.pipeline.profile import from_data
from spaniel.pipeline.request import Trace
from spaniel.testing import Page, Reply, Site, redirect, spaniel_for, text
from tests.browser.harness import WORDS, fetched, html, open_web, script, spaniel_at, with_chromium

SHELL = "<title>App</title><div id=root></div><script type=module src=/app.js></script>"
APP = """
const got = await fetch('/api');
const said = await got.json();
document.getElementById('root').innerHTML =
  `<main><h1>${said.title}</h1><p>${'The otter swims in the river and eats fish. '.repeat(40)}</p></main>`;
"""
SPA: dict[str, Page] = {
    "/": html(SHELL),
    "/app.js": script(APP),
    "/api": (200, {"Content-Type": "application/json"}, b'{"title": "Rendered"}'),
}


async def refusal(spaniel: object, url: str) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        await spaniel.fetch(url, force_browser=True)  # type: ignore[attr-defined]
    return caught.value


@pytest.mark.req("IT-WF-BR-01", "FR-WF-11", "FR-WF-12a")
async def test_a_forced_render_brings_what_the_scripts_made(tmp_path: Path) -> None:
    async with spaniel_at(SPA, tmp_path) as (spaniel, site):
        trace = Trace()
        answer = await spaniel.fetch(site.url("/"), force_browser=True, trace=trace)
        assert answer.rendering_method == "browser"
        assert answer.markdown.startswith("# Rendered\n")
        assert "note" not in answer.as_dict()
        assert site.requests["/"] == 1  # HTTP mode was skipped
        assert all(seen["user-agent"] == "forge-webfetch/1.0" for seen in site.seen)
    assert [step.name for step in trace.steps][:6] == ["parse", "normalize", "check_cache", "guard", "robots", "render"]


@pytest.mark.req("IT-WF-BR-07", "FR-WF-12", "FR-WF-12c", "FG-20", "FG-31", "D2-03", "T-WF-CCH-04")
async def test_a_shell_over_http_falls_back_to_the_browser_and_is_found_again(tmp_path: Path) -> None:
    async with spaniel_at(SPA, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"))
        assert (answer.rendering_method, answer.note) == ("browser", None)
        assert "# Rendered" in answer.markdown
        assert site.requests["/"] == 2  # once by HTTP, once by the browser
        again = await spaniel.fetch(site.url("/"))
        assert (again.rendering_method, again.note, again.markdown) == ("browser", "cache_hit", answer.markdown)
        forced = await spaniel.fetch(site.url("/"), force_browser=True)
        assert forced.note == "cache_hit"
        assert site.requests["/"] == 2


@pytest.mark.req("IT-WF-BR-07", "FR-WF-12", "FR-WF-12c")
@pytest.mark.parametrize(("least", "method"), [(100, "http"), (1_000, "browser")])
async def test_how_little_text_makes_a_shell_is_a_setting(tmp_path: Path, least: int, method: str) -> None:
    pages = {**SPA, "/": html(SHELL.replace("<script", f"<p>{'Words of the shell. ' * 30}</p><script"))}
    async with spaniel_at(pages, tmp_path, rendering={"min_extracted_chars": least}) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/"))).rendering_method == method
        assert site.requests["/"] == (1 if method == "http" else 2)


@pytest.mark.req("FR-WF-12c", "FR-WF-12e", "FR-WF-12b")
async def test_who_has_enough_text_or_no_sign_or_no_leave_does_not_fall_back(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        **SPA,
        "/long": html(f"<main id=root><h1>Long</h1><p>{WORDS * 20}</p></main><script type=module></script>"),
        "/plain": html("<main><p>short</p></main>"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        for path in ("/long", "/plain"):
            assert (await spaniel.fetch(site.url(path))).rendering_method == "http"
    async with spaniel_at(pages, tmp_path / "off", rendering={"spa_fallback_enabled": False}) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/"))).rendering_method == "http"
    heavy = {"js_heavy_domains": ["example"]}
    async with spaniel_at(pages, tmp_path / "heavy", rendering=heavy) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/"))).rendering_method == "browser"
        assert site.requests["/"] == 1
        assert (await spaniel.fetch(site.url("/long", host="other.test"))).rendering_method == "http"


@pytest.mark.req("IT-WF-BR-05", "FR-WF-11e", "FR-WF-11f", "D2-25")
async def test_page_that_is_never_idle_gets_a_note_and_is_not_cached(tmp_path: Path) -> None:
    async def never() -> Reply:
        await asyncio.sleep(3600)
        return text("late")

    pages: dict[str, Page] = {"/": html(f"<h1>Here</h1><p>{WORDS * 20}</p><script>fetch('/never')</script>")}
    pages["/never"] = never
    async with spaniel_at(pages, tmp_path, {"network_idle_ms": 700}) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert answer.note == "browser_timeout_dom_partial"  # it did not wait for the rest, which would take an hour
        assert answer.markdown.startswith("# Here")
        again = await spaniel.fetch(site.url("/"), force_browser=True)
        assert again.note == "browser_timeout_dom_partial"


@pytest.mark.req("IT-WF-BR-05", "FR-WF-11f")
async def test_a_page_that_rests_in_time_has_no_note_and_is_kept(tmp_path: Path) -> None:
    async def later() -> Reply:
        await asyncio.sleep(0.3)
        return text("later")

    fetched = "fetch('/later').then((r) => r.text()).then((t) => { document.querySelector('h1').textContent = t })"
    pages: dict[str, Page] = {"/": html(f"<h1>Here</h1><p>{WORDS * 20}</p><script>{fetched}</script>"), "/later": later}
    async with spaniel_at(pages, tmp_path, {"network_idle_ms": 60_000}) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert answer.note is None
        assert answer.markdown.startswith("# later\n")
        assert (await spaniel.fetch(site.url("/"), force_browser=True)).note == "cache_hit"


@pytest.mark.req("FR-WF-11e")
async def test_half_a_second_without_requests_is_awaited_except_websockets(tmp_path: Path) -> None:
    """Timers within the half second run, and what they ask for starts another; later ones do not."""
    late = """
    const add = (id) => document.body.insertAdjacentHTML('beforeend', `<p>timer ${id} of the page has run</p>`);
    setTimeout(() => add('early'), 400);
    setTimeout(async () => { await fetch('/api'); setTimeout(() => add('chained'), 450) }, 300);
    setTimeout(() => add('never'), 5000);
    new WebSocket(`ws://${location.host}/socket`);
    """

    async def socket() -> Reply:
        await asyncio.sleep(60)
        return text("")

    pages: dict[str, Page] = {**SPA, "/": html(f"<h1>Timers</h1><script>{late}</script>"), "/socket": socket}
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert answer.note is None
        assert "timer early" in answer.markdown
        assert "timer chained" in answer.markdown
        assert "timer never" not in answer.markdown
        assert site.requests["/socket"] == 1


@pytest.mark.req("FR-WF-11e")
async def test_what_a_worker_loads_is_waited_for(tmp_path: Path) -> None:
    page = "<h1>W</h1><script>new Worker('/w.js').onmessage = (e) => document.body.append(e.data)</script>"

    async def slow() -> Reply:
        await asyncio.sleep(0.4)
        return text("sent by the worker")

    pages: dict[str, Page] = {
        "/": html(page),
        "/w.js": script("fetch('/slow').then((r) => r.text()).then(postMessage)"),
        "/slow": slow,
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        assert "sent by the worker" in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown


@pytest.mark.req("IT-WF-BR-06", "FR-WF-11g", "FR-WF-11h")
async def test_blocked_resources_are_never_asked_for(tmp_path: Path) -> None:
    page = (
        "<style>@font-face { font-family: f; src: url(/font) } body { font-family: f }</style><link rel=stylesheet "
        "href=/style><h1>P</h1><img src=/image><video src=/media></video><script src=/script></script>"
    )
    pages: dict[str, Page] = {
        "/": html(page),
        "/script": script(""),
        "/style": (200, {"Content-Type": "text/css"}, b""),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        await spaniel.fetch(site.url("/"), force_browser=True)
        assert site.requests.keys() == {"/robots.txt", "/", "/style", "/script"}
    async with spaniel_at(pages, tmp_path / "all", {"block_resources": []}) as (spaniel, site):
        await spaniel.fetch(site.url("/"), force_browser=True)
        assert {"/image", "/font", "/media"} <= site.requests.keys()
    async with spaniel_at(pages, tmp_path / "one", {"block_resources": ["Stylesheet"]}) as (spaniel, site):
        await spaniel.fetch(site.url("/"), force_browser=True)
        assert "/style" not in site.requests
        assert "/image" in site.requests


@pytest.mark.req("IT-WF-BR-06", "FR-WF-11h", "FR-WF-11g")
@pytest.mark.parametrize("kind", ["script", "Font", "IMAGE"])
async def test_what_is_blocked_is_chosen_by_its_kind(tmp_path: Path, kind: str) -> None:
    """Before it is asked for: the site never hears of it."""
    page = (
        "<style>@font-face { font-family: f; src: url(/font) } h1 { font-family: f; background: url(/image?2) }"
        "</style><h1>P</h1><img src=/image><script src=/script></script><script>new Image().src = '/image?3'</script>"
    )
    async with spaniel_at({"/": html(page), "/script": script("")}, tmp_path, {"block_resources": [kind]}) as (
        spaniel,
        site,
    ):
        await spaniel.fetch(site.url("/"), force_browser=True)
        asked = {path.strip("/").partition("?")[0] for path in site.requests}
    assert asked >= {"script", "font", "image"} - {kind.lower()}
    assert kind.lower() not in asked


@pytest.mark.req("FR-WF-11d")
async def test_a_dom_over_the_cap_is_cut_and_noted(tmp_path: Path) -> None:
    page = "<h1>Big</h1><script>document.body.insertAdjacentHTML('beforeend', '<p>écrit</p>'.repeat(20000))</script>"
    async with spaniel_at({"/": html(page)}, tmp_path, {"max_rendered_dom_bytes": 10_000}) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert answer.note == "browser_dom_truncated"
        assert answer.markdown.startswith("# Big")
        assert len(answer.markdown.encode()) < 10_000


@pytest.mark.req("FR-WF-11d")
async def test_a_dom_within_the_cap_is_whole_and_has_no_note(tmp_path: Path) -> None:
    made = "'<p>écrit</p>'.repeat(500) + '<p>end</p>'"
    page = f"<h1>Big</h1><script>document.body.insertAdjacentHTML('beforeend', {made})</script>"
    async with spaniel_at({"/": html(page)}, tmp_path, {"max_rendered_dom_bytes": 20_000}) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert answer.note is None
        assert answer.markdown.endswith("end\n")


HIDDEN = {
    "display": ".x { display: none }",
    "visibility": ".x { visibility: hidden }",
    "opacity": ".x { opacity: 0 }",
    "font-size": ".x { font-size: 0 }",
    "off-screen": ".x { position: absolute; left: -9999px }",
    "above": ".x { position: fixed; top: -500px }",
    "indent": ".x { text-indent: -9999px }",
    "clip": ".x { position: absolute; width: 1px; height: 1px; overflow: hidden; clip: rect(0, 0, 0, 0) }",
    "colour": ".x { color: transparent }",
    "parent": "section:has(> .x) { display: none }",
    "nothing left": ".x { max-height: 0; overflow: hidden }",
}


@pytest.mark.req("FR-WF-13", "D2-08")
async def test_computed_styles_decide_what_is_hidden() -> None:
    """By a style sheet, where no inline style could tell; and the same page without it shows the text."""
    body = f"<main><h1>Seen</h1><p>{WORDS * 5}</p><section><p class=x>hidden words</p></section></main>"
    pages: dict[str, Page] = {f"/{name}": html(f"<style>{css}</style>{body}") for name, css in HIDDEN.items()}
    pages["/control"] = html(body)
    async with (
        Site({k.replace(" ", "%20"): v for k, v in pages.items()}, "127.0.0.2") as site,
        open_web(site.port) as web,
    ):

        async def body_of(name: str) -> bytes:
            return (await web.render(f"http://127.0.0.2:{site.port}/{name}")).body

        found = dict(zip([*HIDDEN, "control"], await asyncio.gather(*map(body_of, [*HIDDEN, "control"])), strict=True))
    assert b"hidden words" in found.pop("control")
    assert [name for name, seen in found.items() if b"hidden words" in seen] == []
    assert all(b"The otter" in seen for seen in found.values())


@pytest.mark.req("D2-08")
async def test_a_page_that_only_fades_in_is_read_and_folded_text_too(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html(f"<style>main {{ opacity: 0 }}</style><main><h1>Fading</h1><p>{WORDS * 20}</p></main>"),
        "/details": html(f"<main><h1>Q</h1><p>{WORDS * 9}</p><details><summary>Why</summary><p>Because</p></details>"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        assert "The otter swims" in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
        assert "Because" in (await spaniel.fetch(site.url("/details"), force_browser=True)).markdown


async def test_open_shadow_roots_are_read_where_they_stand_with_their_slots(tmp_path: Path) -> None:
    page = """<main><h1>Shadow</h1><x-card><span slot=name>Otter</span><p>lives in rivers and on the coast</p></x-card>
    </main><script>
    customElements.define('x-card', class extends HTMLElement { constructor() { super();
      this.attachShadow({mode: 'open'}).innerHTML =
        '<style>.no { display: none }</style><h2>About the <slot name=name></slot></h2><x-deep></x-deep><slot></slot>' +
        '<p class=no>hidden in the shadow</p>' } });
    customElements.define('x-deep', class extends HTMLElement { constructor() { super();
      this.attachShadow({mode: 'open'}).innerHTML = '<p>from a root within a root</p>' } });
    </script>"""
    async with spaniel_at({"/": html(page)}, tmp_path) as (spaniel, site):
        markdown = (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
    assert "## About the Otter" in markdown
    assert markdown.index("About") < markdown.index("root within a root") < markdown.index("rivers")
    assert "hidden in the shadow" not in markdown


async def test_a_page_cannot_lie_by_redefining_what_reads_it(tmp_path: Path) -> None:
    tricks = """
    Element.prototype.querySelectorAll = () => [];
    Object.defineProperty(Element.prototype, 'outerHTML', { get: () => '<p>forged</p>' });
    Element.prototype.checkVisibility = () => false;
    window.getComputedStyle = () => { throw 1 };
    JSON.stringify = () => 'x'; String.prototype.slice = () => 'forged'; Document.prototype.importNode = null;
    """
    page = f"<main><h1>True</h1><p>{WORDS * 9}</p></main><script>{tricks}</script>"
    async with spaniel_at({"/": html(page)}, tmp_path) as (spaniel, site):
        markdown = (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
    assert "The otter swims" in markdown
    assert "forged" not in markdown


NO_PAGES: list[tuple[Reply, str]] = [
    (html("<h1>no</h1>", 404), "http_4xx"),
    (html("<h1>no</h1>", 503), "http_5xx"),
    ((204, {}, b""), "network"),
    ((200, {"Content-Type": "application/pdf"}, b"%PDF-1.4"), "unsupported_content_type"),
    ((200, {"Content-Type": "application/octet-stream"}, b"\0\1"), "unsupported_content_type"),
    (html("<h1>file</h1>", Content_Disposition="attachment; filename=x.html"), "unsupported_content_type"),
    (html("<h1>private</h1>", 401, WWW_Authenticate="Basic realm=x"), "http_4xx"),
]


@pytest.mark.req("FR-WF-18", "FR-WF-10g", "D2-27")
async def test_an_answer_that_is_no_page_has_the_code_that_http_would_give(tmp_path: Path) -> None:
    pages: dict[str, Page] = {f"/{number}": reply for number, (reply, _) in enumerate(NO_PAGES)}
    async with spaniel_at({**pages, "/ok": html("<h1>fine</h1>")}, tmp_path) as (spaniel, site):
        for path, (reply, code) in zip(pages, NO_PAGES, strict=True):
            assert str((await refusal(spaniel, site.url(path))).code) == code, reply
            again = await spaniel.fetch(site.url("/ok"), force_browser=True, no_cache=True)
            assert "fine" in again.markdown
        assert not any("authorization" in seen for seen in site.seen)


@pytest.mark.req("D2-27")
async def test_an_error_tells_what_the_server_told(tmp_path: Path) -> None:
    async with spaniel_at({"/": html("slow down", 429, Retry_After="7")}, tmp_path) as (spaniel, site):
        error = await refusal(spaniel, site.url("/"))
    assert error.details == {"status": 429, "status_text": "Status", "retry_after": "7"}


async def test_plain_text_stays_text(tmp_path: Path) -> None:
    async with spaniel_at({"/": text("a <b> c\n")}, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
    assert answer.markdown == "a <b> c\n"


@pytest.mark.req("FR-WF-11c", "FR-WF-08")
async def test_every_move_is_counted_asked_of_robots_and_the_last_url_told(tmp_path: Path) -> None:
    moves: dict[str, Page] = {
        "/0": redirect("/1"),
        "/1": html("<meta http-equiv=refresh content='0; url=/2'>"),
        "/2": html("", Refresh="0; url=/3"),
        "/3": html("<script>location = '/4'</script>"),
        "/4": html("<form action=/5 method=post></form><script>document.forms[0].submit()</script>"),
        "/5": html(f"<h1>Arrived</h1><p>{WORDS}</p><script>history.pushState(0, '', '/pushed')</script>"),
        "/6": html("<script>location = '/0'</script>"),
        "/forbidden": html("<h1>secret</h1>"),
        "/to-forbidden": html(f"<h1>Stays</h1><p>{WORDS}</p><script>location = '/forbidden'</script>"),
        "/redirect-forbidden": redirect("/forbidden"),
        "/robots.txt": text("User-agent: *\nDisallow: /forbidden\n"),
    }
    async with spaniel_at(moves, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/0"), force_browser=True)
        assert (answer.final_url, answer.markdown.split("\n")[0]) == (site.url("/pushed"), "# Arrived")
        assert str((await refusal(spaniel, site.url("/6"))).code) == "redirect_limit"
        assert "Stays" in (await spaniel.fetch(site.url("/to-forbidden"), force_browser=True)).markdown
        assert str((await refusal(spaniel, site.url("/redirect-forbidden"))).code) == "robots_disallowed"
        assert site.requests["/forbidden"] == 0


@pytest.mark.req("D2-35")
async def test_page_that_navigates_while_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, calls = PageReader.copy, list[str]()

    async def read_late(self: PageReader, most_bytes: int) -> PageSnapshot:
        """The first time only after another document has come."""
        calls.append(first := self._navigation.loader)
        while len(calls) == 1 and self._navigation.loader == first:  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.01)
        return await read(self, most_bytes)

    async def rest_at_once(self: IdleWaiter, session: CdpSession, most_ms: int) -> bool:
        return True if not calls else await rest(self, session, most_ms)

    rest = IdleWaiter.wait
    monkeypatch.setattr(PageReader, "copy", read_late)
    monkeypatch.setattr(IdleWaiter, "wait", rest_at_once)
    pages: dict[str, Page] = {
        "/": html("<h1>Before</h1><script>setTimeout(() => { location = '/next' }, 300)</script>"),
        "/next": html("<script>setTimeout(() => document.body.append('After a while'), 100)</script>"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
    assert (answer.final_url, answer.markdown) == (site.url("/next"), "After a while\n")


@pytest.mark.req("FR-WF-11c")
async def test_subresources_that_redirect_for_ever_are_given_up(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html("<h1>Loop</h1><script src=/s></script><p>after</p>"),
        "/s": redirect("/s?again"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        assert "after" in (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
        assert sum(n for path, n in site.requests.items() if path.startswith("/s")) <= 7


FOREIGN = ["about:blank", "data:text/html,<h1>data</h1>", "file:///etc/passwd", "view-source:http://site.example/",
           "chrome://version"]  # fmt: skip


async def test_what_is_not_of_the_web_is_never_shown(tmp_path: Path) -> None:
    gone = ["URL.createObjectURL(new Blob(['<h1>blob</h1>'], {type: 'text/html'}))", *map(repr, FOREIGN)]
    body = f"<h1>Stays</h1><p>{WORDS}</p><script>try {{{{ location = {{}} }}}} catch (e) {{{{}}}}</script>"
    pages: dict[str, Page] = {f"/{number}": html(body.format(where)) for number, where in enumerate(gone)}
    for path, answer in (await fetched(pages, pages, tmp_path)).items():
        if isinstance(answer, SpanielError):
            assert str(answer.code) == "invalid_scheme", path
        else:
            assert "# Stays" in answer.markdown, path


async def test_dialogs_popups_downloads_and_prompts_are_denied(tmp_path: Path) -> None:
    bothers = """
    alert('a'); const said = [confirm('c'), prompt('p')];
    onbeforeunload = () => 'stay';
    for (let i = 0; i < 50; i++) window.open('/popup?' + i);
    const a = document.createElement('a'); a.href = '/file'; a.download = 'x.bin'; document.body.append(a); a.click();
    navigator.geolocation.getCurrentPosition(() => document.body.append('LOCATED'), () => {});
    Notification.requestPermission().then((p) => document.body.append('notify ' + p));
    navigator.mediaDevices?.getUserMedia({audio: true}).then(() => document.body.append('HEARD'), () => {});
    document.body.append(`said ${said}`);
    """
    page = f"<h1>Bothers</h1><p>{WORDS * 9}</p><input type=file><script>{bothers}</script>"
    pages: dict[str, Page] = {"/": html(page), "/popup": html("<h1>popup</h1>")}
    pages["/file"] = (200, {"Content-Type": "application/octet-stream"}, b"x" * 1000)
    before = set(Path.home().glob("*"))
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert "said false," in answer.markdown
        assert "LOCATED" not in answer.markdown
        assert "HEARD" not in answer.markdown
        assert "notify granted" not in answer.markdown
        assert not any(path.startswith("/popup") for path in site.requests)
    assert set(Path.home().glob("*")) == before


async def test_a_picture_is_taken_behind_the_same_walls(tmp_path: Path) -> None:
    from spaniel.pipeline.request import Request

    async with spaniel_at({"/": html("<h1>Picture</h1><img src=/image>")}, tmp_path) as (spaniel, site):
        found = (await spaniel.outcome(Request(site.url("/"), picture=True))).require()
        assert "/image" in site.requests  # what a picture is poor without is loaded for it
    assert found.picture is not None
    assert found.picture.startswith(b"\x89PNG")
    assert found.rendering_method == "browser"


@pytest.mark.req("FR-WF-03")
@pytest.mark.parametrize("bait", ["/out", "/file"])
async def test_a_page_cannot_sign_with_an_address_that_it_never_left_for(bait: str, tmp_path: Path) -> None:
    """A navigation that comes to nothing, behind a redirect of another site's, leaves the page where it was."""
    go = "onload = () => { if (HOST.includes('evil')) location = `http://bank.example:${PORT}BAIT` }"
    go = go.replace("HOST", "location.host").replace("PORT", "location.port").replace("BAIT", bait)
    pages: dict[str, Page] = {
        "/robots.txt": text("User-agent: *\nDisallow: /closed\n"),
        "/": html(f"<main><h1>Evil</h1><p>{WORDS}</p></main><script>{go}</script>"),
        "/out": redirect("/closed"),
        "/file": redirect("/pdf"),
        "/pdf": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.7"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        url = site.url("/", "evil.example")
        answer = await spaniel.fetch(url, force_browser=True)
        assert site.requests[bait] == 1  # it did try
        assert (answer.final_url, "Evil" in answer.markdown) == (url, True)
        assert (await spaniel.fetch(url, force_browser=True)).final_url == url


@pytest.mark.req("FR-WF-09", "NFR-WF-SEC-04")
async def test_a_service_worker_does_not_get_round_robots(tmp_path: Path) -> None:
    page = f"""<main><h1>Open</h1><p>{WORDS}</p></main><script>
    navigator.serviceWorker.register('/sw.js').then(() => navigator.serviceWorker.ready).then(() => fetch('/ready'));
    navigator.serviceWorker.oncontrollerchange = () => {{ location = '/private' }};
    </script>"""
    worker = """onactivate = event => event.waitUntil(clients.claim());
    onfetch = event => event.respondWith(fetch(event.request));"""
    pages: dict[str, Page] = {
        "/robots.txt": text("User-agent: *\nDisallow: /private\n"),
        "/": html(page),
        "/sw.js": script(worker),
        "/ready": text(""),
        "/private": html("<h1>Private</h1>"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        answer = await spaniel.fetch(site.url("/", "localhost"), force_browser=True)
        assert "Open" in answer.markdown
        assert site.requests["/private"] == 0


@pytest.mark.req("FR-WF-09")
async def test_a_profiles_agent_is_who_goes_and_who_is_asked_for(tmp_path: Path) -> None:
    profile = from_data({"name": "mine", "version": "1", "headers": {"user_agent": "otterbot/2"}}, "mine")
    async with Site(SPA) as site:
        async with spaniel_for(site, cache=tmp_path, browser=with_chromium(), profile=profile) as spaniel:
            await spaniel.fetch(site.url("/"), force_browser=True)
        assert {seen["user-agent"] for seen in site.seen} == {"otterbot/2"}

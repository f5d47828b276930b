"""Frames and shadow roots: one's own are read in their place, others' are a link, closed ones are said to be there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.pipeline.answer import Answer
from spaniel.testing import Page, Reply, Site, text
from tests.browser.harness import SITE, VICTIM, WORDS, Victim, fetched, html, open_web, spaniel_at

TOP = f"<main><h1>Top</h1><p>{WORDS * 6}</p>"
MODES = {"closed": "closed_shadow_roots", "open": None}
INNER = f"<h2>Inner</h2><p>In the frame, herons stand in the shallow water. {WORDS}</p>"


async def markdown_of(pages: dict[str, Page], folder: Path) -> str:
    async with spaniel_at(pages, folder) as (spaniel, site):
        return (await spaniel.fetch(site.url("/"), force_browser=True)).markdown


async def test_a_frame_of_the_same_origin_is_read_in_its_place(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html(f"{TOP}<iframe src=/inner></iframe><p>{WORDS} Below the frame.</p></main>"),
        "/inner": html(f"<title>Other</title>{INNER}<iframe src=/deep></iframe>"),
        "/deep": html("<script>document.write('<p>Deeper still, otters sleep in their holt.</p>')</script>"),
    }
    markdown = await markdown_of(pages, tmp_path)
    places = [markdown.find(words) for words in ("# Top", "herons stand", "otters sleep", "Below the frame")]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize(
    "frame",
    [
        f'<iframe srcdoc="{INNER}"></iframe>',
        "<iframe id=f></iframe><script>f.contentDocument.write(`" + INNER + "`)</script>",
        "<iframe src=\"javascript:'" + INNER.replace("'", "") + "'\"></iframe>",
    ],
)
async def test_a_frame_that_the_page_wrote_itself_is_its_own(frame: str, tmp_path: Path) -> None:
    assert "herons stand" in await markdown_of({"/": html(f"{TOP}{frame}</main>")}, tmp_path)


async def test_hidden_text_in_a_frame_stays_hidden_and_so_does_a_hidden_frame(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html(f"{TOP}<iframe src=/inner></iframe><iframe src=/other style='display: none'></iframe></main>"),
        "/inner": html(f"<style>.x {{ display: none }}</style>{INNER}<p class=x>not to be seen</p>"),
        "/other": html("<p>in a hidden frame</p>"),
    }
    markdown = await markdown_of(pages, tmp_path)
    assert "herons stand" in markdown
    assert "not to be seen" not in markdown
    assert "hidden frame" not in markdown


async def test_a_frame_of_another_origin_is_a_link(tmp_path: Path) -> None:
    async with spaniel_at({"/inner": html(INNER)}, tmp_path) as (spaniel, site):
        other = site.url("/inner", "other.example")
        frames = f"<iframe src='{other}' title='A talk'></iframe><iframe src='{other}?ad' width=1 height=1></iframe>"
        site.pages["/"] = html(f"{TOP}<p>{WORDS}</p>{frames}<p>{WORDS} The end.</p></main>")
        markdown = (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
    assert f"[A talk]({other})" in markdown
    assert "herons stand" not in markdown
    assert "?ad" not in markdown


async def test_a_sandboxed_frame_is_another_origin(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/": html(f"{TOP}<iframe sandbox src=/inner></iframe></main>"), "/inner": html(INNER)}
    assert "herons stand" not in await markdown_of(pages, tmp_path)


@pytest.mark.req("FR-WF-08", "FR-WF-11b")
async def test_robots_txt_is_asked_for_a_frame_that_is_read(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/": html(f"{TOP}<iframe src=/closed></iframe><iframe src=/open></iframe></main>"),
        "/closed": html("<p>not for robots</p>"),
        "/open": html(INNER),
        "/robots.txt": text("User-agent: *\nDisallow: /closed\n"),
    }
    async with spaniel_at(pages, tmp_path) as (spaniel, site):
        markdown = (await spaniel.fetch(site.url("/"), force_browser=True)).markdown
        assert site.requests["/closed"] == 0
        assert site.requests["/open"] == 1
    assert "herons stand" in markdown
    assert "not for robots" not in markdown


INWARD = [
    "<iframe src='{v}'></iframe>",
    "<iframe src='/to?{v}'></iframe>",
    "<iframe srcdoc=\"<iframe src='{v}'></iframe>\"></iframe>",
    "<iframe srcdoc=\"<script>location = '{v}'</script>\"></iframe>",
    "<iframe id=f></iframe><script>f.contentWindow.location = '{v}'</script>",
    "<iframe id=f srcdoc='<p>mine'></iframe><script>onload = () => f.contentWindow.fetch('{v}')"
    ".then((r) => r.text()).then((t) => document.body.append(t))</script>",
]


@pytest.fixture(scope="module")
def turned_inward() -> list[tuple[str, int]]:
    return asyncio.run(turn_inward())


async def turn_inward() -> list[tuple[str, int]]:
    """Of each page in one Chromium: what was read, and how often its victim was met."""
    async with AsyncExitStack() as stack:
        victims = [await stack.enter_async_context(Victim()) for _ in INWARD]
        site = await stack.enter_async_context(Site({"/own": html("<p>the control</p>")}, SITE))
        for number, (frame, victim) in enumerate(zip(INWARD, victims, strict=True)):
            inside = f"http://{VICTIM}:{victim.port}/"
            page = frame.format(v=inside).replace(f"/to?{inside}", f"/to{number}")
            site.pages[f"/{number}"] = html(f"<h1>Page</h1>{page}<iframe src=/own></iframe>")
            site.pages[f"/to{number}"] = (302, {"Location": inside}, b"")
        ports = (site.port, *(victim.port for victim in victims))
        web = await stack.enter_async_context(open_web(*ports, network_idle_ms=3_000))
        read = await asyncio.gather(*(web.render(f"http://{SITE}:{site.port}/{n}") for n in range(len(INWARD))))
        return [(page.body.decode(), victim.hits) for page, victim in zip(read, victims, strict=True)]


@pytest.mark.req("FR-WF-11b", "NFR-WF-SEC-04")
@pytest.mark.parametrize("number", range(len(INWARD)))
def test_what_is_inside_never_comes_in_by_a_frame(number: int, turned_inward: list[tuple[str, int]]) -> None:
    body, hits = turned_inward[number]
    assert hits == 0
    assert "VICTIM" not in body
    assert "the control" in body


async def test_a_closed_root_is_said_to_be_there(tmp_path: Path) -> None:
    closed = (
        "<x-a></x-a><script>document.querySelector('x-a').attachShadow({mode: 'MODE'}).innerHTML = '<p>kept in</p>'"
    )
    for mode, note in (("closed", "closed_shadow_roots"), ("open", None)):
        pages: dict[str, Page] = {"/": html(f"{TOP}{closed.replace('MODE', mode)}</script></main>")}
        async with spaniel_at(pages, tmp_path / mode) as (spaniel, site):
            answer = await spaniel.fetch(site.url("/"), force_browser=True)
        assert (answer.note, "kept in" in answer.markdown) == (note, mode == "open")


DECLARED = "<x-a><template shadowrootmode=KIND><p>kept in</p></template></x-a>"
WRITTEN = "`" + DECLARED.replace("rootmode", "${'rootmode'}") + "`"  # the page's source does not have the word
DECLARING = {
    "in the page": DECLARED,
    "in capitals": DECLARED.replace("shadowrootmode", "SHADOWROOTMODE"),
    "of a plain element": DECLARED.replace("x-a", "div"),
    "with a slot": DECLARED.replace("</template>", "<slot></slot></template>and light"),
    "in a frame": "<iframe src='/inner-KIND'></iframe>",
    "in a frame of the page's own": f"<iframe id=f></iframe><script>f.srcdoc = {WRITTEN}</script>",
    "written": f"<script>document.write({WRITTEN})</script>",
    "set": f"<b id=b></b><script>b.setHTMLUnsafe({WRITTEN})</script>",
    "parsed": f"<b id=b></b><script>b.append(Document.parseHTMLUnsafe({WRITTEN}).body.firstChild)</script>",
}


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer | SpanielError]:
    pages: dict[str, Page] = {
        f"/{number}-{mode}": html(f"{TOP}{way}</main>".replace("KIND", mode))
        for number, way in enumerate(DECLARING.values())
        for mode in MODES
    }
    inner: dict[str, Page] = {f"/inner-{mode}": html(DECLARED.replace("KIND", mode)) for mode in MODES}
    return asyncio.run(fetched(pages | inner, pages, tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", DECLARING)
def test_a_closed_root_that_markup_declares_is_said_to_be_there(
    way: str, mode: str, declared: dict[str, Answer | SpanielError]
) -> None:
    answer = declared[f"/{list(DECLARING).index(way)}-{mode}"]
    assert isinstance(answer, Answer)
    assert (answer.note, "kept in" in answer.markdown) == (MODES[mode], mode == "open")


async def test_a_page_that_only_speaks_of_closed_roots_has_none(tmp_path: Path) -> None:
    closed = DECLARED.replace("KIND", "closed")
    spoken = f"<script>const example = `{closed}`</script><template>{closed}</template>"
    async with spaniel_at({"/": html(f"{TOP}{spoken}</main>")}, tmp_path) as (spaniel, site):
        assert (await spaniel.fetch(site.url("/"), force_browser=True)).note is None


GOING = {
    "removed when it is loaded": "<iframe id=f src=/inner></iframe><script>f.onload = () => f.remove()</script>",
    "removed while it asks": "<iframe id=f srcdoc='<script>fetch(`/never`); parent.done()</script>'></iframe>"
    "<script>done = () => setTimeout(() => f.remove(), 50)</script>",
    "written anew": f"<iframe id=f></iframe><script>f.srcdoc = `{INNER}`</script>",
    "sent elsewhere": "<iframe id=f src=/inner></iframe><script>let n = 0;"
    "f.onload = () => { if (!n++) f.src = '/inner?2' }</script>",
}


@pytest.mark.req("FR-WF-11e", "D2-35")
@pytest.mark.parametrize("way", GOING)
async def test_what_a_frame_was_waiting_for_goes_with_it(way: str, tmp_path: Path) -> None:
    async def never() -> Reply:
        await asyncio.sleep(600)
        return html("")

    pages: dict[str, Page] = {
        "/": html(f"{TOP}{GOING[way]}</main>"),
        "/inner": html(f"{INNER}<script>caches.open('a')</script>"),
        "/never": never,
    }
    async with spaniel_at(pages, tmp_path, {"network_idle_ms": 60_000}) as (spaniel, site):
        async with asyncio.timeout(45):  # and Chromium has to start
            answer = await spaniel.fetch(site.url("/"), force_browser=True)
    assert (answer.note, "The otter" in answer.markdown) == (None, True)


async def test_frames_without_end_are_cut_and_the_page_is_brought(tmp_path: Path) -> None:
    many = "".join(f"<iframe srcdoc='<b></b>{'<i></i>' * 400}'></iframe>" for _ in range(60))
    pages: dict[str, Page] = {"/": html(f"{TOP}</main>{many}")}
    assert "The otter" in await markdown_of(pages, tmp_path)

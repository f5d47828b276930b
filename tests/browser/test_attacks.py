"""Every way a page has tried to reach the inside, with a victim that listens by TCP and UDP.

Each has its control: the same page in a Chromium without walls does reach the victim. And each wall is tried alone: the
proxy must hold without interception, and interception, for all that it sees, without the judgment of the proxy.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from contextlib import AsyncExitStack
from typing import NamedTuple

import pytest

from spaniel.browser.cdp import CdpSession, Params
from spaniel.browser.interception import Interception
from spaniel.browser.launch import QUIET, STEADY, launch
from spaniel.browser.navigation import Navigation
from spaniel.errors import SpanielError
from spaniel.net.egress import PIECE, EgressProxy
from spaniel.testing import FakeResolver, Page, Reply, Site
from spaniel.url import parse
from tests.browser.harness import SITE, VICTIM, WORDS, Victim, chromium_path, html, open_web, script
from tests.browser.vectors import VECTORS
from tests.net.harness import guard_with_a_hole

ONLY_FULL = "preconnect"  # which the headless shell does not even try
IN_EVERY = [name for name in VECTORS if name != ONLY_FULL]
pytestmark = pytest.mark.timeout(1_800)  # all of them are tried in the first test's time
IN_FULL = [ONLY_FULL, "websocket", "webrtc stun", "webtransport", "location"]
# What is no request that could be paused: of these, the proxy alone keeps the victim.
UNSEEN = frozenset({"websocket", "secure websocket", "worker websocket", "webrtc turn tcp"})
CONTROL_SECONDS = 120.0  # until the victim is met, which on a machine with time to spare is at once


class Redirecting(Site):
    """A site that redirects `/to?URL` to URL."""

    def reply(self, path: str) -> Reply | None:
        return (302, {"Location": path.removeprefix("/to?")}, b"") if path.startswith("/to?") else None


class Case(NamedTuple):
    site: Site
    victim: Victim

    @property
    def url(self) -> str:
        return f"http://{SITE}:{self.site.port}/"


async def open_case(name: str, stack: AsyncExitStack) -> Case:
    victim = await stack.enter_async_context(Victim())
    words = {"v": f"http://127.0.0.66:{victim.port}", "h": f"127.0.0.66:{victim.port}"}
    vector = VECTORS[name]
    headers = {key: value.format(**words) for key, value in vector.headers.items()}
    page = f"<title>T</title><h1>Page</h1><p>{WORDS}</p>{vector.body.format(**words)}"
    pages: dict[str, Page] = {"/": (200, {"Content-Type": "text/html", **headers}, f"<!doctype html>{page}".encode())}
    pages |= {path: script(text.format(**words)) for path, text in vector.more.items()}
    site = await stack.enter_async_context(Redirecting(pages, SITE))
    return Case(site, victim)


class Outcome(NamedTuple):
    control: int
    walled: int
    proxied: int  # hits with the first wall alone
    intercepted: int  # hits with the second
    page: str


async def without_walls(path: str, cases: dict[str, Case], at_once: int) -> None:
    """Each page in a plain Chromium, until its victim is met."""
    process = await launch(path, flags=(*QUIET, *STEADY, "--disable-popup-blocking"))
    turns = asyncio.Semaphore(at_once)

    async def visit(case: Case) -> None:
        async with turns:
            target = (await process.cdp.call("Target.createTarget", url=case.url))["targetId"]
            end = asyncio.get_running_loop().time() + CONTROL_SECONDS
            while not case.victim.hits and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            await process.cdp.call("Target.closeTarget", targetId=target)

    try:
        await asyncio.gather(*map(visit, cases.values()))
    finally:
        await process.close()


async def with_walls(path: str, cases: dict[str, Case], at_once: int) -> dict[str, str]:
    """Each page as Spaniel renders it; victims' ports are allowed, so that only their address speaks against them."""
    ports = [port for case in cases.values() for port in (case.site.port, case.victim.port)]
    pages: dict[str, str] = {}
    turns = asyncio.Semaphore(at_once)
    async with open_web(*ports, chromium_path=path, block_resources=(), network_idle_ms=3_000) as web:

        async def visit(name: str, case: Case) -> None:
            async with turns:
                try:
                    pages[name] = (await web.render(case.url, 120)).body.decode()
                except SpanielError as error:
                    pages[name] = str(error.code)

        await asyncio.gather(*(visit(name, case) for name, case in cases.items()))
        await asyncio.sleep(0.5)  # for whatever is late
    return pages


async def everything(path: str, names: Iterable[str], at_once: int) -> dict[str, Outcome]:
    async with AsyncExitStack() as stack:
        control, walled, proxied, intercepted = [
            {name: await open_case(name, stack) for name in names} for _ in range(4)
        ]
        await without_walls(path, control, at_once)
        pages = await with_walls(path, walled, at_once)
        with pytest.MonkeyPatch.context() as patch:
            take_second_wall_away(patch)
            await with_walls(path, proxied, at_once)
        with pytest.MonkeyPatch.context() as patch:
            take_first_wall_away(patch)
            await with_walls(path, intercepted, at_once)
        return {
            name: Outcome(
                control[name].victim.hits,
                walled[name].victim.hits,
                proxied[name].victim.hits,
                intercepted[name].victim.hits,
                pages[name],
            )
            for name in names
        }


def take_first_wall_away(patch: pytest.MonkeyPatch) -> None:
    """The proxy dials whatever it is asked for; what interception asks of the guard, the guard still answers."""

    anywhere = guard_with_a_hole(FakeResolver(), tuple(range(1, 65_536)), (SITE, VICTIM))

    async def open_to_all(self: EgressProxy) -> None:
        lax = EgressProxy(anywhere)
        lax._expected = self._expected
        self._server = await asyncio.start_server(lax._begin, "127.0.0.1", 0, limit=PIECE)

    patch.setattr(EgressProxy, "open", open_to_all)


def take_second_wall_away(patch: pytest.MonkeyPatch) -> None:
    def asked(self: Navigation, session: CdpSession, params: Params) -> None:
        self._url = parse(params["request"]["url"])
        self._interception.pass_on(session, params)

    patch.setattr(Interception, "judge", Interception.pass_on)
    patch.setattr(Navigation, "requested", asked)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return asyncio.run(everything(chromium_path(), IN_EVERY, 6))


@pytest.fixture(scope="module")
def outcomes_in_full() -> dict[str, Outcome]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("there is no full Chromium beside the one under test")
    return asyncio.run(everything(path, IN_FULL, 2))


@pytest.mark.req("FR-WF-11b", "NFR-WF-SEC-04")
@pytest.mark.parametrize("name", IN_EVERY)
def test_the_victim_is_met_without_walls_and_never_behind_them(outcomes: dict[str, Outcome], name: str) -> None:
    check(outcomes[name])
    assert not outcomes[name].intercepted or name in UNSEEN


@pytest.mark.req("FR-WF-11b", "NFR-WF-SEC-04")
def test_the_proxy_was_really_taken_away_when_interception_was_tried_alone(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["websocket"].intercepted > 0


@pytest.mark.req("FR-WF-11b", "NFR-WF-SEC-04")
@pytest.mark.parametrize("name", IN_FULL)
def test_nor_in_a_chromium_that_is_more_than_a_shell(outcomes_in_full: dict[str, Outcome], name: str) -> None:
    check(outcomes_in_full[name])


def check(found: Outcome) -> None:
    assert found.control > 0, "the attack fails even without protection, and proves nothing"
    assert found.walled == 0
    assert found.proxied == 0
    assert "<h1>Page</h1>" in found.page, "the page is still returned"
    assert "VICTIM" not in found.page


INSIDE = ["127.0.0.66", "localhost", "10.0.0.1", "inside.test", "[::1]", "169.254.169.254", "192.168.0.1",
          "[::ffff:7f00:42]", "0.0.0.0", "in.test"]  # fmt: skip  # noqa: S104
ASKING = """
const show = (what) => document.body.insertAdjacentHTML('beforeend', `<p>${what}</p>`);
for (const url of ['/public', 'URL']) {
  fetch(url).then((r) => r.text()).then((t) => show(`fetched ${t}`), () => show('no fetch'));
  const x = new XMLHttpRequest();
  x.onload = () => show(`loaded ${x.responseText}`); x.onerror = () => show('no xhr'); x.open('GET', url); x.send();
}
"""


@pytest.fixture(scope="module")
def asked_inside() -> dict[str, tuple[str, int]]:
    return asyncio.run(ask_inside())


async def ask_inside() -> dict[str, tuple[str, int]]:
    """Of each address that a page asks for: the page, and how often the victim at that port was met."""
    async with AsyncExitStack() as stack:
        victims = {host: await stack.enter_async_context(Victim()) for host in INSIDE}
        site = await stack.enter_async_context(Site({"/public": html("PUBLIC")}, SITE))
        for number, (host, victim) in enumerate(victims.items()):
            script = ASKING.replace("URL", f"http://{host}:{victim.port}/")
            site.pages[f"/{number}"] = html(f"<h1>Page</h1><script>{script}</script>")
        names = {"localhost": "127.0.0.1", "inside.test": VICTIM, "in.test": VICTIM}
        ports = (site.port, *(victim.port for victim in victims.values()))
        web = await stack.enter_async_context(open_web(*ports, names=names))
        read = await asyncio.gather(*(web.render(f"http://{SITE}:{site.port}/{n}") for n in range(len(INSIDE))))
        return {
            host: (page.body.decode(), victim.hits) for page, (host, victim) in zip(read, victims.items(), strict=True)
        }


@pytest.mark.req("FR-WF-11b", "T-WF-INFRA-04", "IT-WF-BR-03", "IT-WF-BR-04")
@pytest.mark.parametrize("host", INSIDE)
def test_what_is_public_comes_into_the_page_and_what_is_inside_does_not(
    host: str, asked_inside: dict[str, tuple[str, int]]
) -> None:
    """The same script asks for both: that the one comes shows that nothing but the guard stops the other."""
    body, hits = asked_inside[host]
    assert "fetched PUBLIC" in body
    assert "loaded PUBLIC" in body
    assert (body.count("<p>no fetch"), body.count("<p>no xhr")) == (1, 1)
    assert "VICTIM" not in body
    assert hits == 0


@pytest.mark.req("FR-WF-11b", "FR-WF-06")
async def test_a_name_that_moves_inside_is_dialled_where_it_was_judged() -> None:
    """DNS rebinding: the name is public when it is judged, and the victim's ever after."""
    async with Victim() as victim, Site({}, SITE) as site:
        site.pages["/"] = html(
            "<h1>Page</h1><script>const again = () => fetch('/again?' + Math.random()).then((r) => r.text());"
            "again().then(again).then(again).then((t) => document.body.append(t))</script>"
        )
        site.pages["/again"] = (200, {"Content-Type": "text/plain"}, b"still the site")
        async with open_web(site.port, names={"moving.test": SITE}) as web:
            resolver = web.resolver
            first = resolver.resolve

            async def moving(host: str) -> object:
                found = await first(host)
                resolver.names["moving.test"] = "127.0.0.66"
                return found

            resolver.resolve = moving  # type: ignore[method-assign, assignment]
            body = (await web.render(f"http://moving.test:{site.port}/")).body.decode()
            assert "still the site" in body
            assert resolver.asked == ["moving.test"]
            with pytest.raises(SpanielError) as caught:  # the control: asked again, the name is the victim's
                await web.render(f"http://moving.test:{site.port}/")
        assert str(caught.value.code) == "ssrf_blocked"
        assert victim.hits == 0


@pytest.mark.req("FR-WF-11b")
async def test_another_port_is_no_way_round() -> None:
    async with Site({}, SITE) as other, Site({}, SITE) as site:
        site.pages["/"] = html(
            f"<h1>Page</h1><img src='http://{SITE}:{other.port}/a'><script>fetch('http://{SITE}:{other.port}/b')</script>"
        )
        async with open_web(site.port, block_resources=()) as web:
            await web.render(f"http://{SITE}:{site.port}/")
        assert not other.requests
        async with open_web(site.port, other.port, block_resources=()) as web:
            await web.render(f"http://{SITE}:{site.port}/")
        assert other.requests.keys() == {"/a", "/b"}

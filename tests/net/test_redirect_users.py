"""Every attack by redirect, through every user of the redirect loop, by the public entry points.

The front stands at an address that the guard takes for public; the victim, on the same port, at one that it judges as
what it is. The controls show that the same requests arrive when nothing forbids it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import from_data
from spaniel.errors import SpanielError
from spaniel.net.http import Http
from spaniel.pipeline.profile import from_data as profile_from
from spaniel.pipeline.request import Request
from spaniel.robots.gate import RobotsGate
from spaniel.sources.walk import FetchedList, fetch_lists, items
from spaniel.testing import FakeClock, FakeResolver
from tests.net.harness import guard_with_a_hole
from tests.net.servers import Server, Wire, answer, authority, serve, tls_for

FRONT, VICTIM = "127.0.0.1", "127.0.0.2"
NAMES: dict[str, str | list[str]] = {
    "front.test": FRONT, "turn.test": FRONT, "victim.test": VICTIM, "both.test": [FRONT, VICTIM],
}  # fmt: skip
OK = "ok"
HTML = "Content-Type: text/html"
PAGE = b"<html lang=en><title>Otters</title><main><h1>Otters</h1><p>They swim in the river.</p></main></html>"
AVAILABLE = json.dumps(
    {"archived_snapshots": {"closest": {"available": True, "status": "200", "timestamp": "20260102030405"}}}
).encode()
SITEMAP = (
    b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://a.example/</loc></url></urlset>"
)


class User(NamedTuple):
    """One user of the loop: which path is asked for, what would be a good answer, and how its outcome is read."""

    name: str
    start: str
    goal: bytes
    use: Callable[[World, str], Awaitable[str]]
    limit: int = 5
    any_port: bool = False  # LH-06
    one_host: bool = False  # it may not leave the host that it started at
    says_why: bool = True  # False: what is no refusal of the guard leaves the URL as it was, with a flag


class World:
    """Front, victim, and a client that may go to the first of them only."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.sent = b""  # how the front answers for the start
        self.then: Callable[[], None] = lambda: None  # happens when it has
        self.resolver = FakeResolver(NAMES, None)
        self.front, self.victim, self.spare, self.secure = (Server(FRONT) for _ in range(4))
        self.spaniel: Spaniel
        self.engine: Engine

    async def behave(self, wire: Wire) -> None:
        while (request := await wire.request()) is not None:
            path = request.target.partition("?")[0]
            if path == self.user.start and self.sent:
                said = self.sent
                self.then()
            elif path == "/goal":
                said = answer(200, self.user.goal, HTML)
            elif path == "/page" or path.startswith("/web/"):
                said = answer(404 if self.user.name == "archive" and path == "/page" else 200, PAGE, HTML)
            else:
                said = answer(404)
            head, mark, body = said.partition(b"\r\n\r\n")
            await wire.send(head + mark + (b"" if request.method == "HEAD" else body))

    async def outcome(self, field: str | bytes, host: str = "front.test", secure: bool = False) -> str:
        """How it ends when the start is answered with this field."""
        server = self.secure if secure else self.front
        field = field.format(port=self.front.port, spare=self.spare.port) if isinstance(field, str) else field
        raw = field.encode("latin-1") if isinstance(field, str) else field
        self.sent = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n" + raw + b"\r\n\r\n"
        return await self.user.use(self, server.url("", host))

    @property
    def asked(self) -> list[str]:
        """What was asked of the front, robots.txt aside unless it is what is attacked."""
        heard = [request.target for server in (self.front, self.secure) for request in server.heard]
        return [target for target in heard if target != "/robots.txt" or self.user.start == "/robots.txt"]


async def _page(world: World, at: str) -> str:
    outcome = await world.spaniel.outcome(Request(f"{at}/start"))
    return OK if outcome.refusal is None else str(outcome.refusal.code)


async def _robots(world: World, at: str) -> str:
    refusal = (await world.spaniel.outcome(Request(f"{at}/page"))).refusal
    if refusal is None:
        return OK
    return str(refusal.details.get("error", "")).partition(":")[0] if refusal.code == "robots_unavailable" else ""


async def _archive(world: World, at: str) -> str:
    profile = {"name": "p", "version": "1", "policy": "exact", "fallbacks": ["http", "archive"]}
    copies = world.engine.services.copies
    archive = copies._replace(
        archive_available=f"{at}/available?url={{url}}", archive_snapshot=f"{at}/web/{{timestamp}}/{{url}}"
    )
    world.engine._services = world.engine.services._replace(copies=archive)
    async with Spaniel(engine=world.engine, profile=profile_from(profile, "test")) as spaniel:
        outcome = await spaniel.outcome(Request(world.front.url("/page", "front.test")))
    (last,) = [attempt for attempt in outcome.attempts if attempt.fallback == "archive"]
    return last.outcome


async def _link(world: World, at: str) -> str:
    (checked,) = [each async for each in world.spaniel.check([f"{at}/start"], delay=0)]
    return checked.code or (OK if checked.evidence.status == 200 else str(checked.evidence.status))


async def _canonical(world: World, at: str) -> str:
    try:
        found = await world.spaniel.canonicalize(f"{at}/start")
    except SpanielError as error:
        return str(error.code)
    return OK if found.url.endswith("/goal") else "unchanged"


async def _list(world: World, at: str) -> str:
    fetch = fetch_lists(world.engine.services.door, world.engine.http)
    codes: list[str] = []

    @asynccontextmanager
    async def watched(url: str, most: int) -> AsyncIterator[FetchedList]:
        try:
            async with fetch(url, most) as fetched:
                yield fetched
        except SpanielError as error:
            codes.append(str(error.code))
            raise

    with suppress(SpanielError):  # it says in a sentence what was wrong with which list
        assert [item.raw_url async for item in items([f"{at}{world.user.start}"], watched)] == ["http://a.example/"]
        return OK
    return codes[0] if codes else "no code"


USERS = (
    User("page", "/start", PAGE, _page),
    User("link", "/start", PAGE, _link, 10, any_port=True),
    User("robots.txt", "/robots.txt", b"User-agent: *\nAllow: /\n", _robots),
    User("archive", "/available", AVAILABLE, _archive, one_host=True),
    User("canonical", "/start", PAGE, _canonical, says_why=False),
    User("list", "/start.txt", b"http://a.example/\n", _list),
    User("sitemap", "/sitemap.xml", SITEMAP, _list),
)


@asynccontextmanager
async def open_world(
    user: User, folder: Path, public: tuple[str, ...] = (FRONT,), clock: FakeClock | None = None
) -> AsyncIterator[World]:
    world = World(user)
    ca = folder / "ca.pem"
    authority().cert_pem.write_to_path(str(ca))
    async with AsyncExitStack() as stack:
        names = [name for name in NAMES if name != "victim.test"]
        world.front = await stack.enter_async_context(serve(world.behave, FRONT))
        world.victim = await stack.enter_async_context(serve(world.behave, VICTIM, port=world.front.port))
        world.spare = await stack.enter_async_context(serve(world.behave, FRONT))
        world.secure = await stack.enter_async_context(serve(world.behave, FRONT, tls=tls_for(*names)))
        fetching = {"enabled": True, "cache_dir": str(folder / "cache"), "browser": {"enabled": False}}
        engine = Engine(from_data({"tools": {"webfetch": fetching}}, "test"), world.resolver, clock)
        ports = (world.front.port, world.secure.port)
        steady = {} if clock is None else {"clock": clock.monotonic}
        engine.guard, engine.http = guard_with_a_hole(world.resolver, ports, public, **steady), Http(str(ca))
        engine.robots = RobotsGate(engine.http, engine.guard)
        world.engine = await stack.enter_async_context(engine)
        world.spaniel = await stack.enter_async_context(Spaniel(engine=engine))
        yield world


each_user = pytest.mark.parametrize("user", USERS, ids=[user.name for user in USERS])

PRIVATE = {  # where to, and whether the redirect comes over HTTPS
    "its address": ("http://127.0.0.2:{port}/goal", False),
    "from HTTPS": ("http://127.0.0.2:{port}/goal", True),
    "its name": ("http://victim.test:{port}/goal", False),
    "a name with a public address too": ("http://both.test:{port}/goal", False),
    "an IPv6 form": ("http://[::ffff:127.0.0.2]:{port}/goal", False),
    "no scheme": ("//127.0.0.2:{port}/goal", False),
}
PUBLIC = {
    "relative": ("goal#part", False),
    "from HTTPS to HTTP": ("http://front.test:{port}/goal", True),
    "escaped CR LF": ("/goal?%0d%0aX-Injected:%20yes", False),
}
NO_ADDRESS = {
    "file": (b"file:///etc/passwd", ("invalid_scheme",)),
    "CR": (b"/go\ral", ("network", "invalid_url")),
    "NUL": (b"/go\0al", ("network", "invalid_url")),
    "64 KB": (b"/goal?" + b"a" * 65_536, ("network", "invalid_url")),
    "two": (b"/goal\r\nLocation: /goal", ("network",)),
    "a number as host": (b"http://2130706434/goal", ("invalid_host",)),
}


@each_user
@pytest.mark.req("FR-WF-07e")
@pytest.mark.parametrize(("location", "secure"), PRIVATE.values(), ids=PRIVATE)
async def test_redirect_to_private_address_is_refused(user: User, location: str, secure: bool, tmp_path: Path) -> None:
    async with open_world(user, tmp_path) as world:
        code = await world.outcome(f"Location: {location}", secure=secure)
        assert code == "ssrf_blocked" or (user.one_host and code == "invalid_host")
        assert world.victim.connections == 0


@each_user
@pytest.mark.req("FR-WF-07b")
@pytest.mark.parametrize(("location", "codes"), NO_ADDRESS.values(), ids=NO_ADDRESS)
async def test_redirect_to_no_address_is_refused(
    user: User, location: bytes, codes: tuple[str, ...], tmp_path: Path
) -> None:
    async with open_world(user, tmp_path) as world:
        code = await world.outcome(b"Location: " + location)
        assert code in (codes if user.says_why else (*codes, "unchanged"))
        assert world.victim.connections == 0
        assert not [target for target in world.asked if "goal" in target]


@each_user
@pytest.mark.req("D2-09")
async def test_redirect_to_another_port_is_refused(user: User, tmp_path: Path) -> None:
    """Links may use any port."""
    async with open_world(user, tmp_path) as world:
        code = await world.outcome("Location: http://front.test:{spare}/goal")
        assert (code, bool(world.spare.connections)) == ((OK, True) if user.any_port else ("port_blocked", False))


@each_user
@pytest.mark.req("FR-WF-07e")
async def test_name_that_turns_private_between_hops_is_refused(user: User, tmp_path: Path) -> None:
    async with open_world(user, tmp_path) as world:
        world.then = lambda: world.resolver.names.update({"turn.test": VICTIM})
        assert await world.outcome("Location: /goal", "turn.test") == "ssrf_blocked"
        assert world.victim.connections == 0


@each_user
async def test_name_that_turns_private_is_reached_if_allowed(user: User, tmp_path: Path) -> None:
    """The control: only the guard stands between."""
    async with open_world(user, tmp_path, (FRONT, VICTIM)) as world:
        world.then = lambda: world.resolver.names.update({"turn.test": VICTIM})
        code = await world.outcome("Location: /goal", "turn.test")
        assert code == OK
        assert world.victim.connections


@each_user
@pytest.mark.parametrize(("location", "secure"), PUBLIC.values(), ids=PUBLIC)
async def test_redirect_to_public_page_arrives(user: User, location: str, secure: bool, tmp_path: Path) -> None:
    """The control: also from HTTPS to HTTP, and without a header of the server's choice."""
    async with open_world(user, tmp_path) as world:
        code = await world.outcome(f"Location: {location}", secure=secure)
        if user.name == "canonical":
            assert code in (OK, "unchanged")  # a query or a scheme may be its own
        else:
            assert code == OK
        assert [target for target in world.asked if target.startswith("/goal")]
        heard = [*world.front.heard, *world.secure.heard]
        assert not [request for request in heard if any(name == "x-injected" for name, _ in request.fields)]


@each_user
@pytest.mark.req("FR-WF-07")
async def test_redirect_loop_ends_at_the_limit(user: User, tmp_path: Path) -> None:
    async with open_world(user, tmp_path) as world:
        code = await world.outcome(f"Location: {user.start}?again")
        assert code == ("redirect_limit" if user.says_why else "unchanged")
        asked = [target for target in world.asked if target.startswith(user.start)]
        assert len(asked) <= 2 * (user.limit + 1)  # links are asked by HEAD, and by GET if that fails
        if user.says_why:
            assert len(asked) % (user.limit + 1) == 0


class Moving(FakeClock):
    """A clock on which a wait takes no time; names may turn private meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.after_wait: Callable[[], None] = lambda: None

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if seconds > 1:
            self.after_wait()


async def _spaced_page(world: World, at: str) -> str:
    profile = {"name": "p", "version": "1", "policy": "exact", "fallbacks": ["http"], "hosts": {"delay_seconds": 60}}
    async with Spaniel(engine=world.engine, profile=profile_from(profile, "test")) as world.spaniel:
        return await _page(world, at)


async def _spaced_link(world: World, at: str) -> str:
    (checked,) = [each async for each in world.spaniel.check([f"{at}/start"], delay=60)]
    return checked.code or str(checked.evidence.status)


@pytest.mark.req("D2-39")
@pytest.mark.parametrize("use", [_spaced_page, _spaced_link], ids=["page", "link"])
async def test_addresses_are_judged_again_after_a_long_wait(
    use: Callable[[World, str], Awaitable[str]], tmp_path: Path
) -> None:
    clock = Moving()
    async with open_world(User("waits", "/start", PAGE, use), tmp_path, clock=clock) as world:
        assert await world.outcome("Location: /goal", "front.test") in (OK, "200")  # the control
        assert max(clock.slept) >= 59
        clock.after_wait = lambda: world.resolver.names.update({"turn.test": VICTIM})
        del world.front.heard[:]
        assert await world.outcome("Location: /goal", "turn.test") == "ssrf_blocked"
        assert (world.victim.connections, "/goal" in world.asked) == (0, False)

"""What a hostile server is met with: rooms, a good neighbour, and the invariants that hold whatever a server does.

Whatever it does, a fetch ends within its deadline + 1 s, with one typed error, and the next request is served.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address
from time import monotonic
from typing import TYPE_CHECKING

from spaniel.errors import TABLE, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import AddressValidator, Guard, Security, Target
from spaniel.net.http import DEFAULT_OPTIONS, Http, Page, RequestHeaders, RequestOptions
from spaniel.pipeline.retrieve import FetchedPage, FetchOptions, retrieve
from spaniel.robots.gate import RobotsPermission
from spaniel.testing import FakeResolver
from spaniel.url import Url, parse
from tests.loopback import Services
from tests.net.servers import Server, serve, site
from tests.stopwatch import Stopwatch

if TYPE_CHECKING:
    from spaniel.net.addresses import Address
    from spaniel.net.proxy import Proxies

GOOD = "good.test"
GOOD_ADDRESS = "127.0.0.9"
GOOD_BODY = b"still here"
LATE = 1.0  # seconds after its deadline by which a fetch has ended


class Anyone:
    """A robots gate that is always open, for servers that are not there to be asked."""

    async def require(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders | None = None
    ) -> RobotsPermission:
        return RobotsPermission()


class OneHole(AddressValidator):
    """What the real guard judges by, but for some loopback addresses that stand in for public ones."""

    def __init__(self, resolver: FakeResolver, public: tuple[str, ...]) -> None:
        super().__init__(resolver)
        self._public = frozenset(map(ip_address, public))

    def validate_ip(self, ip: Address) -> None:
        if ip not in self._public:
            super().validate_ip(ip)


def guard_with_a_hole(
    resolver: FakeResolver, ports: tuple[int, ...], public: tuple[str, ...], clock: Callable[[], float] = monotonic
) -> Guard:
    return Guard(resolver, Security(allowed_ports=ports), OneHole(resolver, public), clock)


class Harness:
    """Rooms, and what may be asked of them in a test."""

    def __init__(self, services: Services, resolver: FakeResolver, good: Server, options: RequestOptions) -> None:
        self.services = services
        self._options = options
        self.resolver = resolver
        self._good = good

    async def get(self, url: str, seconds: float = 30.0, cap: int | None = None) -> Page:
        """One hop."""
        deadline = Deadline(seconds)
        parsed = parse(url)
        options = self._options if cap is None else self._options._replace(max_bytes=cap)
        return await self.services.http.get(parsed, await self.services.guard.vet(parsed, deadline), deadline, options)

    async def fetch(self, url: str, seconds: float = 30.0, *, robots: bool = False, most: int = 5) -> FetchedPage:
        """Redirects and all; `robots` puts the real gate in."""
        door = self.services.door if robots else self.services.door._replace(robots=Anyone())
        return await retrieve(parse(url), door, Deadline(seconds), FetchOptions(self._options, most))

    async def refuses(
        self,
        url: str,
        code: str | tuple[str, ...],
        seconds: float = 30.0,
        *,
        robots: bool = False,
        most: int = 5,
        serves: bool = True,
    ) -> SpanielError:
        """The fetch fails in time with this code (or one of these), and the harness is as good as before."""
        watch = Stopwatch()
        try:
            found = await self.fetch(url, seconds, robots=robots, most=most)
        except SpanielError as error:
            refusal = error
        else:
            raise AssertionError(f"{url} returned {found.page!r:.200}")
        took = watch.seconds
        assert took < seconds + LATE, f"{took:.1f} s for a deadline of {seconds} s"
        check_envelope(refusal, code)
        if serves:
            await self.still_serves()
        return refusal

    async def still_serves(self) -> None:
        page = await self.get(self._good.url("/", GOOD))
        assert page.body == GOOD_BODY


def check_envelope(error: SpanielError, code: str | tuple[str, ...]) -> None:
    assert str(error.code) in ((code,) if isinstance(code, str) else code), error
    assert set(TABLE[error.code].details) <= set(error.details), error.details
    said = json.dumps(error.as_dict())  # plain values
    assert len(said) < 4096
    assert error.message.isprintable()


@asynccontextmanager
async def open_harness(
    *servers: Server,
    names: Mapping[str, str | list[str]] | None = None,
    options: RequestOptions = DEFAULT_OPTIONS,
    ca_file: str = "",
    proxies: Proxies | None = None,
    public: tuple[str, ...] = (),
    ports: tuple[int, ...] = (),
) -> AsyncIterator[Harness]:
    """Rooms that may dial these servers' ports on loopback; with `public`, only those addresses of it."""
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(serve(site({"/": (200, [], GOOD_BODY)}), GOOD_ADDRESS))
        resolver = FakeResolver({GOOD: GOOD_ADDRESS, **(names or {})}, None)
        allowed = (good.port, *(server.port for server in servers), *ports)
        if public:
            guard = guard_with_a_hole(resolver, allowed, (*public, GOOD_ADDRESS))
        else:
            security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=allowed)
            guard = Guard(resolver, security)
        services = await stack.enter_async_context(Services(guard, Http(ca_file, proxies)))
        yield Harness(services, resolver, good, options)

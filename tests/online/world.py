"""A small web on loopback: public sites by their names, on the ports that names have, over HTTP and HTTPS.

Ports are mapped in front of the door, so that `https://www.boe.es/` is `https://www.boe.es/` to everything that is
tested, and a port of this machine to the socket. Guard, robots gate, redirect loop and HTTP are the real ones.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from spaniel.app.engine import Engine
from spaniel.learnt import Learnt
from spaniel.net.guard import Guard, Security
from spaniel.net.http import DEFAULT_OPTIONS, Http
from spaniel.online.canonicalizer import Canonicalizer, Reach
from spaniel.pipeline.retrieve import Door, FetchOptions
from spaniel.robots.gate import RobotsGate
from spaniel.testing import FakeResolver, Reply
from spaniel.url import load
from spaniel.url.allowlist import read
from tests.loopback import Services
from tests.net.servers import Behaviour, Wire, serve, tls_for

if TYPE_CHECKING:
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestOptions
    from spaniel.url.allowlist import DomainRules
    from spaniel.url.value import Url

Pages = Mapping[str, Reply]  # by URL, without its fragment
GONE: Reply = (404, {}, b"")

# What a host does on port 443, if it is not to answer as it should
REFUSES, RESETS, SPEAKS_HTTP, OTHER_NAME = "refuses", "resets", "speaks-http", "other-name"
DEAD = "dead"  # on port 80, too
SLEEPS = "sleeps"  # for ever


class Web:
    """Pages by their URLs, and how often each was asked for, and by which method."""

    def __init__(self, pages: Pages, https: Mapping[str, str] | None = None) -> None:
        self.pages = dict(pages)
        self.https = dict(https or {})
        self.asked: Counter[str] = Counter()
        self.hangs_up: set[str] = set()  # "HEAD https://…"

    def behaviour(self, scheme: str) -> Behaviour:
        async def behave(wire: Wire) -> None:
            while request := await wire.request():
                host = (request.header("host") or "").partition(":")[0]
                url = f"{scheme}://{host}{request.target}"
                self.asked[f"{request.method} {url}"] += 1
                if f"{request.method} {url}" in self.hangs_up:
                    return
                await wire.send(_written(self.pages.get(url, GONE), request.method))

        return behave


def _written(reply: Reply, method: str) -> bytes:
    status, fields, body = reply
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    start = f"HTTP/1.1 {status} Status\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode()
    return start if method == "HEAD" else start + body


class PortMap:
    """Guard and HTTP with ports mapped; all else is the real one's."""

    def __init__(self, guard: Guard, http: Http, port_of: Callable[[Url], int]) -> None:
        self._guard, self._http, self._port_of = guard, http, port_of
        self.overrides = guard.overrides

    def _mapped(self, url: Url) -> Url:
        return url if url.port is not None else url._replace(port=self._port_of(url))

    def check_page(self, url: Url, asked: DomainRules) -> None:
        self._guard.check_page(self._mapped(url), asked)

    async def vet(self, url: Url, deadline: Deadline) -> Target:
        return await self._guard.vet(self._mapped(url), deadline)

    async def vet_page(self, url: Url, deadline: Deadline, asked: DomainRules) -> Target:
        return await self._guard.vet_page(self._mapped(url), deadline, asked)

    async def get(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        return (await self._http.get(self._mapped(url), target, deadline, options))._replace(url=url)

    async def head(
        self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = DEFAULT_OPTIONS
    ) -> Page:
        return (await self._http.head(self._mapped(url), target, deadline, options))._replace(url=url)

    async def stream(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        sink: Callable[[bytes], object],
        options: RequestOptions = DEFAULT_OPTIONS,
    ) -> Page:
        return (await self._http.stream(self._mapped(url), target, deadline, sink, options))._replace(url=url)

    async def close(self) -> None:
        await self._http.close()


class World:
    """The web, and ways to look at it."""

    def __init__(self, web: Web, ports: PortMap, resolver: FakeResolver, services: Services) -> None:
        self.web, self.ports, self.resolver, self._services = web, ports, resolver, services
        robots = RobotsGate(cast("Http", ports), cast("Guard", ports))
        self._door: Door = services.door._replace(guard=cast("Guard", ports), robots=robots, http=ports)
        self.robots = robots

    def reach(self, seconds: float = 60.0) -> Reach:
        return Reach(self._door, self.ports, FetchOptions(), seconds)

    def canonicalizer(
        self, allowlist: str = "", learnt: Learnt | None = None, *, refresh: bool = False, seconds: float = 60.0
    ) -> Canonicalizer:
        policy = load("clara")
        policy = policy.with_allowlist(read(allowlist, "official.txt")) if allowlist else policy
        return Canonicalizer(policy, self.reach(seconds), learnt, refresh=refresh)

    def put_into(self, engine: Engine) -> Engine:
        """An engine that sees this web, before it is opened."""
        engine.guard, engine.http = cast("Guard", self.ports), cast("Http", self.ports)
        engine.robots = RobotsGate(engine.http, engine.guard)
        return engine


async def _no_tls(wire: Wire) -> None:
    """What a plain HTTP server makes of a TLS greeting."""
    await wire.reader.read(1)
    await wire.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


async def _reset(wire: Wire) -> None:
    await wire.reader.read(1)
    wire.reset()


@asynccontextmanager
async def open_world(
    web: Web, ca_file: str, names: Mapping[str, str] | None = None, http: Behaviour | None = None
) -> AsyncIterator[World]:
    """Servers and a canonicalizer. Every name is on loopback except those in `names`, where "" means no address."""
    async with AsyncExitStack() as stack:

        async def up(behaviour: Behaviour, *certified: str) -> int:
            tls = tls_for(*certified) if certified else None
            return (await stack.enter_async_context(serve(behaviour, tls=tls))).port

        plain = await up(http or web.behaviour("http"))
        hosts = sorted({url.split("/")[2] for url in web.pages} - set(web.https))
        ports = {
            "https": await up(web.behaviour("https"), *hosts),
            RESETS: await up(_reset),
            SPEAKS_HTTP: await up(_no_tls),
            OTHER_NAME: await up(web.behaviour("https"), "another.test"),
            REFUSES: (closed := _closed_port()),
            DEAD: closed,
            SLEEPS: await up(sleeping),
        }

        def port_of(url: Url) -> int:
            does = web.https.get(url.host, "https")
            return plain if url.scheme == "http" and does != DEAD else ports[does]

        resolver = FakeResolver({name: address or [] for name, address in (names or {}).items()})
        security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=(plain, *ports.values()))
        mapped = PortMap(Guard(resolver, security), Http(ca_file), port_of)
        services = await stack.enter_async_context(Services(mapped._guard, mapped._http))
        world = World(web, mapped, resolver, services)
        stack.push_async_callback(world.robots.close)
        yield world


def _closed_port() -> int:
    """A port without a listener: bound and released, and not reused soon."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def sleeping(wire: Wire) -> None:
    await wire.request()
    await asyncio.sleep(3600)

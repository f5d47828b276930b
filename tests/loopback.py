"""A real site on loopback: pages from a table, requests counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from pathlib import Path

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import Settings, from_data
from spaniel.clock import SystemClock
from spaniel.hosts import Hosts
from spaniel.net.addresses import Address
from spaniel.net.guard import Guard, Security
from spaniel.net.http import Http
from spaniel.net.proxy import Proxies
from spaniel.net.resolver import Resolver
from spaniel.pipeline.ports import Door
from spaniel.robots.gate import RobotsGate, RobotsSettings

Reply = tuple[int, dict[str, str], bytes]
Page = Reply | Callable[[], Awaitable[Reply]]


class Site:
    """Answers GET from `pages`; what is not there is a 404."""

    def __init__(self, pages: dict[str, Page], address: str = "127.0.0.1") -> None:
        self.pages = pages
        self.requests: Counter[str] = Counter()
        self.seen: list[dict[str, str]] = []
        self._address = address
        self._server: asyncio.Server | None = None
        self._visitors: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Site:
        self._server = await asyncio.start_server(self._serve, self._address, 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        for visitor in self._visitors:
            visitor.transport.abort()
        await asyncio.sleep(0)

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def reply(self, path: str) -> Reply | None:
        """For sites that answer by more than a table."""
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._visitors.add(writer)
        try:
            while line := await reader.readline():
                path = line.split()[1].decode()
                headers = {}
                while (field := await reader.readline()).strip():
                    name, _, value = field.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                self.requests[path] += 1
                self.seen.append(headers)
                page = self.reply(path) or self.pages.get(path.partition("?")[0], (404, {}, b""))
                status, fields, body = await page() if callable(page) else page
                head = f"HTTP/1.1 {status} Status\r\nContent-Length: {len(body)}\r\n"
                head += "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(head.encode() + b"\r\n" + body)
                await writer.drain()
        except (ConnectionError, IndexError):
            pass
        finally:
            self._visitors.discard(writer)
            writer.close()


def text(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    return status, {"Content-Type": "text/plain", **(headers or {})}, body.encode()


def redirect(location: str, status: int = 302) -> Reply:
    return text("", status, {"Location": location})


class Everywhere:
    """A resolver for which every name is this one address."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._address = ip_address(address)
        self.asked: list[str] = []

    async def resolve(self, host: str) -> list[Address]:
        self.asked.append(host)
        return [self._address]


class Rooms:
    """The rooms that a hop passes, real ones."""

    def __init__(self, guard: Guard, http: Http, robots: RobotsSettings | None = None) -> None:
        self.guard = guard
        self.http = http
        self.robots = RobotsGate(http, guard, robots)
        self.door = Door(guard, self.robots, Hosts(SystemClock()), http)

    async def __aenter__(self) -> Rooms:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.robots.close()
        await self.http.close()


def open_rooms(
    security: Security | None = None,
    resolver: Resolver | None = None,
    ca_file: str = "",
    robots: RobotsSettings | None = None,
    proxies: Proxies | None = None,
) -> Rooms:
    return Rooms(Guard(resolver or Everywhere(), security), Http(ca_file, proxies), robots)


def rooms_for(*sites: Site, robots: RobotsSettings | None = None, resolver: Resolver | None = None) -> Rooms:
    """Rooms that may look at loopback, at these sites' ports alone."""
    ports = tuple(site.port for site in sites)
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    return open_rooms(security, resolver, robots=robots)


def settings_at(site: Site, **webfetch: object) -> Settings:
    """Settings that may look at a site on loopback."""
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port]}
    return from_data({"tools": {"webfetch": {"security": security, **webfetch}}}, "test")


def engine_for(site: Site, **webfetch: object) -> Engine:
    return Engine(settings_at(site, **webfetch), Everywhere())


def spaniel_for(site: Site, cache: Path, **webfetch: object) -> Spaniel:
    return Spaniel(settings_at(site, cache_dir=str(cache), **webfetch), Everywhere())

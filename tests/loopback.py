"""A real site on loopback: pages from a table, requests counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address

from spaniel.app.rooms import Rooms, open_rooms
from spaniel.net.addresses import Address
from spaniel.net.guard import Security
from spaniel.net.http import HttpSettings
from spaniel.robots.gate import RobotsSettings

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

    async def __aenter__(self) -> Site:
        self._server = await asyncio.start_server(self._serve, self._address, 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()

    def url(self, path: str = "/", host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    def reply(self, path: str) -> Reply | None:
        """For sites that answer by more than a table."""
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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


@asynccontextmanager
async def rooms_for(
    *sites: Site,
    http: HttpSettings | None = None,
    robots: RobotsSettings | None = None,
    resolver: Everywhere | None = None,
) -> AsyncIterator[Rooms]:
    """Rooms that may look at loopback, at these sites' ports alone."""
    ports = tuple(site.port for site in sites)
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    async with open_rooms(security, http, robots, resolver or Everywhere()) as rooms:
        yield rooms

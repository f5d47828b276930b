"""Behaviors of hosts in tests. Each is a coroutine that handles one request."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime
from functools import cache

from tests.health.world import HungUpError, Play, Visit

HTML = "Content-Type: text/html; charset=utf-8"
WORDS = "The spaniel fetches gently, goes where it is sent, stays where it should, and returns what was requested. "

PAGE = f"<html><title>A page</title><body><h1 id=top-of-it>A page</h1><p>{WORDS * 3}</p></body></html>".encode()
ELSEWHERE = "elsewhere.test"  # a host that answers, for redirects
AGENT = "Mozilla/"


def says(status: int, body: bytes | str = b"", *fields: str) -> Play:
    async def play(visit: Visit) -> None:
        await visit.say(status, body.encode() if isinstance(body, str) else body, *fields)

    return play


def html(body: bytes | str, status: int = 200, *fields: str) -> Play:
    return says(status, body, HTML, *fields)


fine = html(PAGE)
missing = html("<h1>Not found</h1>", 404)


def by_method(head: Play, get: Play) -> Play:
    async def play(visit: Visit) -> None:
        await (head if visit.request.method == "HEAD" else get)(visit)

    return play


def in_turn(*plays: Play) -> Play:
    """One after the other; the last one is repeated."""

    async def play(visit: Visit) -> None:
        await plays[min(len(visit.host.heard), len(plays)) - 1](visit)

    return play


def paths(**by_path: Play) -> Play:
    """By the first segment of the path; `other` for the rest, else a 404."""

    async def play(visit: Visit) -> None:
        segment = visit.path.strip("/").partition("/")[0].partition("?")[0].translate(str.maketrans(".-", "__"))
        await by_path.get(segment or "root", by_path.get("other", missing))(visit)

    return play


def to(location: str, status: int = 301, *fields: str) -> Play:
    """A redirect. `{elsewhere}` is another host, `{name}` this one."""

    async def play(visit: Visit) -> None:
        port = visit.world.http_port
        where = location.format(elsewhere=f"http://{ELSEWHERE}:{port}", name=visit.host.name, port=port)
        await visit.say(status, b"", f"Location: {where}", *fields)

    return play


def chain(length: int, *statuses: int) -> Play:
    """Redirects from /0 to /1 and so on; the page is at the end."""

    async def play(visit: Visit) -> None:
        at = int(visit.path.strip("/"))
        if at == length:
            await fine(visit)
        else:
            await to(f"/{at + 1}", statuses[at % len(statuses)])(visit)

    return play


def busy(status: int, *fields: str, seconds: float | None = None) -> Play:
    """The host asks to retry later; with `seconds`, by a date."""

    async def play(visit: Visit) -> None:
        date = visit.world.clock.now() + timedelta(seconds=seconds or 0)
        retry_after = (f"Retry-After: {format_datetime(date, usegmt=True)}",) if seconds else fields
        await visit.say(status, b"<h1>Busy</h1>", *retry_after)

    return play


def needs_cookie(*, through: str = "") -> Play:
    """The page if the request has the cookie; otherwise a redirect that sets it."""

    async def play(visit: Visit) -> None:
        if "seen=yes" in (visit.request.header("cookie") or ""):
            await fine(visit)
        elif through and visit.path != through:
            await to(through, 302)(visit)
        else:
            await to("/docs/page", 302, "Set-Cookie: seen=yes; Path=/; HttpOnly", "Set-Cookie: b=2; Max-Age=9")(visit)

    return play


async def anothers_cookie(visit: Visit) -> None:
    """Requires a cookie that another origin has set, so no client can send it."""
    if "seen=yes" in (visit.request.header("cookie") or ""):
        await fine(visit)
    else:
        await to("{elsewhere}/set?" + visit.world.url(visit.host.name, "/docs/page"), 302)(visit)


async def elsewhere(visit: Visit) -> None:
    """The other host: pages, and a cookie."""
    if visit.path.startswith("/set?"):
        await to(visit.path.removeprefix("/set?"), 302, "Set-Cookie: seen=yes")(visit)
    elif visit.path.startswith("/gone"):
        await missing(visit)
    else:
        await fine(visit)


async def known_agents_only(visit: Visit) -> None:
    agent = visit.request.header("user-agent") or ""
    await (fine if agent.startswith(AGENT) else html("<h1>Forbidden</h1>", 403))(visit)


async def hang(visit: Visit) -> None:
    """Never responds."""
    await visit.wire.reader.read()
    raise HungUpError


async def reset(visit: Visit) -> None:
    visit.wire.reset()
    raise HungUpError


async def hang_up(visit: Visit) -> None:
    raise HungUpError


async def reset_in_body(visit: Visit) -> None:
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nonly this")
    await reset(visit)


async def garble(visit: Visit) -> None:
    await visit.wire.send(b"220 mail.test ESMTP ready\r\n")
    raise HungUpError


async def endless_head(visit: Visit) -> None:
    await visit.wire.send(b"HTTP/1.1 200 OK\r\n")
    await visit.wire.pour(b"X-More: and more\r\n" * 100)


async def endless_body(visit: Visit) -> None:
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
    if visit.request.method != "HEAD":
        await visit.wire.pour(b"<p>and so on</p>" * 1000)
    raise HungUpError


async def silent_body(visit: Visit) -> None:
    """Sends headers, but no body."""
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n")
    if visit.request.method != "HEAD":
        await hang(visit)


async def dripping_body(visit: Visit) -> None:
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
    if visit.request.method != "HEAD":
        await visit.wire.drip(b"<p>slowly</p>", 0.5)
    raise HungUpError


async def head_with_a_body(visit: Visit) -> None:
    """Sends a body in response to HEAD, which is invalid."""
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE)


async def slow_but_there(visit: Visit) -> None:
    await asyncio.sleep(0.3)
    await fine(visit)


def packed(body: bytes) -> Play:
    return says(200, zlib.compress(body, 9, wbits=31), "Content-Encoding: gzip", HTML)


@cache
def _bomb() -> Play:
    return packed(bytes(64 << 20))


async def bomb(visit: Visit) -> None:
    await _bomb()(visit)


def like(body: str) -> Play:
    """Returns the same page for every path, with the path in it."""

    async def play(visit: Visit) -> None:
        await html(body.format(path=visit.path))(visit)

    return play


def advert(body: bytes) -> Play:
    """A page whose advertisement changes with every request."""

    async def play(visit: Visit) -> None:
        number = len(visit.host.heard)
        await html(body.replace(b"</body>", b"<script>ad(%d)</script></body>" % number))(visit)

    return play


def from_day(*turns: tuple[float, Play]) -> Play:
    """Behaviors by the day since the start of the world."""

    async def play(visit: Visit) -> None:
        day = visit.world.day
        await [each for since, each in turns if since <= day][-1](visit)

    return play


def site(pages: Mapping[str, Play], head: Play | None = None) -> Play:
    """Pages by path, else a 404; with `head`, all HEAD requests get the same response."""

    async def play(visit: Visit) -> None:
        if head is not None and visit.request.method == "HEAD":
            await head(visit)
        else:
            await pages.get(visit.path, missing)(visit)

    return play

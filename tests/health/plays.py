"""The tricks that hosts play: each is a coroutine over one request, most of them made by a word or two."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime
from functools import cache

from tests.health.world import HungUpError, Play, Visit

HTML = "Content-Type: text/html; charset=utf-8"
WORDS = "The spaniel fetches gently, goes where it is sent, stays where it is told, and brings back what was asked. "

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
    """One after another; the last for ever."""

    async def play(visit: Visit) -> None:
        await plays[min(len(visit.host.heard), len(plays)) - 1](visit)

    return play


def paths(**by_path: Play) -> Play:
    """By the first segment of the path; `other` for the rest, a 404 where there is none."""

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
    """The host asks to be left alone, with a date where seconds are given."""

    async def play(visit: Visit) -> None:
        date = visit.world.clock.now() + timedelta(seconds=seconds or 0)
        wish = (f"Retry-After: {format_datetime(date, usegmt=True)}",) if seconds else fields
        await visit.say(status, b"<h1>Busy</h1>", *wish)

    return play


def needs_cookie(*, by_way_of: str = "") -> Play:
    """The page for whoever brings the cookie that was set; a redirect to itself for whoever does not."""

    async def play(visit: Visit) -> None:
        if "seen=yes" in (visit.request.header("cookie") or ""):
            await fine(visit)
        elif by_way_of and visit.path != by_way_of:
            await to(by_way_of, 302)(visit)
        else:
            await to("/docs/page", 302, "Set-Cookie: seen=yes; Path=/; HttpOnly", "Set-Cookie: b=2; Max-Age=9")(visit)

    return play


async def anothers_cookie(visit: Visit) -> None:
    """It wants a cookie that only another origin has set: nobody may bring it."""
    if "seen=yes" in (visit.request.header("cookie") or ""):
        await fine(visit)
    else:
        await to("{elsewhere}/set?" + visit.world.url(visit.host.name, "/docs/page"), 302)(visit)


async def elsewhere(visit: Visit) -> None:
    """The other host: pages, and a cookie for whoever wants to take it away."""
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
    """Hears, and never says a word."""
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
    """The head, and nothing after it."""
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n")
    if visit.request.method != "HEAD":
        await hang(visit)


async def dripping_body(visit: Visit) -> None:
    await visit.wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
    if visit.request.method != "HEAD":
        await visit.wire.drip(b"<p>slowly</p>", 0.5)
    raise HungUpError


async def head_with_a_body(visit: Visit) -> None:
    """What no server may do: the body comes with HEAD, too."""
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
    """A site that answers anything with the same page, in which the address stands."""

    async def play(visit: Visit) -> None:
        await html(body.format(path=visit.path))(visit)

    return play


def advert(body: bytes) -> Play:
    """A page whose advertisement is another one each time."""

    async def play(visit: Visit) -> None:
        number = len(visit.host.heard)
        await html(body.replace(b"</body>", b"<script>ad(%d)</script></body>" % number))(visit)

    return play


def from_day(*turns: tuple[float, Play]) -> Play:
    """From that day on it plays so: days since the world began."""

    async def play(visit: Visit) -> None:
        day = visit.world.day
        await [each for since, each in turns if since <= day][-1](visit)

    return play


def site(pages: Mapping[str, Play], head: Play | None = None) -> Play:
    """Pages by their paths; the rest is a 404. HEAD may say the same to all."""

    async def play(visit: Visit) -> None:
        if head is not None and visit.request.method == "HEAD":
            await head(visit)
        else:
            await pages.get(visit.path, missing)(visit)

    return play

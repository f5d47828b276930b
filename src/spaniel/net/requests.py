"""What Spaniel says on a connection: the head of a request, in one piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.proxy import literal

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.net.proxy import Proxy
    from spaniel.url.value import Url


def request(method: str, url: Url, lines: bytes) -> bytes:
    """For the server itself; `lines` are the fields after Host."""
    return _head(method, url.target, _authority(url), lines)


def proxied(method: str, url: Url, target: Target, proxy: Proxy, lines: bytes) -> bytes:
    """For a proxy: for an address that passed, with Host still the name."""
    where = f"http://{literal(target)}{'' if url.port is None else f':{url.port}'}{url.target}"
    return _head(method, where, _authority(url), proxy.credentials.encode() + lines)


def tunnel(target: Target, proxy: Proxy, agent: str) -> bytes:
    """For a proxy that is to lead to a judged address."""
    place = f"{literal(target)}:{target.port}"
    return _head("CONNECT", place, place, f"User-Agent: {agent}\r\n{proxy.credentials}".encode())


def _authority(url: Url) -> str:
    host = url.host.rstrip(".")  # of a name that is written in full, servers know the short form
    return host if url.port is None else f"{host}:{url.port}"


def _head(method: str, what: str, authority: str, lines: bytes) -> bytes:
    written = f"{method}{what}{authority}"
    if not (written.isascii() and written.isprintable()) or " " in written:  # the parser writes no such URL
        raise SpanielError(Code.INTERNAL, error="a URL that does not fit into a request")
    return f"{method} {what} HTTP/1.1\r\nHost: {authority}\r\n".encode() + lines + b"\r\n"

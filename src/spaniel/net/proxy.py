"""Request heads, and the system's proxy, which gets vetted addresses, never names (D2-20)."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.net.guard import Target
    from spaniel.url.hostlists import HostList
    from spaniel.url.value import Url


class Proxy(NamedTuple):
    """One proxy, by its URL."""

    url: str

    @property
    def place(self) -> tuple[str, int]:
        """The host and port; `ValueError` if the URL has no host."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        if not parts.hostname:
            raise ValueError("the proxy's URL has no host")
        return parts.hostname, parts.port or 80

    @property
    def credentials(self) -> str:
        """The Proxy-Authorization line, if the URL has a user."""
        from urllib.parse import unquote, urlsplit

        try:
            parts = urlsplit(self.url)
        except ValueError:  # reported when it is dialled
            return ""
        if not parts.username:
            return ""
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"


class Proxies(NamedTuple):
    """The proxy of each scheme, and the hosts that are reached directly."""

    by_scheme: dict[str, str]
    direct: HostList

    def choose(self, url: Url) -> Proxy | None:
        proxy = self.by_scheme.get(url.scheme)
        return Proxy(proxy) if proxy and url.host not in self.direct else None


def literal(target: Target) -> str:
    """A vetted address, as written in a URL."""
    address = min(target.addresses, key=lambda ip: ip.version)
    return f"[{address}]" if address.version == 6 else str(address)


def request(method: str, url: Url, lines: bytes) -> bytes:
    """The head of a request to the server itself; `lines` are the fields after Host."""
    return _head(method, url.target, _authority(url), lines)


def proxied(method: str, url: Url, target: Target, proxy: Proxy, lines: bytes) -> bytes:
    """The head of a request to a proxy: the URL has the vetted address, Host the name."""
    where = f"http://{literal(target)}{'' if url.port is None else f':{url.port}'}{url.target}"
    return _head(method, where, _authority(url), proxy.credentials.encode() + lines)


def tunnel(target: Target, proxy: Proxy, agent: str) -> bytes:
    """A CONNECT request for a vetted address."""
    place = f"{literal(target)}:{target.port}"
    return _head("CONNECT", place, place, f"User-Agent: {agent}\r\n{proxy.credentials}".encode())


def _authority(url: Url) -> str:
    host = url.host.rstrip(".")  # servers know a fully qualified name by its form without the dot
    return host if url.port is None else f"{host}:{url.port}"


def _head(method: str, what: str, authority: str, lines: bytes) -> bytes:
    written = f"{method}{what}{authority}"
    if not (written.isascii() and written.isprintable()) or " " in written:  # the URL parser does not produce these
        raise SpanielError(Code.INTERNAL, error="a URL that does not fit into a request")
    return f"{method} {what} HTTP/1.1\r\nHost: {authority}\r\n".encode() + lines + b"\r\n"

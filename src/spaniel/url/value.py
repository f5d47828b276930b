"""The parsed URL: an immutable value in the form the WHATWG URL Standard serializes."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 8192  # characters of a URL (D2-14)
DEFAULT_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """An http(s) URL. Every part is as the parser wrote it: lower-case host, encoded path, no default port."""

    scheme: str
    host: str  # a name in ASCII, four octets, or an IPv6 address in brackets
    port: int | None  # None where it is the scheme's own
    path: str  # always begins with "/"
    query: str | None  # None without "?", "" after a bare one
    fragment: str | None

    @property
    def href(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        fragment = "" if self.fragment is None else f"#{self.fragment}"
        return f"{self.origin}{self.path}{query}{fragment}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: what robots.txt and connections are kept apart by."""
        return f"{self.scheme}://{self.host}" + ("" if self.port is None else f":{self.port}")

    @property
    def target(self) -> str:
        """What a request line asks for: path and query, with the question mark of an empty one (D2-47)."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def effective_port(self) -> int:
        return DEFAULT_PORTS[self.scheme] if self.port is None else self.port

    @property
    def redacted(self) -> str:
        """What a log may hold: no query, no fragment (FR-WF-19b)."""
        return f"{self.origin}{self.path}"

    def __str__(self) -> str:
        return self.href


def split(href: str) -> Url:
    """Take apart what the parser has already serialized; not for text from outside."""
    rest, mark, tail = href.partition("#")
    fragment = tail if mark else None
    rest, mark, tail = rest.partition("?")
    query = tail if mark else None
    scheme, _, rest = rest.partition("://")
    authority, _, path = rest.partition("/")
    host, _, digits = authority.rpartition(":")
    if not digits.isdigit() or authority.endswith("]"):
        return Url(scheme, authority, None, f"/{path}", query, fragment)
    return Url(scheme, host, int(digits), f"/{path}", query, fragment)


def whatwg_path(path: str) -> str:
    """A path with its dot segments resolved and its characters encoded, as the parser does it."""
    if "/." not in path and "/%2" not in path:
        return path
    import ada_url

    return split(ada_url.normalize_url(f"https://host{path}")).path


def echoed(text: str) -> str:
    """The same URL with every character percent-encoded that could steer a terminal or hide: controls, bidi marks,
    spaces of other kinds, halves of surrogate pairs."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(sign: str) -> str:
    how = "surrogateescape" if "\udc80" <= sign <= "\udcff" else "surrogatepass"
    return "".join(f"%{octet:02X}" for octet in sign.encode("utf-8", how))

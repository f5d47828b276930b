"""The parsed URL: an immutable value in the form the WHATWG URL Standard serializes; and a fast path to it."""

from __future__ import annotations

import re
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


Parts = tuple[str, str, str, str, str | None, str | None]

# Character classes are written out, which takes half the time of \w.
_PLAIN = re.compile(
    r"(https?)://([a-zA-Z0-9.-]+)(:[1-9][0-9]{0,4})?"
    r"(/[a-zA-Z0-9_.~!$&'()*+,;=:@/%-]*)?"
    r"(?:\?([a-zA-Z0-9_.~!$&()*+,;=:@/?%\[\]{}|-]*))?"
    r"(?:\#([a-zA-Z0-9_.~!$&'()*+,;=:@/?%-]*))?"
)
# Single hyphens, so no "xn--"; the last label begins with a letter; 63 characters fit DNS however they are divided.
_HOST = re.compile(r"(?=.{1,63}\Z)(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z][a-z0-9]*")

_SPELLED = re.compile(r"(https?://([a-z0-9.-]+\.[a-z]{2,})(:[1-9][0-9]{0,3})?/[\w./?=&~+-]*)(?:#(.*))?", re.ASCII)
# The host of a URL whatever follows it, where no reading of the rest could make another host of it.
_BEGINNING = re.compile(r"https?://([a-z0-9.-]+)(?::[0-9]+)?(?=[/?#]|\Z)")
_USUAL_PORTS = (":80", ":443")  # which are not written

Spelled = tuple[str, str, str | None]


class _Hosts(dict[str, bool]):
    """Which hosts need no parser; hosts repeat, so the answers are kept, but not without end."""

    def __missing__(self, host: str) -> bool:
        if len(self) >= 10_000:
            self.clear()
        plain = self[host] = bool(_HOST.fullmatch(host))
        return plain


_hosts = _Hosts()


def recognize(text: str) -> Parts | None:
    """Scheme, host, port (":8080" or ""), path, query and fragment of a plain URL; None for any other text."""
    found = _PLAIN.fullmatch(text)
    if found is None:
        return None
    scheme, host, port, path, query, fragment = found.groups()
    host, path = host.lower(), path or "/"
    if not _hosts[host] or "/." in path or "/%2" in path:  # dot segments, plain or escaped, need the parser
        return None
    if port is not None:
        if port == (":443" if scheme == "https" else ":80"):
            port = None
        elif int(port[1:]) > 65535:
            return None
    return scheme, host, port or "", path, query, fragment


def plain_host(text: str) -> str | None:
    """The host of a URL that may yet be refused, where it is the parser's too; None where only the parser can tell."""
    found = _BEGINNING.match(text)
    return found[1] if found is not None and _hosts[found[1]] else None


def in_one_spelling(text: str) -> Spelled | None:
    """URL without its fragment, host, and fragment as it is, of a text in the parser's own spelling; None where it is
    not plainly so.

    It judges nothing: parsing does.
    """
    found = _SPELLED.fullmatch(text)
    if found is None:
        return None
    url, host, port, fragment = found.groups()
    if port in _USUAL_PORTS or "/." in url or "xn--" in url:
        return None
    return url, host, fragment

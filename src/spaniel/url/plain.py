"""Recognises URLs on which the strict checks have nothing to say and the parser next to nothing to do: most of them.

A host in capitals is lowered and a default port dropped; everything else goes the long way. A law in the tests compares
the two ways.
"""

from __future__ import annotations

import re

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

    It judges nothing: a host that is refused is refused by whoever parses it.
    """
    found = _SPELLED.fullmatch(text)
    if found is None:
        return None
    url, host, port, fragment = found.groups()
    if port in _USUAL_PORTS or "/." in url or "xn--" in url:
        return None
    return url, host, fragment

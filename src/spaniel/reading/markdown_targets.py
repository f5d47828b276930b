"""Where links in Markdown lead: absolute and harmless, as those of HTML pages are, or nowhere."""

from __future__ import annotations

import re
from html import unescape

from spaniel.reading.links import HARMFUL, LONGEST, NEEDS_CARE, SAFE, UNSAFE, WEB, Resolver, scheme_of

NO_BRACKETS = dict.fromkeys(map(ord, "()"))
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_PLAIN = r"[^\s()\\<]|\\\S"
_NESTED = rf"(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*+\))*+\))*+"
_BLANKS = r"[ \t]*+\n?[ \t]*+"
# What stands behind `](` and ends with `)`: an address, and perhaps a title.
INLINE = re.compile(
    rf"{_BLANKS}(?:<(?P<angled>(?:[^<>\\\n]|\\.)*+)>|(?P<bare>{_NESTED}))"
    rf"(?P<title>[ \t\n]++(?:\"[^\"]{{0,500}}+\"|'[^']{{0,500}}+'|\([^()]{{0,500}}+\)))?+{_BLANKS}\)"
)
# What stands behind `[name]:`.
DEFINED = re.compile(r"<(?P<angled>[^<>\n]*+)>|(?P<bare>[^\s<]++)")


class Targets:
    """Settles addresses as long as there is room for them."""

    def __init__(self, url: str | None, room: int) -> None:
        self._absolute = url is not None
        self._resolve = Resolver(url if url and url.startswith(WEB) else "", room)
        self.harmful = 0

    @property
    def cut(self) -> bool:
        return self._resolve.cut

    def settle(self, written: str, *, balanced: bool = False) -> str | None:
        """The address as it may stand; None for one that runs something, is none, or finds no room.

        Brackets that come in pairs may stand in Markdown.
        """
        if self._resolve.has_room_for(written.translate(NO_BRACKETS) if balanced and "(" in written else written):
            return written
        meant = _meant(written) if len(written) <= LONGEST else ""
        target = self._resolve(meant).strip()
        if target.startswith(WEB) and not NEEDS_CARE.search(target):
            return target
        scheme = scheme_of(target)
        if target and (scheme in SAFE or not (scheme or self._absolute)):
            return target.translate(UNSAFE) or None
        self.harmful += is_harmful(meant)
        return None


def is_harmful(address: str) -> bool:
    return scheme_of(_meant(address)) in HARMFUL


def _meant(written: str) -> str:
    """Escapes and references stand for their characters, in addresses too."""
    bare = ESCAPED.sub(r"\1", written) if "\\" in written else written
    return unescape(bare) if "&" in bare else bare


def of(match: re.Match[str]) -> str:
    """The address that INLINE or DEFINED found."""
    return match["angled"] if match["angled"] is not None else match["bare"]

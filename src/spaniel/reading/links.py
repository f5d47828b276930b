"""Links and images: absolute, harmless, where a reader expects them (FR-WF-13a, FR-WF-13d, NFR-WF-SEC-03)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Text

from spaniel.reading.images import set_images

if TYPE_CHECKING:
    from turbohtml import Document

SAFE = frozenset({"http", "https", "mailto", "tel", "ftp"})
HARMFUL = frozenset({"javascript", "vbscript", "data", "file", "blob"})
ANCHOR_SIGNS = frozenset({"¶", "#", "§", "🔗", "∞", "⚓", "permalink", "anchor", ""})
SURE_SIGNS = frozenset({"¶", "§", "🔗", "⚓"})  # and in a link to the page itself they are nothing else anywhere
BACK_SIGNS = frozenset({"↩", "↑", "^", "⤴", "⏎", "↵"})  # nor are these, from a note back to its place
EDITING = ".mw-editsection"  # beside the headings of a wiki
INLINE = frozenset({"a", "strong", "em", "b", "i"})
HEADINGS = "h1,h2,h3,h4,h5,h6"
SHOWN = "img,input[type=checkbox],x-math"  # though it has no text
# What would end a link target early or act in a terminal: controls go, the rest is percent-encoded.
UNSAFE = dict.fromkeys((*range(32), *range(127, 160))) | {ord(c): f"%{ord(c):02X}" for c in ' <>()"\\`'}
NEEDS_CARE = re.compile(r"[^!#-\'*-;=?-\[\]^_a-z{-~\u00a1-\U0010ffff]")  # any of them
WEB = ("https://", "http://")
# What a base goes before as it is: from the root of the site, or a place on the page, without escapes, `/.` and `//`.
PLAIN = re.compile(r"(?:/(?![/.])|#)(?:[A-Za-z0-9_~=&?+,;:@!$*#-]|\.|/(?![/.]))*+")
LONGEST = 1 << 16  # characters of an address that is looked at; nobody fetches one of more than 8,192
MANY = 2000  # elements of one sort above which niceties that look inside each are left out: time stays linear


class Linked(NamedTuple):
    """How the links of a page came out."""

    harmful: int
    cut: bool  # whether some lost their target because there were too many bytes of them


def set_links(doc: Document | None, root: Element, url: str | None, room: int) -> Linked:
    """Make every target absolute or take it away: no more than `room` characters of them in all."""
    _drop_permalinks(root)
    set_images(root)
    _move_into_headings(root)
    base = base_of(doc, url)
    resolve = Resolver(base if base.startswith(WEB) else "", room)
    for titled in root.select("a[title],img[title]"):
        del titled.attrs["title"]
    absolute = url is not None
    harmful = sum([_set_target(link, resolve, absolute=absolute) for link in root.select("a[href]")])
    for image in root.select("img"):
        if not (image.attr("alt") or "").strip() or not _loads(image, resolve, absolute=absolute):
            image.decompose()
    _drop_empty(root)
    return Linked(harmful, resolve.cut)


class Resolver:
    """Makes addresses absolute as long as there is room: a long base makes many short links long."""

    __slots__ = ("_attributes", "_base", "_link", "_room", "_starts", "cut")

    def __init__(self, base: str, room: int) -> None:
        self._base, self._room, self.cut = base, room, False
        self._link = Element("a")
        self._attributes = self._link.attrs
        self._starts: dict[str, str | None] = {}  # what comes before a plain address, by its first sign

    def has_room_for(self, target: str) -> bool:
        """Whether it is an address as it should be, which needs nothing but room."""
        if not target.startswith(WEB) or NEEDS_CARE.search(target) or "///" in target or len(target) > self._room:
            return False
        self._room -= len(target)
        return True

    def __call__(self, target: str) -> str:
        """The address, or nothing for one that is no address or finds no room.

        One at a time: a tree's other attributes may hold lists of addresses, and one bad address would stop all.
        """
        if self._room < 0:
            self.cut = True
            return ""
        if self._base:
            start = self._start_of(target[0]) if PLAIN.fullmatch(target) else None
            target = self._joined(target) if start is None else start + target
        self._room -= len(target)
        return target

    def _start_of(self, sign: str) -> str | None:
        if sign not in self._starts:
            whole = self._joined(f"{sign}x")
            self._starts[sign] = whole[:-2] if whole.startswith(WEB) and whole.endswith(f"{sign}x") else None
        return self._starts[sign]

    def _joined(self, target: str) -> str:
        self._attributes["href"] = target
        try:
            self._link.resolve_links(self._base)
        except ValueError:  # `//[x`: a browser does not follow it either
            return ""
        return self._link.attr("href") or ""


def base_of(doc: Document | None, url: str | None) -> str:
    """What relative addresses are relative to: the page's, unless it has a `<base>`, which few have."""
    return (url or "") if doc is None or not has_base(doc) else doc.base_url(url or "")


def has_base(doc: Document) -> bool:
    """Costs nothing as long as the tree is as it was parsed."""
    return doc.select_one("base[href]") is not None


def scheme_of(target: str) -> str:
    """The scheme as a browser reads it: blanks and controls inside do not count."""
    head = "".join(c for c in target[:64] if c > " ")
    scheme, colon, _ = head.partition(":")
    return scheme.lower() if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum() else ""


def _set_target(link: Element, resolve: Resolver, *, absolute: bool) -> bool:
    written = link.attr("href") or ""
    if resolve.has_room_for(written):
        return False
    given = resolve(written) if len(written) <= LONGEST else ""
    if given.startswith(WEB) and not NEEDS_CARE.search(given):
        if given != written:
            link.attrs["href"] = given
        return False
    target = given.strip()
    scheme = scheme_of(target)
    if scheme in SAFE or (not scheme and not absolute and target):
        if clean := target.translate(UNSAFE):
            link.attrs["href"] = clean
        return False
    del link.attrs["href"]
    return scheme_of(written) in HARMFUL


def _loads(image: Element, resolve: Resolver, *, absolute: bool) -> bool:
    written = image.attr("src") or ""
    if resolve.has_room_for(written):
        return True
    given = resolve(written) if len(written) <= LONGEST else ""
    if given.startswith(WEB) and not NEEDS_CARE.search(given):
        if given != written:
            image.attrs["src"] = given
        return True
    source = given.strip()
    scheme = scheme_of(source)
    if scheme not in ("http", "https") and (scheme or absolute or not source):
        return False
    image.attrs["src"] = source.translate(UNSAFE)
    return True


def _drop_permalinks(root: Element) -> None:
    """The sign beside a heading that links to the heading itself; the one that leads back from a note."""
    root.remove(EDITING)
    for link in root.select("a")[: 4 * MANY]:
        sign = link.text.strip().lower()
        back = sign in BACK_SIGNS
        if (sign not in ANCHOR_SIGNS and not back) or link.select_one("img"):
            continue
        own = (sign in SURE_SIGNS or back) and (link.attr("href") or "").startswith("#")
        if own or (not back and (link.closest(f"{HEADINGS},dt") is not None or link.matches(".headerlink"))):
            link.decompose()


def _move_into_headings(root: Element) -> None:
    """A link around a whole card becomes a link on the card's heading, or on its first line."""
    if len(root.select("a")) > 4 * MANY:  # to find which of them hold what would take as much memory as all pairs do
        return
    for link in root.select("a:has(h1,h2,h3,h4,h5,h6,p,div,li,table,section,article)")[:MANY]:
        place = link.select_one(HEADINGS) or link.select_one("p") or link.select_one("div:not(:has(div))")
        href = link.attr("href")
        if place is None or href is None or not place.text.strip():
            continue
        inner = Element("a", {"href": href})
        place.wrap_children(inner)
        link.unwrap()


def _drop_empty(root: Element) -> None:
    """From the end, so that of elements inside each other none is looked at once for each that is around it."""
    for element in reversed(root.select(f"a,li,{HEADINGS},dt,summary,blockquote,strong,em,b,i")[: 4 * MANY]):
        if next(element.stripped_strings, None) is None and element.select_one(SHOWN) is None:
            if element.tag in INLINE and element.text:
                element.insert_before(Text(" "))  # its blank may be all that parts two words
            element.decompose()

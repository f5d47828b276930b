"""Links and images: absolute, harmless, where a reader expects them (FR-WF-13a, FR-WF-13d, NFR-WF-SEC-03).

An image that a script would load gets its real address; images that only decorate (logos, avatars, icons, tracking
pixels) are dropped."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Text

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import name_parts
from spaniel.reading.text.scrub import scrub

if TYPE_CHECKING:
    from turbohtml import Document, Node


LAZY_ATTRIBUTES = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-url")
SRCSET_ATTRIBUTES = ("data-srcset", "data-lazy-srcset", "srcset")
DECORATION_NAMES, PLACEHOLDER_NAMES = (frozenset(data_file("images")[name].split()) for name in ("decorating", "empty"))
DECORATION_ALT = frozenset(data_file("images")["named"].split())
EMOJI = frozenset(data_file("images")["emoji"].split())
SIZE = re.compile(r"([0-9]{1,5})(?:\.0+)?(?:px)?")
DESCRIPTOR = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)[wx],?")
CLOSING = frozenset(".,;:!?)")
SMALL = 48  # pixels each way: icons
THIN = 8  # pixels one way: rules and trackers
LARGE = 200  # pixels each way: a picture, whatever it is called
MAX_SMILEY, MAX_EMOJI = 3, 12  # characters
FEW_WORDS = 5  # of a description that is a name and no sentence
MAX_SOURCE = 8000  # characters of a set, an address or a description that are looked at
MAX_SOURCES = 32  # before an image in a `<picture>`
MAX_FIGURES = 500  # that are searched for a caption
WRAPPING = frozenset({"picture", "a", "span", "b", "strong", "i", "em", "small"})
MAX_WRAPPERS = 4  # of those inside each other
MAX_IMAGES = 8000  # images that are looked at


def fill_from_noscript(doc: Document) -> None:
    """An image that sleeps has its address in the `<noscript>` right behind it. Runs before those go."""
    for without in doc.select("noscript")[:MAX_IMAGES]:
        node = without.previous_sibling
        while isinstance(node, Text) and not node.data.strip():
            node = node.previous_sibling
        if not isinstance(node, Element) or node.tag != "img" or not _is_placeholder(_source(node)):
            continue
        real = without.select_one("img")
        if real is not None and (source := _source(real)):
            node.attrs["src"] = source


def _source(image: Element) -> str:
    return (image.attr("src") or "").strip()


def _is_placeholder(source: str) -> bool:
    return not source or source.startswith("data:") or _is_placeholder_name(source)


def _real_source(image: Element) -> str:
    """The address of the image itself, also where a script would have set it."""
    source = _source(image)
    found = _lazy_source(image) or (_srcset_source(image) if _is_placeholder(source) else "")
    if found:
        image.attrs["src"] = found
    return found or source


def _lazy_source(image: Element) -> str:
    for name in LAZY_ATTRIBUTES:
        value = image.attr(name)
        if (
            value
            and (value := value.strip())
            and ("/" in value or "." in value)
            and not value.startswith(("data:", "{"))
        ):
            return value
    return ""


def _srcset_source(image: Element) -> str:
    """The largest of the first set that there is, on the image or in the `<picture>` around it."""
    for element in (image, *_sources(image)):
        for name in SRCSET_ATTRIBUTES:
            if found := largest_candidate(element.attr(name) or ""):
                return found
    return ""


def _sources(image: Element) -> list[Element]:
    """The `<source>` elements right before it, the first one first."""
    up, node, found = image.parent, image.previous_sibling, []
    for _ in range(MAX_SOURCES if isinstance(up, Element) and up.tag == "picture" else 0):
        if isinstance(node, Element) and node.tag == "source":
            found.append(node)
        node = node.previous_sibling if node is not None else None
    return found[::-1]


def largest_candidate(candidates: str) -> str:
    """Of `a.png 1x, b.png 2x` the one with the highest number. Addresses may hold commas, but no blanks."""
    best, most, last = "", -1.0, ""
    for token in candidates[:MAX_SOURCE].split():
        size = DESCRIPTOR.fullmatch(token)
        if size is None:
            last = token.rstrip(",")
            value = 0.0
        else:
            value = float(size[1])
        if last and not last.startswith("data:") and value > most:
            best, most = last, value
    return best


def prepare_images(root: Element) -> None:
    """Each has its address, and what is left says something. Emoji become the sign that they show."""
    before, figures = "", MAX_FIGURES
    for image in root.select("img")[:MAX_IMAGES]:
        alt = (image.attr("alt") or "")[:MAX_SOURCE]
        if "&" in alt:
            image.attrs["alt"] = alt = scrub(unescape(alt))[0]
        if "  " in alt or alt != alt.strip() or "\n" in alt:
            image.attrs["alt"] = alt = " ".join(alt.split())
        source = _real_source(image)
        names = name_parts(image.attr("class") or "")
        if not EMOJI.isdisjoint(names) or not EMOJI.isdisjoint(_path(source).lower().split("/")[:-1]):
            sign = _emoji(alt)
            if not sign:
                _trim_space_before(image)
            image.replace_with(Text(sign))
        elif (source and source == before) or _shows_nothing(image, source, size := _size_of(image)):
            image.decompose()
        elif min(size) < LARGE and _is_named_decoration(source, names, alt):
            figures -= 1
            if figures < 0 or not _has_caption(image):
                image.decompose()
        else:
            before = source
            _separate_from_words(image)


def _separate_from_words(image: Element) -> None:
    """A word right behind a picture, or before it, would be glued to its mark."""
    for sibling, end in ((_neighbour(image, 1), 0), (_neighbour(image, -1), -1)):
        if type(sibling) is Text and sibling.data[end:][:1].isalnum():
            sibling.data = f" {sibling.data}" if end == 0 else f"{sibling.data} "


def _neighbour(image: Element, step: int) -> Node | None:
    """The text beside it, or beside what is only around it."""
    node: Node | None = image
    for _ in range(MAX_WRAPPERS):
        if not isinstance(node, Element) or (node is not image and node.tag not in WRAPPING):
            return None
        found = node.next_sibling if step > 0 else node.previous_sibling
        if found is not None:
            break
        node = node.parent
    else:
        return None
    for _ in range(MAX_WRAPPERS):
        if not isinstance(found, Element) or found.tag not in WRAPPING or not (children := found.children):
            break
        found = children[0 if step > 0 else -1]
    return found


def _emoji(alt: str) -> str:
    """An emoji or `:-)`; a name such as `:wave:` is none. Scrubbed before it is written, as all text."""
    sign = scrub(alt.strip())[0]
    return sign if len(sign) <= MAX_SMILEY or (not sign.isascii() and len(sign) <= MAX_EMOJI) else ""


def _trim_space_before(image: Element) -> None:
    """The blank before an image that goes, where a sign follows that has none before it."""
    before, after = image.previous_sibling, image.next_sibling
    if isinstance(before, Text) and isinstance(after, Text) and after.data[:1] in CLOSING:
        before.data = before.data.rstrip()


def _shows_nothing(image: Element, source: str, size: tuple[int, int]) -> bool:
    """By its role, its file, or a size in which nothing can be seen but a sign."""
    if image.attr("role") in ("presentation", "none") or _is_placeholder_name(source):
        return True
    width, height = size
    small = 0 <= width <= SMALL and 0 <= height <= SMALL
    return small or 0 <= width <= THIN or 0 <= height <= THIN


def _is_named_decoration(source: str, names: list[str], alt: str) -> bool:
    if not DECORATION_NAMES.isdisjoint(names) or not DECORATION_NAMES.isdisjoint(name_parts(_path(source))):
        return True
    words = name_parts(alt)
    return len(words) <= FEW_WORDS and not DECORATION_ALT.isdisjoint(words)


def _has_caption(image: Element) -> bool:
    """Whether the image is the topic of the page, such as a logo in an article about it."""
    figure = image.closest("figure")
    return figure is not None and figure.select_one("figcaption") is not None


def _path(source: str) -> str:
    """The folder and the name of the file."""
    path = source[:MAX_SOURCE].partition("?")[0].partition("#")[0]
    return "/".join(path.partition("://")[2].split("/")[1:][-2:]) if "://" in path else "/".join(path.split("/")[-2:])


def _is_placeholder_name(source: str) -> bool:
    """Whether it is a picture of nothing that keeps the place of another."""
    name = source[:MAX_SOURCE].partition("?")[0].rpartition("/")[2].lower()
    stem = name.rpartition(".")[0] or name
    return stem in PLACEHOLDER_NAMES


def _size_of(image: Element) -> tuple[int, int]:
    return _pixels(image.attr("width")), _pixels(image.attr("height"))


def _pixels(written: str | None) -> int:
    """As the page writes it, else less than nothing."""
    found = SIZE.fullmatch(written.strip()) if written else None
    return int(found[1]) if found else -1


SAFE_SCHEMES = frozenset({"http", "https", "mailto", "tel", "ftp"})
HARMFUL_SCHEMES = frozenset({"javascript", "vbscript", "data", "file", "blob"})
ANCHOR_TEXTS = frozenset({"¶", "#", "§", "🔗", "∞", "⚓", "permalink", "anchor", ""})
PERMALINK_SYMBOLS = frozenset({"¶", "§", "🔗", "⚓"})  # and in a link to the page itself they are nothing else anywhere
BACKLINK_SYMBOLS = frozenset({"↩", "↑", "^", "⤴", "⏎", "↵"})  # nor are these, from a note back to its place
EDIT_LINKS = ".mw-editsection"  # beside the headings of a wiki
INLINE = frozenset({"a", "strong", "em", "b", "i"})
HEADINGS = "h1,h2,h3,h4,h5,h6"
VISIBLE_WITHOUT_TEXT = "img,input[type=checkbox],x-math"  # though it has no text
# What would end a link target early or act in a terminal: controls go, the rest is percent-encoded.
ESCAPED_CHARACTERS = dict.fromkeys((*range(32), *range(127, 160))) | {ord(c): f"%{ord(c):02X}" for c in ' <>()"\\`'}
NEEDS_ESCAPING = re.compile(r"[^!#-\'*-;=?-\[\]^_a-z{-~\u00a1-\U0010ffff]")  # any of them
WEB_PREFIXES = ("https://", "http://")
# What a base goes before as it is: from the root of the site, or a place on the page, without escapes, `/.` and `//`.
PLAIN_TARGET = re.compile(r"(?:/(?![/.])|#)(?:[A-Za-z0-9_~=&?+,;:@!$*#-]|\.|/(?![/.]))*+")
MAX_HREF = 1 << 16  # characters of a URL that are examined; URLs of more than 8,192 are not fetched (D2-14)
MAX_ELEMENTS = 2000  # elements of one sort above which niceties that look inside each are left out: time stays linear


class LinkCounts(NamedTuple):
    """How the links of a page came out."""

    harmful: int
    cut: bool  # whether some lost their target because there were too many bytes of them


def prepare_links(doc: Document | None, root: Element, url: str | None, room: int) -> LinkCounts:
    """Make every target absolute or take it away: no more than `room` characters of them in all."""
    _drop_permalinks(root)
    prepare_images(root)
    _move_into_headings(root)
    base = base_of(doc, url)
    resolve = LinkResolver(base if base.startswith(WEB_PREFIXES) else "", room)
    for titled in root.select("a[title],img[title]"):
        del titled.attrs["title"]
    absolute = url is not None
    harmful = sum([_set_target(link, resolve, absolute=absolute) for link in root.select("a[href]")])
    for image in root.select("img"):
        if not (image.attr("alt") or "").strip() or not _set_source(image, resolve, absolute=absolute):
            image.decompose()
    _drop_empty(root)
    return LinkCounts(harmful, resolve.cut)


class LinkResolver:
    """Makes addresses absolute as long as there is room: a long base makes many short links long."""

    __slots__ = ("_attributes", "_base", "_link", "_room", "_starts", "cut")

    def __init__(self, base: str, room: int) -> None:
        self._base, self._room, self.cut = base, room, False
        self._link = Element("a")
        self._attributes = self._link.attrs
        self._starts: dict[str, str | None] = {}  # what comes before a plain address, by its first sign

    def has_room_for(self, target: str) -> bool:
        """Whether it is an address as it should be, which needs nothing but room."""
        if (
            not target.startswith(WEB_PREFIXES)
            or NEEDS_ESCAPING.search(target)
            or "///" in target
            or len(target) > self._room
        ):
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
            start = self._start_of(target[0]) if PLAIN_TARGET.fullmatch(target) else None
            target = self._joined(target) if start is None else start + target
        self._room -= len(target)
        return target

    def _start_of(self, sign: str) -> str | None:
        if sign not in self._starts:
            whole = self._joined(f"{sign}x")
            self._starts[sign] = whole[:-2] if whole.startswith(WEB_PREFIXES) and whole.endswith(f"{sign}x") else None
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


def _set_target(link: Element, resolve: LinkResolver, *, absolute: bool) -> bool:
    written = link.attr("href") or ""
    if resolve.has_room_for(written):
        return False
    given = resolve(written) if len(written) <= MAX_HREF else ""
    if given.startswith(WEB_PREFIXES) and not NEEDS_ESCAPING.search(given):
        if given != written:
            link.attrs["href"] = given
        return False
    target = given.strip()
    scheme = scheme_of(target)
    if scheme in SAFE_SCHEMES or (not scheme and not absolute and target):
        if clean := target.translate(ESCAPED_CHARACTERS):
            link.attrs["href"] = clean
        return False
    del link.attrs["href"]
    return scheme_of(written) in HARMFUL_SCHEMES


def _set_source(image: Element, resolve: LinkResolver, *, absolute: bool) -> bool:
    written = image.attr("src") or ""
    if resolve.has_room_for(written):
        return True
    given = resolve(written) if len(written) <= MAX_HREF else ""
    if given.startswith(WEB_PREFIXES) and not NEEDS_ESCAPING.search(given):
        if given != written:
            image.attrs["src"] = given
        return True
    source = given.strip()
    scheme = scheme_of(source)
    if scheme not in ("http", "https") and (scheme or absolute or not source):
        return False
    image.attrs["src"] = source.translate(ESCAPED_CHARACTERS)
    return True


def _drop_permalinks(root: Element) -> None:
    """The sign beside a heading that links to the heading itself; the one that leads back from a note."""
    root.remove(EDIT_LINKS)
    for link in root.select("a")[: 4 * MAX_ELEMENTS]:
        sign = link.text.strip().lower()
        back = sign in BACKLINK_SYMBOLS
        if (sign not in ANCHOR_TEXTS and not back) or link.select_one("img"):
            continue
        own = (sign in PERMALINK_SYMBOLS or back) and (link.attr("href") or "").startswith("#")
        if own or (not back and (link.closest(f"{HEADINGS},dt") is not None or link.matches(".headerlink"))):
            link.decompose()


def _move_into_headings(root: Element) -> None:
    """A link around a whole card becomes a link on the card's heading, or on its first line."""
    if (
        len(root.select("a")) > 4 * MAX_ELEMENTS
    ):  # to find which of them hold what would take as much memory as all pairs do
        return
    for link in root.select("a:has(h1,h2,h3,h4,h5,h6,p,div,li,table,section,article)")[:MAX_ELEMENTS]:
        place = link.select_one(HEADINGS) or link.select_one("p") or link.select_one("div:not(:has(div))")
        href = link.attr("href")
        if place is None or href is None or not place.text.strip():
            continue
        inner = Element("a", {"href": href})
        place.wrap_children(inner)
        link.unwrap()


def _drop_empty(root: Element) -> None:
    """Iterate from the end, so that nested elements are not visited once for each ancestor."""
    for element in reversed(root.select(f"a,li,{HEADINGS},dt,summary,blockquote,strong,em,b,i")[: 4 * MAX_ELEMENTS]):
        if next(element.stripped_strings, None) is None and element.select_one(VISIBLE_WITHOUT_TEXT) is None:
            if element.tag in INLINE and element.text:
                element.insert_before(Text(" "))  # its blank may be all that parts two words
            element.decompose()

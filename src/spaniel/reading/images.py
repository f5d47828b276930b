"""Images: the real one where a script would load it, and none that only decorates (logos, avatars, icons, pixels)."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.hygiene import scrub
from spaniel.reading.lexicon import lexicon
from spaniel.reading.words import parts_of

if TYPE_CHECKING:
    from turbohtml import Document, Node

WAITING = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-url")
SETS = ("data-srcset", "data-lazy-srcset", "srcset")
DECORATING, EMPTY = (frozenset(lexicon("images")[name].split()) for name in ("decorating", "empty"))
NAMED = frozenset(lexicon("images")["named"].split())
EMOJI = frozenset(lexicon("images")["emoji"].split())
SIZE = re.compile(r"([0-9]{1,5})(?:\.0+)?(?:px)?")
DESCRIPTOR = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)[wx],?")
CLOSING = frozenset(".,;:!?)")
SMALL = 48  # pixels each way: icons
THIN = 8  # pixels one way: rules and trackers
LARGE = 200  # pixels each way: a picture, whatever it is called
LONGEST_SIGN, LONGEST_EMOJI = 3, 12  # characters
FEW_WORDS = 5  # of a description that is a name and no sentence
LONGEST = 8000  # characters of a set, an address or a description that are looked at
MOST_SIBLINGS = 32  # before an image in a `<picture>`
MOST_FIGURES = 500  # that are searched for a caption
WRAPPING = frozenset({"picture", "a", "span", "b", "strong", "i", "em", "small"})
AROUND = 4  # of those inside each other
MANY = 8000  # images that are looked at


def take_from_noscript(doc: Document) -> None:
    """An image that sleeps has its address in the `<noscript>` right behind it. Runs before those go."""
    for without in doc.select("noscript")[:MANY]:
        node = without.previous_sibling
        while isinstance(node, Text) and not node.data.strip():
            node = node.previous_sibling
        if not isinstance(node, Element) or node.tag != "img" or not _sleeps(_source(node)):
            continue
        real = without.select_one("img")
        if real is not None and (source := _source(real)):
            node.attrs["src"] = source


def _source(image: Element) -> str:
    return (image.attr("src") or "").strip()


def _sleeps(source: str) -> bool:
    return not source or source.startswith("data:") or _is_empty(source)


def _wake(image: Element) -> str:
    """The address of the image itself, also where a script would have set it."""
    source = _source(image)
    found = _waiting(image) or (_in_a_set(image) if _sleeps(source) else "")
    if found:
        image.attrs["src"] = found
    return found or source


def _waiting(image: Element) -> str:
    for name in WAITING:
        value = image.attr(name)
        if (
            value
            and (value := value.strip())
            and ("/" in value or "." in value)
            and not value.startswith(("data:", "{"))
        ):
            return value
    return ""


def _in_a_set(image: Element) -> str:
    """The largest of the first set that there is, on the image or in the `<picture>` around it."""
    for element in (image, *_sources(image)):
        for name in SETS:
            if found := largest(element.attr(name) or ""):
                return found
    return ""


def _sources(image: Element) -> list[Element]:
    """The `<source>` elements right before it, the first one first."""
    up, node, found = image.parent, image.previous_sibling, []
    for _ in range(MOST_SIBLINGS if isinstance(up, Element) and up.tag == "picture" else 0):
        if isinstance(node, Element) and node.tag == "source":
            found.append(node)
        node = node.previous_sibling if node is not None else None
    return found[::-1]


def largest(candidates: str) -> str:
    """Of `a.png 1x, b.png 2x` the one with the highest number. Addresses may hold commas, but no blanks."""
    best, most, last = "", -1.0, ""
    for token in candidates[:LONGEST].split():
        size = DESCRIPTOR.fullmatch(token)
        if size is None:
            last = token.rstrip(",")
            value = 0.0
        else:
            value = float(size[1])
        if last and not last.startswith("data:") and value > most:
            best, most = last, value
    return best


def set_images(root: Element) -> None:
    """Each has its address, and what is left says something. Emoji become the sign that they show."""
    before, figures = "", MOST_FIGURES
    for image in root.select("img")[:MANY]:
        alt = (image.attr("alt") or "")[:LONGEST]
        if "&" in alt:
            image.attrs["alt"] = alt = scrub(unescape(alt))[0]
        if "  " in alt or alt != alt.strip() or "\n" in alt:
            image.attrs["alt"] = alt = " ".join(alt.split())
        source = _wake(image)
        names = parts_of(image.attr("class") or "")
        if not EMOJI.isdisjoint(names) or not EMOJI.isdisjoint(_path(source).lower().split("/")[:-1]):
            sign = _sign(alt)
            if not sign:
                _close_up(image)
            image.replace_with(Text(sign))
        elif (source and source == before) or _shows_nothing(image, source, size := _size_of(image)):
            image.decompose()
        elif min(size) < LARGE and _is_named_so(source, names, alt):
            figures -= 1
            if figures < 0 or not _has_caption(image):
                image.decompose()
        else:
            before = source
            _set_apart(image)


def _set_apart(image: Element) -> None:
    """A word right behind a picture, or before it, would be glued to its mark."""
    for sibling, end in ((_beside(image, 1), 0), (_beside(image, -1), -1)):
        if type(sibling) is Text and sibling.data[end:][:1].isalnum():
            sibling.data = f" {sibling.data}" if end == 0 else f"{sibling.data} "


def _beside(image: Element, step: int) -> Node | None:
    """The text beside it, or beside what is only around it."""
    node: Node | None = image
    for _ in range(AROUND):
        if not isinstance(node, Element) or (node is not image and node.tag not in WRAPPING):
            return None
        found = node.next_sibling if step > 0 else node.previous_sibling
        if found is not None:
            break
        node = node.parent
    else:
        return None
    for _ in range(AROUND):
        if not isinstance(found, Element) or found.tag not in WRAPPING or not (children := found.children):
            break
        found = children[0 if step > 0 else -1]
    return found


def _sign(alt: str) -> str:
    """An emoji or `:-)`; a name such as `:wave:` is none. Scrubbed before it is written, as all text."""
    sign = scrub(alt.strip())[0]
    return sign if len(sign) <= LONGEST_SIGN or (not sign.isascii() and len(sign) <= LONGEST_EMOJI) else ""


def _close_up(image: Element) -> None:
    """The blank before an image that goes, where a sign follows that has none before it."""
    before, after = image.previous_sibling, image.next_sibling
    if isinstance(before, Text) and isinstance(after, Text) and after.data[:1] in CLOSING:
        before.data = before.data.rstrip()


def _shows_nothing(image: Element, source: str, size: tuple[int, int]) -> bool:
    """By its role, its file, or a size in which nothing can be seen but a sign."""
    if image.attr("role") in ("presentation", "none") or _is_empty(source):
        return True
    width, height = size
    small = 0 <= width <= SMALL and 0 <= height <= SMALL
    return small or 0 <= width <= THIN or 0 <= height <= THIN


def _is_named_so(source: str, names: list[str], alt: str) -> bool:
    if not DECORATING.isdisjoint(names) or not DECORATING.isdisjoint(parts_of(_path(source))):
        return True
    words = parts_of(alt)
    return len(words) <= FEW_WORDS and not NAMED.isdisjoint(words)


def _has_caption(image: Element) -> bool:
    """Then it is what the page is about: a logo that somebody writes of."""
    figure = image.closest("figure")
    return figure is not None and figure.select_one("figcaption") is not None


def _path(source: str) -> str:
    """The folder and the name of the file."""
    path = source[:LONGEST].partition("?")[0].partition("#")[0]
    return "/".join(path.partition("://")[2].split("/")[1:][-2:]) if "://" in path else "/".join(path.split("/")[-2:])


def _is_empty(source: str) -> bool:
    """Whether it is a picture of nothing that keeps the place of another."""
    name = source[:LONGEST].partition("?")[0].rpartition("/")[2].lower()
    stem = name.rpartition(".")[0] or name
    return stem in EMPTY


def _size_of(image: Element) -> tuple[int, int]:
    return _pixels(image.attr("width")), _pixels(image.attr("height"))


def _pixels(written: str | None) -> int:
    """As the page writes it, else less than nothing."""
    found = SIZE.fullmatch(written.strip()) if written else None
    return int(found[1]) if found else -1

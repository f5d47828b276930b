"""Paywalls and registration walls that a page shows: which kind was found, and where (FG-47).

The HTML of the page is searched, not the extracted text, because a wall is outside the article. Boxes and words are
data (`data/walls.toml`). A wall that the page contains but does not show does not count: most sites with a meter send
the wall with every page, hidden. Marks of other pages that are not the page itself (challenges, logins) are in
`data/page_types.toml`."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from spaniel.reading.data_files import data_file
from spaniel.reading.html.parse import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turbohtml import Document, Element


OVERLAY, BOX, BREAK_OFF = "overlay", "box", "break_off"
WALLS, RESERVED, OFFERS, SELLS = "walls", "reserved", "offers", "sells"  # what a box may say, in `data/walls.toml`
BOX_WORDS = 400  # a larger box is not a wall: it holds the article
FLOW_WORDS = 120  # of a subscribe box in the flow of the text
PARAGRAPH = 15  # words that make a paragraph part of an article, not a caption or a legal line
LONG_PARAGRAPH, PARAGRAPH_TAIL = 300, 250  # characters of a paragraph, and of the end of it
REACH = 500  # bytes around a stem in which a pattern may match
MAX_MATCHES = 30  # words of a language that are looked at
MAX_RULES, MAX_CSS = 400, 200_000  # rules and characters of the page's own style sheets
MAX_WALL_TEXT = 160  # characters of the words that are recorded
INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
    ]
)
ARTICLE = "article, main, [role=main i], [itemprop~=articleBody i]"
NOT_TEXT = "script, style, nav, footer, head"
STYLES = "style:not([media]), style[media=screen i], style[media=all i]"
_BLOCK_RULE = re.compile(r"@[^{};]++\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}|/\*.*?\*/", re.DOTALL)  # other media, comments
_RULE = re.compile(r"([^{}]++)\{([^{}]*+)\}")
_SHOWS = re.compile(r"(?:^|[;\s])(?:display|visibility)\s*:\s*([a-z-]+)", re.IGNORECASE)
_NAME = re.compile(r"[\w-]{1,60}")
_WIDE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


class Wall(NamedTuple):
    """A wall that the page shows."""

    sign: str  # OVERLAY, BOX or BREAK_OFF
    where: str  # the element, as a selector
    text: str  # its words


class _Language:
    """What boxes say in one language. Its patterns are compiled when a page has one of its stems: all languages
    together take longer to compile than a page takes to read."""

    def __init__(self, words: Mapping[str, list[str]]) -> None:
        # In UTF-8: bytes are searched several times faster than a text with typographic quotes.
        self.stems = tuple(stem.encode() for stem in words["stems"])
        self._words = words
        self._patterns: dict[str, re.Pattern[str]] = {}

    def pattern(self, kind: str) -> re.Pattern[str]:
        found = self._patterns.get(kind)
        if found is None:
            either = "|".join(f"(?:{pattern})" for pattern in self._words.get(kind, ()))
            found = self._patterns[kind] = re.compile(either or "(?!)")
        return found


class _WallWords(NamedTuple):
    """The patterns of the languages that a text may be in, and where the stems of each are."""

    page: bytes
    languages: tuple[tuple[_Language, list[int]], ...]

    def found(self, kinds: tuple[str, ...]) -> bool:
        """Whether one of the patterns matches, tried only near the stems: most pages have few of them."""
        return any(
            language.pattern(kind).search(near)
            for language, places in self.languages
            for near in _text_near(places, self.page)
            for kind in kinds
        )

    def all(self, kind: str, text: str) -> Iterator[re.Match[str]]:
        for language, _ in self.languages:
            yield from islice(language.pattern(kind).finditer(text), MAX_MATCHES)


def has_wall_words(root: Element, *, free: bool) -> bool:
    """Whether a page has the words of a wall anywhere, shown or hidden. Most pages do not, and need no closer look."""
    text = _normalized(" ".join([text if len(text) < LONG_PARAGRAPH else _end_of(text) for text in root.strings]))
    return _words_for(text).found(_kinds(free=free))


def _end_of(text: str) -> str:
    """Of a long paragraph the end, where a wall would begin; of a script or a style sheet nothing."""
    return "" if "{" in text else text[-PARAGRAPH_TAIL:]


def _kinds(*, free: bool) -> tuple[str, ...]:
    return (WALLS, RESERVED, OFFERS) if free else (WALLS, RESERVED, OFFERS, SELLS)


def find_wall(body: bytes, charset: str | None = None, *, free: bool = True) -> Wall | None:
    """The wall that a page shows; None where it shows none. `free`: what its linked data says."""
    tree = parse_html(body, charset).tree
    css = "\n".join(style.text for style in tree.select(STYLES))[:MAX_CSS]
    _remove_hidden(tree)
    root = tree.select_one("body")
    if root is None:
        return None
    text = _normalized(" ".join(root.strings))
    words, kinds = _words_for(text), _kinds(free=free)
    if not words.found(kinds):
        return None
    flow = _VisibleText(root, css)
    return next(
        (wall for kind in kinds for said in flow.matches(words, kind) if (wall := _wall_at(flow, said, kind))), None
    )


def _wall_at(flow: _VisibleText, said: _Match, kind: str) -> Wall | None:
    """The wall that the words stand in, or None where they stand in none.

    Over the page, and in a box that is named as a wall, most words count. Those for some readers ("for subscribers
    only") may be about a button in another modal, and those that sell need the linked data beside them.
    """
    box, sign = flow.box_of(said)
    doubtful = kind == RESERVED or (kind == OFFERS and not _is_open(box)) or _is_closable(box)
    if sign == OVERLAY and doubtful and not _is_named(box):
        return None
    if kind in (OFFERS, SELLS) and _matches(box, data_file("walls")["boxes"]["notices"]):
        return None
    if sign == "" and kind in (WALLS, RESERVED) and flow.breaks_off(said):
        box, sign = flow.small_box_of(said) or box, BREAK_OFF
    if kind == SELLS and (sign != BOX or not flow.breaks_off(said)):
        return None
    if sign == "" or not flow.shows(box):
        return None
    return Wall(sign, _selector_of(box), said.text[:MAX_WALL_TEXT])


class _Match(NamedTuple):
    """Words that were found: the blocks in which they begin and end."""

    text: str
    first: int
    last: int


class _VisibleText:
    """The text of a page, block by block, as far as it is shown."""

    def __init__(self, root: Element, css: str) -> None:
        self._css = css
        self._elements: list[Element] = []
        self._texts: list[str] = []
        self._starts: list[int] = []
        self._read(root)
        self._text = " ".join(self._texts)

    def _read(self, root: Element) -> None:
        element, at = root, 0
        parts: list[str] = []
        for node in root.descendants:
            if getattr(node, "tag", None) is not None or not (text := node.text).strip():
                continue
            block = cast("Element", node.parent)
            while getattr(block, "tag", None) in INLINE:
                block = cast("Element", block.parent)
            if block is not element:
                at = self._add(element, parts, at)
                element, parts = block, []
            parts.append(text)
        self._add(element, parts, at)

    def _add(self, element: Element, parts: list[str], at: int) -> int:
        text = _normalized(" ".join(parts))
        if not text:
            return at
        self._elements.append(element)
        self._texts.append(text)
        self._starts.append(at)
        return at + len(text) + 1

    def matches(self, words: _WallWords, kind: str) -> Iterator[_Match]:
        for found in words.all(kind, self._text):
            first = bisect_right(self._starts, found.start()) - 1
            last = bisect_right(self._starts, found.end() - 1) - 1
            yield _Match(found[0], first, last)

    def box_of(self, said: _Match) -> tuple[Element, str]:
        """The modal or the named box around the words; no sign where there is none."""
        boxes = data_file("walls")["boxes"]
        named: Element | None = None
        for element in self._around(said, BOX_WORDS):
            if element.matches(boxes["modal"]):
                return element, OVERLAY if named is None else BOX
            if named is None and element.matches(boxes["named"]):
                named = element
        return (named, BOX) if named is not None else (self._elements[said.first], "")

    def small_box_of(self, said: _Match) -> Element | None:
        """The subscribe box in the flow of the text; None where the words stand in two places."""
        found = None
        for element in self._around(said, FLOW_WORDS):
            if element.tag in ("article", "main"):
                break
            found = element
        return found

    def _around(self, said: _Match, most_words: int) -> Iterator[Element]:
        """The elements that hold the words and not much more, from the inside."""
        last = self._elements[said.last]
        for element in _upwards(self._elements[said.first]):
            if getattr(element, "tag", None) in (None, "body", "html") or _word_count(element.text) > most_words:
                return
            if said.last == said.first or _is_within(last, element):
                yield element

    def breaks_off(self, said: _Match) -> bool:
        """Whether there is text before the words and none after them, in the article or else the page."""
        box = self.small_box_of(said)
        if box is None:
            return False
        article = box.closest(ARTICLE)
        if box.closest("header, footer, nav, li") is not None:
            return False
        before = self._prose(0, said.first, article)
        return before and not self._prose(said.last + 1, len(self._texts), article, box)

    def _prose(self, start: int, end: int, article: Element | None, box: Element | None = None) -> bool:
        for element, text in zip(self._elements[start:end], self._texts[start:end], strict=True):
            if not _is_prose(text) or (box is not None and _is_within(element, box)):
                continue
            if article is None or _is_within(element, article):
                return True
        return False

    def shows(self, box: Element) -> bool:
        """Whether no rule of the page's own style sheets hides the box or what it is in; the last rule counts."""
        rules = self._rules
        for element in _upwards(box):
            if getattr(element, "tag", None) in (None, "html", "body"):
                break
            shown = True
            for selector, shows in rules:
                if shows is not shown and _matches(element, selector):
                    shown = shows
            if not shown:
                return False
        return True

    @cached_property
    def _rules(self) -> list[tuple[str, bool]]:
        return _style_rules(self._css)


def _is_prose(text: str) -> bool:
    return _word_count(text) >= PARAGRAPH


def _is_named(box: Element) -> bool:
    return box.matches(data_file("walls")["boxes"]["named"])


def _is_closable(box: Element) -> bool:
    """Whether a modal can be closed, and does not say that it is open: sites send such ones with every page."""
    boxes = data_file("walls")["boxes"]
    modal = box.closest(boxes["closing"])
    return modal is not None or (not _is_open(box) and box.select_one(boxes["closes"]) is not None)


def _is_open(box: Element) -> bool:
    """Whether a modal says of itself that it is open, and is not a form in which readers log in."""
    return box.matches(data_file("walls")["boxes"]["open"]) and box.select_one("input[type=password i]") is None


def _word_count(text: str) -> int:
    """Words; two characters make one where words are not set apart."""
    return len(text.split()) + len(_WIDE.findall(text)) // 2


def _upwards(element: Element) -> Iterator[Element]:
    """An element and what it is in, up to the body."""
    yield element
    yield from cast("Iterator[Element]", element.ancestors)


def _is_within(element: Element, box: Element) -> bool:
    return element is box or any(outer is box for outer in element.ancestors)


def _matches(element: Element, selector: str) -> bool:
    try:
        return element.matches(selector)
    except ValueError:  # SelectorSyntaxError
        return False


def _style_rules(css: str) -> list[tuple[str, bool]]:
    """The selectors of rules that hide (False) or show (True) elements, in their order; not those for other media."""
    found: list[tuple[str, bool]] = []
    for selectors, declarations in _RULE.findall(_BLOCK_RULE.sub("", css)):
        if values := _SHOWS.findall(declarations):
            shows = values[-1].lower() not in ("none", "hidden", "collapse")
            found += [(one.strip(), shows) for one in selectors.split(",") if ":" not in one and len(one) < 200]
    return found[:MAX_RULES] if any(not shows for _, shows in found) else []


def _remove_hidden(tree: Document) -> None:
    """Take out of the tree what the page holds without showing it."""
    data = data_file("walls")["hidden"]
    closed = tree.select_one("dialog:not([open])") is not None
    opens = closed and any("showModal(" in script.text for script in tree.select("script:not([src])"))
    style = _hiding_style()
    names = ", ".join(f".{name}" for name in data["classes"])
    hidden = [
        *tree.select(f"{data['selector']}, {NOT_TEXT}, {names}"),
        *(element for element in tree.select("[style]") if style.search(element.attr("style") or "")),
    ]
    for element in hidden:
        if element.tag in ("html", "body") or (opens and element.tag == "dialog" and element.attr("hidden") is None):
            continue
        if element.parent is not None:
            element.decompose()


def _selector_of(element: Element) -> str:
    """An element as a short selector: `div#id.class`."""
    name = _NAME.findall(element.attr("id") or "")[:1]
    classes = _NAME.findall(element.attr("class") or "")[:3]
    return element.tag + "".join(f"#{one}" for one in name) + "".join(f".{one}" for one in classes)


def _normalized(text: str) -> str:
    return " ".join(text.split()).lower().replace("’", "'")


def _text_near(places: list[int], page: bytes) -> Iterator[str]:
    """The text around each place, further than any pattern reaches."""
    start = end = -1
    for place in places:
        if end < 0 or place - REACH > end:
            if end >= 0:
                yield page[start:end].decode(errors="ignore")
            start = max(0, place - REACH)
        end = place + REACH
    if end >= 0:
        yield page[start:end].decode(errors="ignore")


def _words_for(text: str) -> _WallWords:
    page = text.encode("utf-8", "replace")
    stems, of_stem = _stems()
    places: dict[int, list[int]] = {}
    for place, stem in stem_places(page, stems):
        for language in of_stem[stem]:
            places.setdefault(language, []).append(place)
    return _WallWords(page, tuple((_languages()[language], places[language]) for language in sorted(places)))


def python_stem_places(page: bytes, stems: tuple[bytes, ...]) -> list[tuple[int, int]]:
    """Where each of the stems is, and its number; in the order of the page."""
    found = []
    for number, stem in enumerate(stems):
        place = page.find(stem)
        while place >= 0:
            found.append((place, number))
            place = page.find(stem, place + 1)
    return sorted(found)


try:
    from spaniel.reading.judge.native import stem_places
except ImportError:  # not built here
    stem_places = python_stem_places


@cache
def _stems() -> tuple[tuple[bytes, ...], tuple[list[int], ...]]:
    """All stems, and the languages that have each."""
    found: dict[bytes, list[int]] = {}
    for number, language in enumerate(_languages()):
        for stem in language.stems:
            found.setdefault(stem, []).append(number)
    return tuple(found), tuple(found.values())


@cache
def _hiding_style() -> re.Pattern[str]:
    return re.compile(data_file("walls")["hidden"]["style"], re.IGNORECASE)


@cache
def _languages() -> tuple[_Language, ...]:
    return tuple(_Language(words) for words in data_file("walls")["language"])


MAX_MARKS_BYTES = 256 << 10  # bytes of the beginning


def find_marks(body: bytes, charset: str | None = None) -> frozenset[str]:
    """The names of the groups of which the page has an element."""
    tree = parse_html(body[:MAX_MARKS_BYTES], charset).tree
    groups: dict[str, str] = data_file("page_types")["marks"]
    return frozenset(name for name, selectors in groups.items() if tree.select_one(selectors) is not None)

"""Inline markup: no words glued together, no font icons, no repeated headings, emphasis as marks.

If one emphasised text of a page is not ASCII, the writer does not trust its marks and writes tags for all of them: they
are turned into marks here."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from unicodedata import category

from turbohtml import Element, Node, Text

from spaniel.reading.text.characters import ICON_CHARACTERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


EMPHASIS = frozenset({"b", "strong", "i", "em"})
ONE_LINE = "h1,h2,h3,h4,h5,h6,td,th"
HEADING_WRAPPERS = frozenset({"a", "span"})  # between a heading and what is bold in it
MAX_HEADING_TEXT = 2_000_000  # characters of headings, which may stand inside each other
MAX_SPLIT = 2000  # elements that may be made: each takes kilobytes
MARKS = {"strong": "**", "em": "*", "del": "~~", "s": "~~"}
TAG = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|\\.|<(?P<end>/?)(?P<name>strong|em|del|s)>"
    r"|(?P<shout>!)(?=(?:</?[a-z]{1,6}>)+\[)"  # without the tags between them they would begin an image
)
CLEAR_BORDERS = frozenset(("", " ", *".,;:!?()[]|\"'"))  # beside a mark, outside: they are none
UNSAFE_BORDERS = frozenset(
    "*~_<>&;"
)  # beside a mark they could be taken for a part of it, or are a tag or a blank that may go


def unbold_headings(headings: list[Element]) -> None:
    """A heading that is bold all over is a heading: only a word of it stands out."""
    left = MAX_HEADING_TEXT
    for heading in headings:
        parts = [part for child in heading.children for part in _bold(child)]
        if not parts or left < 0:
            continue
        text = heading.text
        left -= len(text)
        if _letters(text) == sum(_letters(part.text) for part in parts):
            for part in parts:
                part.unwrap()


def _bold(node: Node) -> list[Element]:
    """What is bold of a heading's child: itself, or inside a link."""
    inside = node.children if isinstance(node, Element) and node.tag in HEADING_WRAPPERS else [node]
    return [one for one in inside if isinstance(one, Element) and one.tag in ("strong", "b")]


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def split_emphasis(breaks: list[Element]) -> None:
    """Emphasis over several lines begins anew on each: the writer would make one line of them."""
    around = [one.parent for one in breaks]
    broken = [element for element in around if isinstance(element, Element) and element.tag in EMPHASIS]
    for element in dict.fromkeys(broken) if len(broken) <= MAX_SPLIT else ():
        if element.closest(ONE_LINE) is None:
            _split_at_breaks(element)


def _split_at_breaks(element: Element) -> None:
    last: Node = element  # of what was moved out
    part: Element | None = element
    for child in list(element.children):
        if isinstance(child, Element) and child.tag == "br":
            part = None
        elif part is None and (not isinstance(child, Text) or child.data.strip()):
            part = Element(element.tag)
            last.insert_after(part)
            last = part
        if part is None:
            last.insert_after(child)
            last = child
        elif part is not element:
            part.append(child)


def mark_emphasis(line: str) -> str:
    """Only what begins and ends on this line. Emphasis inside emphasis is left out where their marks would touch."""
    marks: dict[int, str] = {}  # where a tag stands -> what stands there instead
    waiting: list[re.Match[str]] = []
    for tag in TAG.finditer(line):
        if tag["name"] is None:
            continue
        if not tag["end"]:
            waiting.append(tag)
        elif waiting and waiting[-1]["name"] == tag["name"]:
            begin = waiting.pop()
            if _marks_work(line, begin, tag, alone=not waiting):
                marks[begin.start()] = marks[tag.start()] = MARKS[tag["name"]]
        else:
            waiting.clear()
    return TAG.sub(lambda tag: marks.get(tag.start(), "") if tag["name"] else "\\" * bool(tag["shout"]) + tag[0], line)


def _marks_work(line: str, begin: re.Match[str], end: re.Match[str], *, alone: bool) -> bool:
    """Whether marks in the place of the tags open and close emphasis (CommonMark 0.31, 6.2: flanking)."""
    first, last = line[begin.end() : begin.end() + 1], line[end.start() - 1 : end.start()]
    if (
        begin.end() >= end.start()
        or first.isspace()
        or last.isspace()
        or first in UNSAFE_BORDERS
        or last in UNSAFE_BORDERS
    ):
        return False
    before, after = line[max(0, begin.start() - 1) : begin.start()], line[end.end() : end.end() + 1]
    if not alone or before in UNSAFE_BORDERS or after in UNSAFE_BORDERS:
        return (
            before in CLEAR_BORDERS
            and after in CLEAR_BORDERS
            and not _is_punctuation(first)
            and not _is_punctuation(last)
        )
    return (before in CLEAR_BORDERS or not _is_punctuation(first)) and (
        after in CLEAR_BORDERS or not _is_punctuation(last)
    )


def _is_punctuation(character: str) -> bool:
    return category(character)[0] in "PS"


HEADINGS = "h1,h2,h3,h4,h5,h6"
LEVELS = frozenset(HEADINGS.split(","))
# The writer takes them for words in a line; a browser gives each a line of its own.
LINE_ELEMENTS = "center,fieldset,legend,option,optgroup,hgroup,search"
NEIGHBOURS = "a+a,label+label,span[class]+span[class],span+time,time+span,a+time,time+a,a+span[class],span[class]+a"
HEADING_PARTS = frozenset({"span", "a", "small"})
SENTENCE_END = frozenset(".!?:;)…»”’")  # of a sentence: what follows it right away is another
# For screen readers; not visible.
SCREEN_READER_ONLY = (
    "span.sr-only,span.visually-hidden,span.visuallyhidden,span.screen-reader-text,span.screen-reader-only,span.a-offscreen,"
    "span.clipped,span.show-for-sr"
)
MAX_SCREEN_READER_TEXT = 80  # characters
# At the beginning or the end of other text, with a blank between them.
EDGE_ICONS = re.compile("^ \\s*[\ue000-\uf8ff]{1,4}(?=\\s)|(?<=\\s)[\ue000-\uf8ff]{1,4}\\s* $")
MAX_ICON_TEXT = 2000  # characters of a text that has no icons at its ends
MAX_ICONS = 4  # icons on end; a longer text is in a script of its own
MAX_TEXTS = 8  # around what is only heard
MAX_EDGE_DEPTH = 12  # elements around the text at an end
MAX_NEIGHBOURS = 8000  # elements of one sort that are looked at


def separate_elements(root: Element, *, pictures: bool) -> None:
    """`pictures`: whether any text has signs of icon fonts."""
    for block in root.select(LINE_ELEMENTS):
        block.tag = "div"
    if pictures:
        _drop_icons(root)
    _drop_screen_reader_text(root)
    _separate_neighbours(root)
    headings = root.select(HEADINGS)[: 6 * MAX_NEIGHBOURS]
    _separate_in_headings(headings)
    unbold_headings(headings)
    _drop_repeated_headings(root, headings)


def _drop_icons(root: Element) -> None:
    """Remove text that consists of icon characters only: it means nothing without its font. Code keeps it."""
    for node in list(root.descendants):
        if (
            type(node) is Text
            and not node.data.isascii()
            and ICON_CHARACTERS.search(node.data)
            and not _is_code(node.parent)
        ):
            text = EDGE_ICONS.sub(" ", f" {node.data} ")[1:-1] if len(node.data) <= MAX_ICON_TEXT else node.data
            if not ICON_CHARACTERS.sub("", text).strip() and len(text.strip()) <= MAX_ICONS:
                text = " " * (text != text.strip() or _separates_words(node))
            node.data = text


def _drop_screen_reader_text(root: Element) -> None:
    """`(opens in a new tab)`, `Regular price`: beside what is seen. Alone, or with a number, it may be all there is."""
    for heard in root.select(SCREEN_READER_ONLY)[:MAX_NEIGHBOURS]:
        up, text = heard.parent, " ".join(islice(heard.stripped_strings, MAX_TEXTS))
        if (
            not isinstance(up, Element)
            or len(text) > MAX_SCREEN_READER_TEXT
            or heard.select_one("img,x-math") is not None
        ):
            continue
        alone = all(part in text for part in islice(up.stripped_strings, MAX_TEXTS))
        seen = (_edge(heard.previous_sibling, -1).strip(), _edge(heard.next_sibling, 0).strip())
        if text in seen or not (alone or any(map(str.isdigit, text))):
            heard.text = " "
        else:
            heard.insert_before(Text(" "))
            heard.insert_after(Text(" "))


def _separates_words(icon: Text) -> bool:
    """Whether nothing else stands between two words."""
    up = icon.parent
    alone = icon.previous_sibling is None and icon.next_sibling is None
    place = up if alone and up is not None else icon
    before, after = _edge(place.previous_sibling, -1), _edge(place.next_sibling, 0)
    return before[-1:].isalnum() and after[:1].isalnum()


def _is_code(element: object) -> bool:
    return isinstance(element, Element) and element.closest("pre,code,x-math") is not None


def _separate_neighbours(root: Element) -> None:
    """Two links, a name and a date: only a style sheet keeps them apart, so a space does."""
    for second in root.select(NEIGHBOURS)[:MAX_NEIGHBOURS]:
        first = second.previous_sibling
        if not isinstance(first, Element) or not (after := _edge(second, 0))[:1].isalnum():
            continue
        before = _edge(first, -1)
        if not (before[-1:].isalnum() or _ends(before)) or _is_code(second.parent):
            continue
        tags = {first.tag, second.tag}
        if "span" not in tags or "time" in tags or _are_two_words(first, second, before, after):
            second.insert_before(Text(" "))


def _separate_in_headings(headings: list[Element]) -> None:
    """A title of several words and what stands below or beside it, in an element of its own that begins anew."""
    for heading in headings:
        if len(children := heading.children) > 1:
            for first, second in pairwise(children):
                if type(first) is Text and type(second) is Element and second.tag in HEADING_PARTS:
                    before, after = first.data, _edge(second, 0)
                    if before[-1:].islower() and " " in before.strip() and after[:1].isupper() and len(after) > 1:
                        second.insert_before(Text(" "))


def _ends(text: str) -> bool:
    """Whether a sentence ends with it; `json.` is none."""
    return text[-1:] in SENTENCE_END and " " in text.strip()


def _are_two_words(first: Element, second: Element, before: str, after: str) -> bool:
    """Parts of one word are spans, too: those of two words have other classes, and the second a capital or a digit.

    Where they look alike, each must be of several words itself.
    """
    if min(len(before), len(after)) < 2:
        return False
    if _is_link(first, -1) and _is_link(second, 0):
        return True
    if first.attr("class") == second.attr("class") and not (" " in before.strip() and " " in after.strip()):
        return False
    begins = after[0].isupper() and not before[-1].isupper()
    return begins or before[-1].isdigit() != after[0].isdigit()


def _is_link(element: Element, end: int) -> bool:
    """Whether it begins or ends with a link."""
    child = children[end] if (children := element.children) else None
    return isinstance(child, Element) and child.tag == "a"


def _edge(node: object, end: int) -> str:
    """The text at one end: by the children there, because the whole text of each would be all pairs of a deep tree.

    Comments and empty elements stand between nothing.
    """
    for _ in range(MAX_EDGE_DEPTH):
        if type(node) is Text:
            return node.data
        if not isinstance(node, Element) or not (children := node.children):
            return ""
        node = children[end]
        if type(node) is not Text and not (type(node) is Element and node.children):
            some = children[:MAX_ICONS] if end == 0 else children[: -MAX_ICONS - 1 : -1]
            node = next((one for one in some if type(one) is Text or (type(one) is Element and one.children)), None)
    return ""


def _drop_repeated_headings(root: Element, headings: list[Element]) -> None:
    """A title that stands twice with nothing between, once for phones or once as a link, is one title."""
    texts = [text for heading in headings if (text := _heading_key(heading))]
    if len(texts) == len(set(texts)):
        return
    for heading in list(_repeated(root)):
        heading.decompose()


def _repeated(root: Element) -> Iterator[Element]:
    last, inside = "", ""
    for node in root.descendants:
        if isinstance(node, Element):
            if node.tag in LEVELS:
                text = _heading_key(node)
                if text and text == last:
                    yield node
                last = inside = text
            elif node.tag in ("img", "x-math"):
                last = ""
        elif type(node) is Text and last and (text := "".join(node.data.split()).casefold()):
            # The texts of a heading come right after it; whatever comes then stands between two headings.
            inside = inside.removeprefix(text) if inside.startswith(text) else "\0"
            if inside == "\0":
                last = ""


def _heading_key(heading: Element) -> str:
    return "".join(heading.text.split()).casefold()

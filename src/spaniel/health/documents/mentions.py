"""Links in a document and their places; finds URLs in plain text."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.links import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_END = re.compile(r"\r\n|\n|\r")


class Mention(NamedTuple):
    """A link at one place of a document. `quoting.decode(text[start:end], syntax)` gives `url`."""

    url: str  # escapes and character references resolved; a relative URL stays relative
    place: Place
    start: int
    end: int
    syntax: str  # how it is written: a name of `quoting.SYNTAXES`
    base: str = ""  # the document's own base URL (<base>)


class LinkSpan(NamedTuple):
    """A link by its offsets in a text; the fields are those of `Mention`."""

    url: str
    start: int
    end: int
    syntax: str
    base: str = ""


class LineIndex:
    """Converts an offset to a line and a column. A line ends with LF, CRLF or CR, as in editors."""

    def __init__(self, text: str) -> None:
        self._starts = array("I", (0,))  # takes a quarter of the memory of a list
        self._starts.extend(found.end() for found in LINE_END.finditer(text))

    def place(self, offset: int, file: str = "") -> Place:
        line = bisect_right(self._starts, offset)
        return Place(file, line, offset - self._starts[line - 1] + 1)

    def offset(self, line: int, column: int) -> int:
        """Lines are counted from 1, columns from 0."""
        return self._starts[line - 1] + column


class MappedText:
    """Text assembled from pieces of a source; maps offsets in the text to offsets in the source."""

    def __init__(self, pieces: Iterable[tuple[str, int, int]], between: str = "") -> None:
        """Each piece is its text and its start and end in the source. Only numbers are stored for each piece."""
        self._begins, self._starts, self._ends = array("I"), array("I"), array("I")
        self._between = len(between)
        text = StringIO()
        for piece, start, end in pieces:
            if self._begins:
                text.write(between)
            self._begins.append(text.tell())
            self._starts.append(start)
            self._ends.append(end)
            text.write(piece)
        self.text = text.getvalue()

    def source_start(self, offset: int) -> int:
        number = bisect_right(self._begins, offset) - 1
        return self._starts[number] + offset - self._begins[number]

    def source_end(self, offset: int) -> int:
        """Return where the text before `offset` ends in the source. `offset` is not 0."""
        number = bisect_right(self._begins, offset - 1) - 1
        is_last = number == len(self._begins) - 1
        piece_end = len(self.text) if is_last else self._begins[number + 1] - self._between
        return self._ends[number] if offset == piece_end else self._starts[number] + offset - self._begins[number]

    def in_source(self, link: LinkSpan) -> LinkSpan:
        """Return the link with its offsets in the source."""
        return link._replace(start=self.source_start(link.start), end=self.source_end(link.end))


def shifted(links: Iterable[LinkSpan], by: int) -> Iterator[LinkSpan]:
    """Move links by a number of characters, as for a part of a text."""
    for link in links:
        yield link._replace(start=link.start + by, end=link.end + by) if by else link


URL_START = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:https?|ftp)://(?=[\w\[%])|(?<![^\s*_~(])www\.(?=\w[\w-]*+\.\w))", re.IGNORECASE
)
# Ends at white space, Markdown and HTML delimiters, quotes, and punctuation of other scripts. Anything longer is data.
REST = re.compile(r"[^\s<>`\"\x00-\x1f\x7f“”«»„。，、；：！？（）「」『』【】《》]{0,16384}+")
# Fast path for most URLs: the last character is a letter, digit or slash, so no punctuation has to be removed.
PLAIN = re.compile(r"[A-Za-z0-9/._~%=&?+#:,;@!$-]{0,500}[A-Za-z0-9/](?=\s|\Z)")
BRACKET = re.compile(r"[()\[\]{}]")
PAIRS = {")": "(", "]": "[", "}": "{"}
TRAILING = frozenset("?!.,:;*_~'\\|")
NEXT_CELL = re.compile(r"\|(?=https?://)", re.IGNORECASE)
ENTITY = re.compile(r"&[A-Za-z0-9]{1,32};\Z")


def text_links(text: str) -> Iterator[LinkSpan]:
    """Yield the URLs in plain text."""
    return scan(text, 0, len(text))


def scan(text: str, start: int, end: int) -> Iterator[LinkSpan]:
    """Yield the URLs in a part of a plain text."""
    while found := URL_START.search(text, start, end):
        stop = url_end(text, found, end)
        if stop is None:
            start = found.end()
            continue
        for cell_start, cell_end in _cells(text, found.start(), stop):
            yield bare_link(text, cell_start, _before_label(text, cell_start, cell_end))
        start = stop


def _cells(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split URLs that are separated by a bar only, as in a table."""
    for bar in NEXT_CELL.finditer(text, start, stop):
        yield start, bar.start()
        start = bar.end()
    yield start, stop


def _before_label(text: str, start: int, stop: int) -> int:
    """Exclude the link text of AsciiDoc: `https://a.example/x[text]`."""
    at = text.rfind("[", start, stop)
    if at < 0 or text[at - 1] in "/?&=":
        return stop
    return at if text.find("]", at, stop) in (-1, stop - 1) else stop


def bare_link(text: str, start: int, end: int) -> LinkSpan:
    written = text[start:end]
    is_www = written[:4].lower() == "www."
    return LinkSpan(f"http://{written}" if is_www else written, start, end, "www" if is_www else "bare")


def url_end(text: str, found: re.Match[str], limit: int) -> int | None:
    """Return where the URL that starts with a match of `URL_START` ends; None if nothing follows its scheme."""
    if plain := PLAIN.match(text, found.end(), limit):
        return plain.end()
    rest = REST.match(text, found.end(), limit)
    stop = rest.end() if rest else found.end()
    stop = _before_unopened(text, found.start(), stop)
    stop = _without_punctuation(text, found.end(), stop)
    return stop if stop > found.end() else None


def _before_unopened(text: str, start: int, stop: int) -> int:
    """End the URL before a closing bracket that was opened before the URL."""
    opened = dict.fromkeys(PAIRS.values(), 0)
    for found in BRACKET.finditer(text, start, stop):
        bracket = found[0]
        if bracket in opened:
            opened[bracket] += 1
        elif opened[PAIRS[bracket]]:
            opened[PAIRS[bracket]] -= 1
        else:
            return found.start()
    return stop


def _without_punctuation(text: str, start: int, stop: int) -> int:
    while stop > start:
        last = text[stop - 1]
        if last == ";" and (entity := ENTITY.search(text, max(start, stop - 34), stop)):
            stop = entity.start()
        elif last in TRAILING or (last in "([{") or (last > "\x7f" and unicodedata.category(last)[0] == "P"):
            stop -= 1
        else:
            break
    return stop

"""A mention of a link in a document; and addresses that are written without markup."""

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
    """One link in one place. `text[start:end]` is its target as it is written, `quoting.decode` of that is `url`."""

    url: str  # as it is meant, escapes and references resolved; relative ones as they are
    place: Place
    start: int
    end: int
    syntax: str  # how it is written: a name of `quoting`
    base: str = ""  # what relative ones are relative to, where the document says so itself (<base>)


class Found(NamedTuple):
    """A target in a text whose lines nobody has counted."""

    url: str
    start: int
    end: int
    syntax: str
    base: str = ""


class Lines:
    """Which line and column an offset is in. Lines end as every editor has it: LF, CRLF or CR."""

    def __init__(self, text: str) -> None:
        self._starts = array("I", (0,))  # a list of numbers would take four times as much
        self._starts.extend(found.end() for found in LINE_END.finditer(text))

    def place(self, offset: int, file: str = "") -> Place:
        line = bisect_right(self._starts, offset)
        return Place(file, line, offset - self._starts[line - 1] + 1)


class Stitched:
    """Text put together from pieces of a source: what was between them, or escaped, is known again by its offset."""

    def __init__(self, pieces: Iterable[tuple[str, int, int]], between: str = "") -> None:
        """Each piece as it reads, and where it begins and ends in the source. Of a long text only numbers are kept."""
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

    def source(self, offset: int) -> int:
        """Where a character of the text stands in the source."""
        number = bisect_right(self._begins, offset) - 1
        return self._starts[number] + offset - self._begins[number]

    def source_end(self, offset: int) -> int:
        """Where what ends before this offset ends in the source; at least one character precedes it."""
        number = bisect_right(self._begins, offset - 1) - 1
        is_last = number == len(self._begins) - 1
        piece_end = len(self.text) if is_last else self._begins[number + 1] - self._between
        return self._ends[number] if offset == piece_end else self._starts[number] + offset - self._begins[number]


BEGINS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:https?|ftp)://(?=[\w\[%])|(?<![^\s*_~(])www\.(?=\w[\w-]*+\.\w))", re.IGNORECASE
)
# Up to white space, signs of Markdown and HTML, quotes, marks of other scripts. What is longer is data.
REST = re.compile(r"[^\s<>`\"\x00-\x1f\x7f“”«»„。，、；：！？（）「」『』【】《》]{0,16384}+")
# Most stand alone and end with a letter, a digit or a slash: nothing there belongs to a sentence.
PLAIN = re.compile(r"[A-Za-z0-9/._~%=&?+#:,;@!$-]{0,500}[A-Za-z0-9/](?=\s|\Z)")
BRACKET = re.compile(r"[()\[\]{}]")
PAIRS = {")": "(", "]": "[", "}": "{"}
TRAILING = frozenset("?!.,:;*_~'\\|")
NEXT_CELL = re.compile(r"\|(?=https?://)", re.IGNORECASE)
ENTITY = re.compile(r"&[A-Za-z0-9]{1,32};\Z")


def links(text: str) -> Iterator[Found]:
    """The addresses in plain text."""
    return scan(text, 0, len(text))


def scan(text: str, start: int, end: int) -> Iterator[Found]:
    while found := BEGINS.search(text, start, end):
        stop = end_of(text, found, end)
        if stop is None:
            start = found.end()
            continue
        for begin, end_ in _cells(text, found.start(), stop):
            yield made(text, begin, _before_label(text, begin, end_))
        start = stop


def _cells(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Addresses with nothing but a bar between them, as in a table."""
    for bar in NEXT_CELL.finditer(text, start, stop):
        yield start, bar.start()
        start = bar.end()
    yield start, stop


def _before_label(text: str, start: int, stop: int) -> int:
    """AsciiDoc has the text of a link in brackets behind its address: `https://a.example/x[text]`."""
    at = text.rfind("[", start, stop)
    if at < 0 or text[at - 1] in "/?&=":
        return stop
    return at if text.find("]", at, stop) in (-1, stop - 1) else stop


def made(text: str, start: int, end: int) -> Found:
    written = text[start:end]
    is_www = written[:4].lower() == "www."
    return Found(f"http://{written}" if is_www else written, start, end, "www" if is_www else "bare")


def end_of(text: str, found: re.Match[str], limit: int) -> int | None:
    """Where the address ends that BEGINS found; None where it is none after all."""
    if plain := PLAIN.match(text, found.end(), limit):
        return plain.end()
    rest = REST.match(text, found.end(), limit)
    stop = rest.end() if rest else found.end()
    stop = _before_unopened(text, found.start(), stop)
    stop = _without_punctuation(text, found.end(), stop)
    return stop if stop > found.end() else None


def _before_unopened(text: str, start: int, stop: int) -> int:
    """An address ends before a bracket that closes what was opened before it."""
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

"""The blocks of Markdown that may hold links: paragraphs, headings, cells, raw HTML; code is left out.

CommonMark's first phase (spec, appendix), with GitHub's tables and footnotes. A line is held against the quotes and
lists around it, of which there are so many at most: so the cost is that of the text, however it is nested.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from spaniel.health.documents.markdown_lines import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.health.documents.markdown_lines import Line

DEEPEST = 100
HEADING = re.compile(r"(?P<level>#{1,6})(?:[ \t]++|$)")
FENCE = re.compile(r"(?P<mark>`{3,}+(?![^\r\n]*`)|~{3,}+)")
UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
RULE = re.compile(r"(?:(?:\*[ \t]*+){3,}|(?:-[ \t]*+){3,}|(?:_[ \t]*+){3,})$")
BULLET = re.compile(r"(?:[-+*]|(?P<number>[0-9]{1,9})[.)])(?=[ \t]|$)")
FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,200}\]:")
DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
DEFINITION = re.compile(r"\[[^\[\]]{1,999}\]:")
CELL = re.compile(r"(?!\Z)((?:[^\\|]++|\\.?)*+)\|?")
_BLOCK_NAMES = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
)
# How raw HTML begins, and how it ends; None: with a blank line (CommonMark 4.6).
HTML_STARTS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{'|'.join(_BLOCK_NAMES.split())})(?=[\s>]|/>|$)", re.IGNORECASE), None),
)
ALONE = re.compile(  # the seventh kind: any tag that has a line for itself; it does not interrupt a paragraph
    r"(?:<[A-Za-z][A-Za-z0-9-]*+(?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?+)*+\s*+/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*+>)[ \t]*$"
)


class Block(NamedTuple):
    """Text in which links are looked for: spans of the source, one for each line."""

    kind: str  # "paragraph", "underlined" or "heading", "cell", "html"
    spans: Sequence[tuple[int, int]]


class Spans(Sequence[tuple[int, int]]):
    """Beginnings and ends, as plain numbers: a paragraph may have a million lines."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers = array("I", numbers)

    def __len__(self) -> int:
        return len(self._numbers) // 2

    @overload
    def __getitem__(self, number: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, number: slice) -> Spans: ...
    def __getitem__(self, number: int | slice) -> tuple[int, int] | Spans:
        if isinstance(number, slice):
            return Spans(each for one in range(*number.indices(len(self))) for each in self[one])
        at = 2 * (number if number >= 0 else number + len(self))
        return self._numbers[at], self._numbers[at + 1]

    def append(self, span: tuple[int, int]) -> None:
        self._numbers.extend(span)


class Blocks:
    """Takes a text line by line."""

    def __init__(self, text: str, start: int, *, mdx: bool) -> None:
        self._text, self._start, self._mdx = text, start, mdx
        self._around: list[int | None] = []  # how far in the lines of an item are; None: a quote
        self._spans = Spans()  # of the paragraph or HTML that is open
        self._fence = ""  # the mark of the code that is open
        self._html: re.Pattern[str] | None = None  # what ends the HTML that is open
        self._in_html = self._in_table = False
        self._fresh = False  # an item that has begun with a blank line
        self._done: list[Block] = []

    def __iter__(self) -> Iterator[Block]:
        for line in lines_of(self._text, self._start):
            self._read(line)
            if self._done:
                yield from self._done
                self._done.clear()
        self._close()
        yield from self._done

    def _read(self, line: Line) -> None:
        matched = self._matched(line)
        whole = matched == len(self._around)
        if whole and (self._fence or self._in_html):
            self._go_on(line)
            return
        if not whole and self._in_table:
            self._close()
        while not line.is_blank:
            if line.indent >= 4 and not self._mdx:
                if not self._in_paragraph:
                    self._leave(matched)  # code, by its indent
                    return
                break
            if self._leaf(line, matched):
                return
            if not self._container(line, matched):
                break
            matched = len(self._around)
        self._text_line(line, matched)

    @property
    def _in_paragraph(self) -> bool:
        return bool(self._spans) and not self._in_html

    def _matched(self, line: Line) -> int:
        """How many of the quotes and items around still hold this line."""
        for number, width in enumerate(self._around):
            if width is None:
                if line.indent > 3 or line.mark != ">":
                    return number
                self._take_quote(line)
            elif line.is_blank:
                if self._fresh and number == len(self._around) - 1:
                    return number
            elif line.indent >= width:
                line.skip(width)
            else:
                return number
        return len(self._around)

    @staticmethod
    def _take_quote(line: Line) -> None:
        line.take(1)
        if line.indent:
            line.skip(1)

    def _go_on(self, line: Line) -> None:
        """A line of code or of HTML."""
        if self._fence:
            bare = self._text[line.start : line.end].rstrip(" \t")
            if line.indent <= 3 and len(bare) >= len(self._fence) and not bare.strip(self._fence):
                self._fence = ""
            return
        if self._html is None and line.is_blank:
            self._close()
            return
        self._spans.append((line.start, line.end))
        if self._html is not None and self._html.search(self._text, line.start, line.end):
            self._close()

    def _leave(self, matched: int) -> None:
        """Close what is open, and the quotes and items that do not hold the line."""
        self._close()
        del self._around[matched:]
        self._fresh = False

    def _close(self) -> None:
        if self._spans:
            self._done.append(Block("html" if self._in_html else "paragraph", self._spans))
            self._spans = Spans()
        self._fence, self._html, self._in_html, self._in_table = "", None, False, False

    def _leaf(self, line: Line, matched: int) -> bool:
        """A heading, a rule, the beginning of code or HTML, a row of a table: whether the line is one of them."""
        text, start, end = self._text, line.start, line.end
        if self._in_paragraph and matched == len(self._around) and self._ends_paragraph(line):
            return True
        if found := HEADING.match(text, start, end):
            self._leave(matched)
            self._done.append(Block("heading", ((found.end(), _without_marks(text, found.end(), end)),)))
        elif found := FENCE.match(text, start):
            self._leave(matched)
            self._fence = found["mark"]
        elif RULE.match(text, start, end):
            self._leave(matched)
        elif self._in_table and not self._begins_container(line):
            self._done += cells(text, start, end)
        else:
            return line.mark == "<" and not self._mdx and self._html_begins(line, matched)
        return True

    def _begins_container(self, line: Line) -> bool:
        return line.mark in (">", "<") or BULLET.match(self._text, line.start, line.end) is not None

    def _ends_paragraph(self, line: Line) -> bool:
        """An underline makes it a heading; a row of dashes makes a table of its last line and what follows."""
        text, start, end = self._text, line.start, line.end
        if UNDERLINE.match(text, start, end):
            self._done.append(Block("underlined", self._spans))
        elif DELIMITERS.match(text, start, end):
            header = cells(text, *self._spans[-1])
            if DEFINITION.match(text, *self._spans[-1]) or len(header) != len(cells(text, start, end)):
                return False
            if self._spans[:-1]:
                self._done.append(Block("paragraph", self._spans[:-1]))
            self._done += header
            self._in_table = True
        else:
            return False
        self._spans = Spans()
        return True

    def _container(self, line: Line, matched: int) -> bool:
        """A quote, an item of a list or a footnote begins here: whether it does."""
        if matched >= DEEPEST:
            return False
        text, start, end = self._text, line.start, line.end
        if line.mark == ">":
            self._leave(matched)
            self._take_quote(line)
            self._around.append(None)
            return True
        if found := FOOTNOTE.match(text, start):
            self._leave(matched)
            line.take(len(found[0]))
            line.skip(line.indent)
            self._around.append(4)
            return True
        found = BULLET.match(text, start, end)
        if found is None or (self._in_paragraph and matched == len(self._around) and not _may_interrupt(found, end)):
            return False
        self._leave(matched)
        before = line.indent + len(found[0])
        line.take(len(found[0]))
        inside = 1 if line.is_blank or line.indent >= 5 else line.indent
        self._fresh = line.is_blank
        if not line.is_blank:
            line.skip(inside)
        self._around.append(before + inside)
        return True

    def _text_line(self, line: Line, matched: int) -> None:
        if line.is_blank:
            self._close()
            del self._around[matched:]
        elif self._in_paragraph:
            self._spans.append((line.start, line.end))
        else:
            self._leave(matched)
            self._spans.append((line.start, line.end))

    def _html_begins(self, line: Line, matched: int) -> bool:
        ending = [ends for begins, ends in HTML_STARTS if begins.match(self._text, line.start)]
        if not ending and (self._in_paragraph or not ALONE.match(self._text, line.start, line.end)):
            return False
        self._leave(matched)
        self._in_html, self._html = True, ending[0] if ending else None
        self._go_on(line)
        return True


def _may_interrupt(bullet: re.Match[str], end: int) -> bool:
    """Only an item with text, and a list that begins with 1, end a paragraph: a year in a line begins no list."""
    return bullet["number"] in (None, "1") and bool(bullet.string[bullet.end() : end].strip(" \t"))


def _without_marks(text: str, start: int, end: int) -> int:
    """Where a heading ends before the marks that close it."""
    bare = text[start:end].rstrip(" \t")
    unmarked = bare.rstrip("#")
    return start + len(unmarked if not unmarked or unmarked[-1] in " \t" else bare)


def cells(text: str, start: int, end: int) -> list[Block]:
    """The cells of a row of a table, between bars that are not escaped."""
    row = text[start:end].rstrip(" \t")
    found = CELL.finditer(row, 1 if row.startswith("|") else 0)
    return [Block("cell", ((start + cell.start(1), start + cell.end(1)),)) for cell in found]

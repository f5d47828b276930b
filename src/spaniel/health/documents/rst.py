"""Links in reStructuredText: targets, embedded and standing ones, pictures; literal blocks and comments left alone."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from spaniel.health.documents import html, mentions
from spaniel.health.documents.mentions import Found, Stitched
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDENT = re.compile(r"[ \t]*+")
LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
EXPLICIT = re.compile(r"[ \t]*+(?:\.\.(?=[ \t]|$)|__(?=[ \t]))[ \t]*+")
TARGET = re.compile(r"(?:_(?P<name>`(?:[^`\\]|\\.)*+`|(?:[^:\\\r\n]|\\.|:(?![ \t]|$))++):|__:)(?:[ \t]++|$)")
DIRECTIVE = re.compile(r"(?:\|[^|\r\n]+\|[ \t]++)?(?P<name>[A-Za-z][\w.:+-]*?)[ \t]?::(?:[ \t]++|$)")
FOOTNOTE = re.compile(r"\[(?:\d+|#[\w.-]*|\*|[A-Za-z][\w.-]*)\](?:[ \t]++|$)")
PICTURES = frozenset({"image", "figure"})
# What these hold is no text: code, pages of another kind, formulas, lists of names.
_LITERAL = (
    "code code-block sourcecode highlight literalinclude raw math prompt productionlist doctest testcode testoutput "
    "testsetup testcleanup include csv-table toctree graphviz mermaid digraph graph uml ipython jupyter-execute"
)
LITERAL = frozenset(_LITERAL.split())
OPTION = re.compile(r"[ \t]*+:(?P<name>[\w-]+):(?:[ \t]++(?P<value>\S.*)?|$)")
DOCTEST = re.compile(r"[ \t]*+>>>(?:[ \t]|$)")
INLINE = re.compile(
    rf"\\.|``(?P<literal>(?:[^`]|`(?!`))*+)``|`(?P<text>(?:[^`\\]|\\.)*+)`(?P<mark>__?)?"
    rf"|{mentions.BEGINS.pattern}",
    re.IGNORECASE | re.DOTALL,
)
EMBEDDED = re.compile(r"(?:\A|\s)<(?P<url>[^<>]++)>\Z")


class Row(NamedTuple):
    """A line, without its end."""

    start: int
    end: int
    indent: int
    is_blank: bool


def links(text: str) -> Iterator[Found]:
    return _Reader(text).read()


class Rows(Sequence[Row]):
    """The lines of a text. Only their places are kept, since a text may have as many lines as characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts, self._ends = array("I"), array("I")
        at = 0
        while at < len(text) and (found := LINE.match(text, at)):
            self._starts.append(at)
            self._ends.append(found.end(1))
            at = found.end()

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, number: int) -> Row: ...
    @overload
    def __getitem__(self, number: slice) -> list[Row]: ...
    def __getitem__(self, number: int | slice) -> Row | list[Row]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        start, end = self._starts[number], self._ends[number]
        blank = INDENT.match(self._text, start, end)
        begins = blank.end() if blank else start
        return Row(start, end, len(self._text[start:begins].expandtabs()), begins == end)


class _Reader:
    """Goes through the lines, each once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._rows = Rows(text)
        self._found: list[Found] = []
        self._prose: Iterable[Row] = ()  # lines of the block whose links are still to be read

    def read(self) -> Iterator[Found]:
        at = 0
        while at < len(self._rows):
            at = self._block(at)
            yield from sorted(self._found, key=lambda found: found.start)
            self._found.clear()
            yield from self._inline_links()

    def _block(self, at: int) -> int:
        """Reads what begins in a line, and says where what follows begins."""
        row = self._rows[at]
        if row.is_blank:
            return at + 1
        explicit = EXPLICIT.match(self._text, row.start, row.end)
        if explicit:
            return self._explicit(at, explicit)
        if DOCTEST.match(self._text, row.start, row.end):
            return self._to_blank(at)
        end = self._to_blank(at)
        for number in range(at + 1, end):  # a paragraph ends where explicit markup of the same indent begins
            if EXPLICIT.match(self._text, self._rows[number].start, self._rows[number].end):
                end = number
                break
        self._prose = (self._rows[number] for number in range(at, end))
        last = self._rows[end - 1]
        if self._text[last.start : last.end].rstrip().endswith("::"):
            return self._past_block(end, min(self._rows[number].indent for number in range(at, end)))
        return end

    def _to_blank(self, at: int) -> int:
        while at < len(self._rows) and not self._rows[at].is_blank:
            at += 1
        return at

    def _past_block(self, at: int, indent: int) -> int:
        """Behind all lines that are further in."""
        while at < len(self._rows) and (self._rows[at].is_blank or self._rows[at].indent > indent):
            at += 1
        return at

    def _explicit(self, at: int, begun: re.Match[str]) -> int:
        row, start = self._rows[at], begun.end()
        if begun[0].strip() == "__":
            return self._target(at, start, row.indent)
        if target := TARGET.match(self._text, start, row.end):
            return self._target(at, target.end(), row.indent)
        if directive := DIRECTIVE.match(self._text, start, row.end):
            return self._directive(at, directive)
        if footnote := FOOTNOTE.match(self._text, start, row.end):
            self._prose = [Row(footnote.end(), row.end, row.indent, is_blank=False)]
            return at + 1
        return self._past_block(at + 1, row.indent)  # a comment

    def _target(self, at: int, start: int, indent: int) -> int:
        """An address may go on in the next lines; white space in it does not count."""
        end = at + 1
        while end < len(self._rows) and not self._rows[end].is_blank and self._rows[end].indent > indent:
            end += 1
        stop = self._rows[end - 1].end
        written = self._text[start:stop].rstrip()
        begin = start + len(written) - len(written.lstrip())
        self._add(begin, start + len(written))
        return end

    def _add(self, start: int, end: int) -> None:
        written = self._text[start:end]
        is_alias = written.endswith("_") and not written.endswith("\\_") and "/" not in written
        url = decode(written, "rst")
        if url and not is_alias:
            self._found.append(Found(url, start, end, "rst"))

    def _directive(self, at: int, directive: re.Match[str]) -> int:
        row, name = self._rows[at], directive["name"].lower()
        if name in PICTURES:
            written = self._text[directive.end() : row.end].rstrip()
            self._add(directive.end(), directive.end() + len(written))
            return self._options(at + 1, row.indent)
        if name in LITERAL:
            end = self._past_block(at + 1, row.indent)
            if name == "raw" and "html" in self._text[directive.end() : row.end].lower().split():
                self._raw_html(row.end, self._rows[end - 1].end)
            return end
        self._prose = [Row(directive.end(), row.end, row.indent, is_blank=False)]
        return at + 1

    def _raw_html(self, start: int, end: int) -> None:
        for found in html.links(self._text[start:end], is_part=True):
            self._found.append(found._replace(start=start + found.start, end=start + found.end))

    def _options(self, at: int, indent: int) -> int:
        """Of a picture: where it leads."""
        while at < len(self._rows) and self._rows[at].indent > indent and not self._rows[at].is_blank:
            option = OPTION.match(self._text, self._rows[at].start, self._rows[at].end)
            if option is None:
                break
            if option["name"] == "target" and option["value"]:
                start = option.start("value")
                self._add(start, start + len(option["value"].rstrip()))
            at += 1
        return at

    def _inline_links(self) -> Iterator[Found]:
        """One by one: a paragraph may be as long as a document."""
        rows, self._prose, at = self._prose, (), 0
        whole = Stitched(((self._text[row.start : row.end], row.start, row.end) for row in rows), "\n")
        while found := INLINE.search(whole.text, at):
            at = self._inline_one(whole, found)
            yield from self._found
            self._found.clear()

    def _inline_one(self, whole: Stitched, found: re.Match[str]) -> int:
        if found["text"] is not None:
            if found["mark"] and (link := EMBEDDED.search(found["text"])):
                start = found.start("text") + link.start("url")
                self._add(whole.source(start), whole.source_end(start + len(link["url"])))
            return found.end()
        if found["literal"] is not None or found[0][0] == "\\":
            return found.end()
        end = mentions.end_of(whole.text, found, len(whole.text))
        if end is None:
            return found.end()
        one = mentions.made(whole.text, found.start(), end)
        self._found.append(one._replace(start=whole.source(one.start), end=whole.source_end(one.end)))
        return end

"""Finds links in reStructuredText: targets, embedded and bare URLs, images; not in literal blocks and comments."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents import html, mentions
from spaniel.health.documents.mentions import LinkSpan, MappedText, shifted
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDENT = re.compile(r"[ \t]*+")
LINE = re.compile(r"([^\r\n]*+)(?:\r\n|\n|\r|\Z)")
EXPLICIT = re.compile(r"[ \t]*+(?:\.\.(?=[ \t]|$)|__(?=[ \t]))[ \t]*+")
TARGET = re.compile(r"(?:_(?P<name>`(?:[^`\\]|\\.)*+`|(?:[^:\\\r\n]|\\.|:(?![ \t]|$))++):|__:)(?:[ \t]++|$)")
DIRECTIVE = re.compile(r"(?:\|[^|\r\n]+\|[ \t]++)?(?P<name>[A-Za-z][\w.:+-]*?)[ \t]?::(?:[ \t]++|$)")
FOOTNOTE = re.compile(r"\[(?:\d+|#[\w.-]*|\*|[A-Za-z][\w.-]*)\](?:[ \t]++|$)")
IMAGES = frozenset({"image", "figure"})
# Directives whose content is not text: code, pages of another kind, formulas, lists of names.
_LITERAL = (
    "code code-block sourcecode highlight literalinclude raw math prompt productionlist doctest testcode testoutput "
    "testsetup testcleanup include csv-table toctree graphviz mermaid digraph graph uml ipython jupyter-execute"
)
LITERAL = frozenset(_LITERAL.split())
OPTION = re.compile(r"[ \t]*+:(?P<name>[\w-]+):(?:[ \t]++(?P<value>\S.*)?|$)")
DOCTEST = re.compile(r"[ \t]*+>>>(?:[ \t]|$)")
INLINE = re.compile(
    rf"\\.|``(?P<literal>(?:[^`]|`(?!`))*+)``|`(?P<text>(?:[^`\\]|\\.)*+)`(?P<mark>__?)?"
    rf"|{mentions.URL_START.pattern}",
    re.IGNORECASE | re.DOTALL,
)
EMBEDDED = re.compile(r"(?:\A|\s)<(?P<url>[^<>]++)>\Z")


class SourceLine(NamedTuple):
    """A line without its end."""

    start: int
    end: int
    indent: int
    is_blank: bool


def rst_links(text: str) -> Iterator[LinkSpan]:
    """Yield the links of a document."""
    return _RstReader(text).read()


class SourceLines:
    """The lines of a text. Only their positions are stored, because a text may have as many lines as characters."""

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

    def __getitem__(self, number: int) -> SourceLine:
        start, end = self._starts[number], self._ends[number]
        blank = INDENT.match(self._text, start, end)
        begins = blank.end() if blank else start
        return SourceLine(start, end, len(self._text[start:begins].expandtabs()), begins == end)

    def __iter__(self) -> Iterator[SourceLine]:
        return map(self.__getitem__, range(len(self)))


class _RstReader:
    """Reads each line once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = SourceLines(text)
        self._found: list[LinkSpan] = []
        self._prose: Iterable[SourceLine] = ()  # lines of the current block whose links are not read yet

    def read(self) -> Iterator[LinkSpan]:
        at = 0
        while at < len(self._lines):
            at = self._block(at)
            yield from sorted(self._found, key=lambda found: found.start)
            self._found.clear()
            yield from self._inline_links()

    def _block(self, at: int) -> int:
        """Read the block that starts at a line; return the number of the line after it."""
        line = self._lines[at]
        if line.is_blank:
            return at + 1
        explicit = EXPLICIT.match(self._text, line.start, line.end)
        if explicit:
            return self._explicit(at, explicit)
        if DOCTEST.match(self._text, line.start, line.end):
            return self._to_blank(at)
        end = self._to_blank(at)
        for number in range(at + 1, end):  # explicit markup ends a paragraph
            if EXPLICIT.match(self._text, self._lines[number].start, self._lines[number].end):
                end = number
                break
        self._prose = (self._lines[number] for number in range(at, end))
        last = self._lines[end - 1]
        if self._text[last.start : last.end].rstrip().endswith("::"):
            return self._past_block(end, min(self._lines[number].indent for number in range(at, end)))
        return end

    def _to_blank(self, at: int) -> int:
        while at < len(self._lines) and not self._lines[at].is_blank:
            at += 1
        return at

    def _past_block(self, at: int, indent: int) -> int:
        """Skip the lines with more indentation."""
        while at < len(self._lines) and (self._lines[at].is_blank or self._lines[at].indent > indent):
            at += 1
        return at

    def _explicit(self, at: int, marker: re.Match[str]) -> int:
        """Read explicit markup: a target, a directive, a footnote or a comment."""
        line, start = self._lines[at], marker.end()
        if marker[0].strip() == "__":
            return self._target(at, start, line.indent)
        if target := TARGET.match(self._text, start, line.end):
            return self._target(at, target.end(), line.indent)
        if directive := DIRECTIVE.match(self._text, start, line.end):
            return self._directive(at, directive)
        if footnote := FOOTNOTE.match(self._text, start, line.end):
            self._prose = [SourceLine(footnote.end(), line.end, line.indent, is_blank=False)]
            return at + 1
        return self._past_block(at + 1, line.indent)  # a comment

    def _target(self, at: int, start: int, indent: int) -> int:
        """Read a target, which may continue on the next lines. White space in it is ignored."""
        end = at + 1
        while end < len(self._lines) and not self._lines[end].is_blank and self._lines[end].indent > indent:
            end += 1
        stop = self._lines[end - 1].end
        written = self._text[start:stop].rstrip()
        begin = start + len(written) - len(written.lstrip())
        self._add(begin, start + len(written))
        return end

    def _add(self, start: int, end: int) -> None:
        written = self._text[start:end]
        is_alias = written.endswith("_") and not written.endswith("\\_") and "/" not in written
        url = decode(written, "rst")
        if url and not is_alias:
            self._found.append(LinkSpan(url, start, end, "rst"))

    def _directive(self, at: int, directive: re.Match[str]) -> int:
        line, name = self._lines[at], directive["name"].lower()
        if name in IMAGES:
            written = self._text[directive.end() : line.end].rstrip()
            self._add(directive.end(), directive.end() + len(written))
            return self._options(at + 1, line.indent)
        if name in LITERAL:
            end = self._past_block(at + 1, line.indent)
            if name == "raw" and "html" in self._text[directive.end() : line.end].lower().split():
                part = self._text[line.end : self._lines[end - 1].end]
                self._found += shifted(html.html_links(part, is_part=True), line.end)
            return end
        self._prose = [SourceLine(directive.end(), line.end, line.indent, is_blank=False)]
        return at + 1

    def _options(self, at: int, indent: int) -> int:
        """Read the options of an image; its target is a link."""
        while at < len(self._lines) and self._lines[at].indent > indent and not self._lines[at].is_blank:
            option = OPTION.match(self._text, self._lines[at].start, self._lines[at].end)
            if option is None:
                break
            if option["name"] == "target" and option["value"]:
                start = option.start("value")
                self._add(start, start + len(option["value"].rstrip()))
            at += 1
        return at

    def _inline_links(self) -> Iterator[LinkSpan]:
        """Yield them one by one, because a paragraph may be as long as a document."""
        lines, self._prose, at = self._prose, (), 0
        whole = MappedText(((self._text[line.start : line.end], line.start, line.end) for line in lines), "\n")
        while found := INLINE.search(whole.text, at):
            at = self._inline_one(whole, found)
            yield from self._found
            self._found.clear()

    def _inline_one(self, whole: MappedText, found: re.Match[str]) -> int:
        if found["text"] is not None:
            if found["mark"] and (link := EMBEDDED.search(found["text"])):
                start = found.start("text") + link.start("url")
                self._add(whole.source_start(start), whole.source_end(start + len(link["url"])))
            return found.end()
        if found["literal"] is not None or found[0][0] == "\\":
            return found.end()
        end = mentions.url_end(whole.text, found, len(whole.text))
        if end is None:
            return found.end()
        self._found.append(whole.in_source(mentions.bare_link(whole.text, found.start(), end)))
        return end


UNDERLINES = re.compile(r"([=\-`:'\"~^_*+#<>!$%&(),./;?@\[\\\]{|}])\1*[ \t]*\Z")


def rst_anchors(text: str) -> Iterator[str]:
    """Yield the anchors of titles and targets, named as by docutils."""
    for title, line in pairwise(SourceLines(text)):
        shown, under = text[title.start : title.end].strip(), text[line.start : line.end].rstrip()
        if shown and UNDERLINES.fullmatch(under) and len(under) >= len(shown):
            yield _docutils_id(shown)
    for found in re.finditer(r"^[ \t]*\.\.[ \t]+_`?([^:`\r\n]+)`?:", text, re.MULTILINE):
        yield _docutils_id(found[1])


def _docutils_id(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

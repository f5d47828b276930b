"""Links in Markdown and MDX: in brackets, in definitions, in angle brackets, bare, in raw HTML, and in front matter.

pyromark (pulldown-cmark) finds blocks, links and code, with the byte range of each. This module finds the destination
inside a link's range, so that it can be reported by line and column and replaced by `--fix`. Bare addresses, which are
not CommonMark, are looked for in the text that is left.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import pyromark

from spaniel.health.documents import bare, html, yaml_fields
from spaniel.health.documents.html_tags import MARKDOWN_TAG, links_of
from spaniel.health.documents.mention import LINE_END, Found, Stitched
from spaniel.health.documents.quoting import decode, from_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

FRONT = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*+(?:\r\n|\n|\r)")
FRONT_ENDS = {  # YAML may end with dots too
    "---": re.compile(r"^(?:---|[.]{3})[ \t]*+$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*+$", re.MULTILINE),
}
LONGEST_FRONT = 1 << 20

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
LINKS = frozenset({"Link", "Image"})
BLOCKS = frozenset({"Paragraph", "Heading", "TableCell", "Item"})  # that hold text
CONTAINERS = frozenset({"BlockQuote", "List", "Item", "FootnoteDefinition"})  # that hold blocks
ENDS = LINKS | BLOCKS | {"CodeBlock", "HtmlBlock"}
STYLES = frozenset({"Emphasis", "Strong", "Strikethrough"})  # marks that may be part of a bare address
WWW = re.compile(rb"www\.", re.IGNORECASE)
CODE_END = re.compile(rb"</code", re.IGNORECASE)
LONGEST = 16_384  # characters of a destination; what is longer is data
DEFINITION = re.compile(rb"^[ \t>*+0-9.)-]*+(?P<definition>\[(?!\^)[^\[\]]{1,999}\]:)", re.MULTILINE)
LABEL = re.compile(r"\[(?:[^\[\]\\]|\\.){0,999}+\]:", re.DOTALL)
# What separates a destination from what precedes it: blanks, and one line end with the marks of quotes behind it.
BEFORE = re.compile(r"[ \t]*+(?:(?:\r\n|\n|\r)[ \t>]*+)?")
ANGLED = re.compile(r"<((?:[^<>\\\r\n]|\\.)*+)>")
PLAIN = re.compile(r"(?:[^\s()\\\x00-\x1f\x7f]++|\\.?)++")  # between two parentheses
LONE_CR = re.compile(r"\r(?!\n)")  # ends a line, which pulldown-cmark does not know
SURROGATE = re.compile("[\ud800-\udfff]")
CONTINUATION = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that do not begin a character
STRIDE = 4096  # bytes between two offsets that are known

# MDX: statements of a program, comments and values are not Markdown; an indent is not code, a tag begins no block.
STATEMENT = re.compile(rb"(?:import|export)\b")
VALUE = re.compile(r"(?<==)\{[^{}\r\n]*+\}")
WRITTEN = re.compile(r"\S")
INDENT = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<marks>(?:(?:[-+*>]|\d{1,9}[.)])[ \t]++)*+)(?P<tag><(?=[A-Za-z/!]))?", re.MULTILINE
)
NO_BLOCK = "\u2060"  # put before a tag at the start of a line, which then is part of a paragraph


class Heading(NamedTuple):
    """The source of a heading, without its marks."""

    text: str


class Raw(NamedTuple):
    """Raw HTML, a block or a single tag."""

    text: str


class Source:
    """A text and its UTF-8 bytes: pyromark gives byte offsets, and everything else counts characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.raw = text.encode("utf-8", "replace")  # a lone surrogate, which pyromark refuses, becomes a question mark
        self.parsed = self.raw.decode() if SURROGATE.search(text) else text
        self._known = [0]
        if len(self.raw) != len(text):
            for start in range(0, len(self.raw), STRIDE):
                self._known.append(
                    self._known[-1] + len(self.raw[start : start + STRIDE].translate(None, CONTINUATION))
                )

    def offset(self, at: int) -> int:
        if len(self._known) == 1:
            return at
        block = at // STRIDE
        return self._known[block] + len(self.raw[block * STRIDE : at].translate(None, CONTINUATION))

    def slice(self, start: int, end: int) -> str:
        return self.raw[start:end].decode("utf-8", "replace")


def links(text: str, *, mdx: bool = False) -> Iterator[Found]:
    """In the order of the text."""
    return iter(sorted(_links(text, mdx), key=lambda found: found.start))


def _links(text: str, mdx: bool) -> Iterator[Found]:
    front, begin = front_matter(text)
    if front is not None:
        yield from front
    if not mdx:
        yield from (_moved(found, begin) for found in _Reader(text[begin:]).links())
        return
    whole = _as_markdown(text, begin)
    for found in _Reader(whole.text, mdx=True).links():
        yield found._replace(start=whole.source(found.start), end=whole.source_end(found.end))


def parts(text: str, *, mdx: bool = False) -> Iterator[Heading | Raw]:
    """The headings and the raw HTML of a document, which give it its anchors."""
    begin = front_matter(text)[1]
    return _Reader(_as_markdown(text, begin).text if mdx else text[begin:]).parts()


def front_matter(text: str) -> tuple[Iterator[Found] | None, int]:
    """The links of the fields above the text (YAML, or TOML as text), and where the text begins."""
    opened = FRONT.match(text)
    if opened is None:
        return None, 0
    fence = opened["fence"]
    closed = FRONT_ENDS[fence].search(text[:LONGEST_FRONT].replace("\r", "\n"), opened.end())
    if closed is None:
        return None, 0
    span = opened.end(), closed.start()
    found = yaml_fields.scan(text, *span) if fence == "---" else bare.scan(text, *span)
    return found, closed.end()


def _moved(found: Found, by: int) -> Found:
    return found._replace(start=found.start + by, end=found.end + by) if by else found


class _Open(NamedTuple):
    """A link or an image whose text is being read."""

    name: str
    kind: str  # pyromark's link_type


class _Reader:
    """Reads pyromark's events once, from left to right."""

    def __init__(self, text: str, *, mdx: bool = False) -> None:
        self._mdx, self._skipped = mdx, 0  # everything before this offset is skipped
        self._source = Source(LONE_CR.sub("\n", text))
        self._open: list[_Open] = []
        self._text_end = 0  # where the text of the innermost link ends, as far as it was read
        self._in_code = False  # a code block, or <code>
        self._html: list[tuple[str, int, int]] = []
        self._candidates: list[int] = []  # bytes at which a second definition of a label may begin
        self._block_end = 0  # of the paragraph, heading or cell that is being read
        self._no_code_end = False  # no </code> is left in it

    def _events(self) -> Iterator[tuple[Any, dict[str, int]]]:
        text: Any = self._source.parsed
        events: Any = pyromark.events_with_range(text, options=OPTIONS)
        return iter(events)

    def parts(self) -> Iterator[Heading | Raw]:
        start = end = -1
        for event, span in self._events():
            if type(event) is str:
                end = span["end"] if start >= 0 else end
                continue
            ((kind, value),) = event.items()
            name = value if isinstance(value, str) else next(iter(value or {None: None}))
            if kind == "Start" and name == "Heading":
                start = end = self._heading_start(span)
            elif kind == "End" and name == "Heading":
                yield Heading(self._source.slice(start, self._heading_end(start, span["end"])))
                start = -1
            elif kind in ("InlineHtml", "Html"):
                yield from self._raw(kind, value, span)
            elif kind == "End" and name == "HtmlBlock":
                yield Raw("".join(piece for piece, _, _ in self._html))
                self._html.clear()

    def _raw(self, kind: str, value: str, span: dict[str, int]) -> Iterator[Raw]:
        if kind == "InlineHtml":
            yield Raw(value)
        else:
            self._html.append((value, span["start"], span["end"]))

    def _heading_start(self, span: dict[str, int]) -> int:
        raw = self._source.raw
        start = span["start"]
        while start < span["end"] and raw[start : start + 1] == b"#":
            start += 1
        return start

    def _heading_end(self, start: int, end: int) -> int:
        """Before the marks that close a heading, or the line that underlines it."""
        text = self._source.slice(start, end).rstrip(" \t\r\n")
        lines = re.split(r"\r\n|\n|\r", text)
        if len(lines) > 1:  # a paragraph that is underlined
            text = text[: len(text) - len(lines[-1])].rstrip(" \t\r\n")
        else:
            unmarked = text.rstrip("#")
            text = unmarked if not unmarked or unmarked[-1] in " \t" else text
        return start + len(text.encode("utf-8", "replace"))

    def links(self) -> Iterator[Found]:  # noqa: C901, PLR0912  one loop: it runs for every word of every document
        if "]:" in self._source.text:
            yield from self._definitions()
        run = run_end = -1  # text without markup but emphasis, in which bare addresses are looked for
        for event, span in self._events():
            if span["start"] < self._skipped:
                continue
            if self._candidates and not _is_container(event):
                self._drop_candidates(span)
            if type(event) is str:  # a line break or a rule
                kind = value = name = event
            else:
                [kind] = event
                value = event[kind]
                if kind == "Text":
                    if not (self._open or self._in_code):
                        run, run_end = (span["start"] if run < 0 else run), span["end"]
                    self._text_end = span["end"]
                    continue
                if type(value) is dict:
                    [name] = value
                else:  # a name, or a task's box
                    name = value
                if name in STYLES and kind in ("Start", "End"):
                    continue
            if run >= 0:
                yield from self._bare(run, run_end)
                run = -1
            if kind == "Start":
                self._start(name, value, span)
                continue
            if kind == "End":
                if name in ENDS:
                    yield from self._end(name, span)
            elif kind in ("Html", "InlineHtml"):
                yield from self._raw_html(kind, value, span)
            self._text_end = span["end"]
        if run >= 0:
            yield from self._bare(run, run_end)
        for start in self._candidates:
            yield from self._definition(start)

    def _start(self, name: str, value: Any, span: dict[str, int]) -> None:
        if name in LINKS:
            self._open.append(_Open(name, value[name]["link_type"]))
            self._text_end = span["start"] + (1 if name == "Link" else 2)
        elif name == "CodeBlock":
            self._in_code = True
        elif name in BLOCKS:
            self._block_end, self._no_code_end = span["end"], False
            if self._mdx and name == "Paragraph" and STATEMENT.match(self._source.raw, span["start"]):
                self._skipped = span["end"]

    def _end(self, name: str, span: dict[str, int]) -> Iterator[Found]:
        if name == "HtmlBlock":
            yield from self._html_links()
        elif name not in LINKS:
            self._in_code = False
        else:
            ended = self._open.pop()
            if self._in_code or any(outer.name == "Image" for outer in self._open):
                return  # the text of a picture is shown as text
            if ended.kind == "Inline":
                at = self._source.raw.find(b"(", self._text_end, span["end"])
                text = self._source.text
                yield from _destination(text, _past(BEFORE, text, self._source.offset(at + 1)))
            elif ended.kind == "Autolink":
                start, end = self._source.offset(span["start"] + 1), self._source.offset(span["end"] - 1)
                yield Found(decode(self._source.text[start:end], "autolink"), start, end, "autolink")

    def _raw_html(self, kind: str, value: str, span: dict[str, int]) -> Iterator[Found]:
        if kind == "Html":
            start, end = self._source.offset(span["start"]), self._source.offset(span["end"])
            self._html.append((self._source.text[start:end], start, end))
        elif tag := MARKDOWN_TAG.match(value):
            if not tag["name"]:
                self._in_code = self._in_code and not value.lower().startswith("</code")
            elif not self._in_code:
                yield from self._tag_links(tag, span)
                self._in_code = tag["name"].lower() == "code" and self._has_code_end(span["end"])

    def _has_code_end(self, at: int) -> bool:
        if not self._no_code_end:
            self._no_code_end = CODE_END.search(self._source.raw, at, self._block_end) is None
        return not self._no_code_end

    def _tag_links(self, tag: re.Match[str], span: dict[str, int]) -> Iterator[Found]:
        """Of a tag, whose further lines may stand behind the marks of a quote."""
        start, end = self._source.offset(span["start"]), self._source.offset(span["end"])
        written, text = tag.string, self._source.text
        if len(written) == end - start:
            yield from (_moved(found, start) for found in links_of(tag))
            return
        pieces: list[tuple[str, int, int]] = []
        at = start
        for line in written.splitlines(keepends=True):  # each is the end of a line of the source
            stop = LINE_END.search(text, at, end)
            at = stop.end() if stop else end
            pieces.append((line, at - len(line), at))
        whole = Stitched(pieces)
        for found in links_of(tag):
            yield found._replace(start=whole.source(found.start), end=whole.source_end(found.end))

    def _html_links(self) -> Iterator[Found]:
        """Of a block of raw HTML, whose lines may stand behind the marks of a quote."""
        whole = Stitched(self._html)
        for found in html.links(whole.text, is_part=True):
            yield found._replace(start=whole.source(found.start), end=whole.source_end(found.end))
        self._html = []

    def _bare(self, start: int, end: int) -> Iterator[Found]:
        """Addresses that stand in text without marks around them."""
        raw = self._source.raw
        if raw.find(b"://", start, end) < 0 and not WWW.search(raw, start, end):
            return
        text, at, limit = self._source.text, self._source.offset(start), self._source.offset(end)
        while found := bare.BEGINS.search(text, at, limit):
            stop = bare.end_of(text, found, limit)
            if stop is not None:
                yield bare.made(text, found.start(), stop)
            at = stop or found.end()

    def _definitions(self) -> Iterator[Found]:
        """The first definition of each label, and where further ones may begin: they are no part of any block."""
        defined = pyromark.reference_definitions(self._source.parsed, options=OPTIONS)
        known = {definition["span"]["start"] for definition in defined.values()}
        for start in known:
            yield from self._definition(start)
        if known:
            found = (match.start("definition") for match in DEFINITION.finditer(self._source.raw))
            self._candidates = [start for start in found if start not in known]

    def _definition(self, start: int) -> Iterator[Found]:
        text = self._source.text
        if label := LABEL.match(text, self._source.offset(start)):
            yield from _destination(text, _past(BEFORE, text, label.end()))

    def _drop_candidates(self, span: dict[str, int]) -> None:
        """What is text of a block is not a definition."""
        first = bisect_left(self._candidates, span["start"])
        del self._candidates[first : bisect_left(self._candidates, span["end"], first)]


def _is_container(event: Any) -> bool:
    if type(event) is str or not (value := event.get("Start") or event.get("End")):
        return False
    return (value if isinstance(value, str) else next(iter(value))) in CONTAINERS


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _destination(text: str, start: int) -> Iterator[Found]:
    """The destination that begins here; none if it is empty."""
    if text.startswith("<", start):
        if (angled := ANGLED.match(text, start)) and (url := from_markdown(angled[1])):
            yield Found(url, *angled.span(1), "markdown-angled")
        return
    at, depth = start, 0
    while True:  # up to white space, or to a parenthesis that closes more than was opened
        at = _past(PLAIN, text, at)
        if text.startswith("(", at):
            depth += 1
        elif text.startswith(")", at) and depth:
            depth -= 1
        else:
            break
        at += 1
    if 0 < at - start < LONGEST:
        yield Found(from_markdown(text[start:at]), start, at, "markdown")


def _as_markdown(text: str, begin: int) -> Stitched:
    """MDX as Markdown that has the same links."""
    plain = _without_program(text)
    pieces: list[tuple[str, int, int]] = []
    at = begin
    for line in INDENT.finditer(plain, begin):
        if line["indent"]:
            pieces.append((plain[at : line.start()], at, line.start()))
            at = line.end("indent")
        if line["tag"]:
            pieces += (
                (plain[at : line.start("tag")], at, line.start("tag")),
                (NO_BLOCK, line.start("tag"), line.start("tag")),
            )
            at = line.start("tag")
    return Stitched([*(piece for piece in pieces if piece[0]), (plain[at:], at, len(plain))])


def _without_program(text: str) -> str:
    """The text with marks that mean nothing in place of comments and values, character for character."""
    made: list[str] = []
    at = 0
    while (begin := text.find("{/*", at)) >= 0 and (end := text.find("*/", begin + 3)) >= 0:
        made += text[at:begin], WRITTEN.sub("_", text[begin:end])
        at = end
    return VALUE.sub(lambda found: f'"{" " * (len(found[0]) - 2)}"', "".join([*made, text[at:]]))

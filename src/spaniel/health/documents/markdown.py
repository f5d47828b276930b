"""Links of Markdown and MDX documents."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import pyromark

from spaniel.health.documents import data, html, mentions
from spaniel.health.documents.html import MARKDOWN_TAG, links_of
from spaniel.health.documents.mentions import LINE_END, Found, Stitched
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
# Characters that are parsed at a time: a tree of "[](a)[](a)…" and its links take 80 bytes for each.
WINDOW = 1 << 17
WINDOWS = 16  # a longer document is read in so many parts at the least
OPENED = frozenset({"CodeBlock", "HtmlBlock"})  # blocks that go on until they are closed
CLOSED = OPENED | LINKS  # what is not divided where it is part of a block
FENCE = re.compile(r"`{3,}|~{3,}")
# How a block of HTML begins, what begins one like it, and what ends it: a line with this, or a blank one.
HTML_OPENINGS = [
    (re.compile(begins, re.IGNORECASE), opening, re.compile(ends, re.IGNORECASE) if ends else None)
    for begins, opening, ends in (
        (r"<(?:script|pre|style|textarea)(?=[\s>])", "<pre>\n", r"</(?:script|pre|style|textarea)>"),
        ("<!--", "<!--\n", "-->"),
        (r"<\?", "<?\n", r"\?>"),
        (r"<!\[CDATA\[", "<![CDATA[\n", r"\]\]>"),
        (r"<![a-z]", "<!x\n", ">"),
        ("", "<div>\n", ""),
    )
]
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
    front, begin = front_matter(text)
    if front is not None:
        yield from front
    if not mdx:
        yield from _links(text, begin)
        return
    whole = _as_markdown(text, begin)
    for found in _links(whole.text, 0, mdx=True):
        yield found._replace(start=whole.source(found.start), end=whole.source_end(found.end))


def _links(text: str, begin: int, *, mdx: bool = False) -> Iterator[Found]:
    for window, moved in _windows(text, begin):
        for found in sorted(_Reader(window, mdx=mdx).links(), key=lambda found: found.start):
            yield _moved(found, moved)


def parts(text: str, *, mdx: bool = False) -> Iterator[Heading | Raw]:
    """The headings and the raw HTML of a document, which give it its anchors."""
    begin = front_matter(text)[1]
    if mdx:
        text, begin = _as_markdown(text, begin).text, 0
    for window, _ in _windows(text, begin):
        yield from _Reader(window).parts()


def _windows(text: str, begin: int) -> Iterator[tuple[str, int]]:
    """The text in parts that are read one by one, and what to add to an offset in one: a parser's tree is much larger
    than its text. A part ends where a block does; a longer block is divided, and its rest begins with what opens it."""
    text, opening = LONE_CR.sub("\n", text), ""
    size = max(WINDOW, len(text) // WINDOWS)
    while len(text) - begin > size:
        end = text.rfind("\n", begin + size // 2, begin + size) + 1 or begin + size
        window, moved = opening + text[begin:end], begin - len(opening)
        cut, following = _Divider(window).cut()
        if cut <= len(opening):  # nothing but the opening would be read
            cut, following = len(window), ""
        yield window[:cut], moved
        begin, opening = moved + cut, following
    yield opening + text[begin:], begin - len(opening)


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
    found = data.scan(text, *span) if fence == "---" else mentions.scan(text, *span)
    return found, closed.end()


def _moved(found: Found, by: int) -> Found:
    return found._replace(start=found.start + by, end=found.end + by) if by else found


def _events(source: Source) -> Iterator[tuple[Any, dict[str, int]]]:
    text: Any = source.parsed
    events: Any = pyromark.events_with_range(text, options=OPTIONS)
    return iter(events)


def _name(value: Any) -> str:
    """The name of what a Start or an End is about."""
    return value if isinstance(value, str) else next(iter(value))


class _Divider:
    """Looks for the last place of a text at which reading may begin anew.

    That is where a block, or an item of a list, begins that is not inside another one: what precedes it has no
    influence on it but by definitions, and the text of a link by reference is all that depends on these.
    """

    def __init__(self, text: str) -> None:
        self._source = Source(text)
        self._name = ""  # of the last block
        self._start = self._end = 0
        self._inner = 0  # where a line or a part of the block begins that is not CLOSED
        self._opened = ("", 0, 0)  # the last of the OPENED blocks, which may be inside others: name, start and end

    def cut(self) -> tuple[int, str]:
        """Where to cut, and what to put before the rest so that it is read as it would be behind what precedes it."""
        raw, offset = self._source.raw, self._source.offset
        self._read()
        if line := self._line(self._start):
            return offset(line), ""
        if not self._name:  # nothing but definitions
            return offset(max(raw.rfind(b"\n["), raw.rfind(b"\n\n")) + 1 or raw.rfind(b"\n") + 1), ""
        if opening := self._opening(*self._opened):
            return offset(raw.rfind(b"\n") + 1), opening
        if self._name in OPENED or raw[self._end :].strip():
            return offset(self._end), ""
        if not self._inner:
            return self._source.text.rfind(" ") + 1, ""
        line = self._line(self._inner)
        if self._name == "Paragraph":
            return offset(self._inner), "x\n" if line == self._inner else "x "
        if line < self._inner and (item := _item(raw[line : self._inner])):
            return offset(line), f"{item}x\n\n"
        return offset(self._inner), ""

    def _line(self, at: int) -> int:
        return self._source.raw.rfind(b"\n", 0, at) + 1

    def _read(self) -> None:
        depth = closed = 0
        for event, span in _events(self._source):
            kind, value = (event, None) if type(event) is str else next(iter(event.items()))
            if kind == "Start":
                name = _name(value)
                if depth == 0 or (depth == 1 and name == "Item"):
                    self._name, self._start, self._end, self._inner = name, span["start"], span["end"], 0
                elif not closed:
                    self._inner = span["start"]
                if name in OPENED:
                    self._opened = name, span["start"], span["end"]
                depth += 1
                closed += name in CLOSED
            elif kind == "End":
                depth -= 1
                closed -= _name(value) in CLOSED
            elif depth and not closed:
                self._inner = span["end"] if kind in ("SoftBreak", "HardBreak") else span["start"]

    def _opening(self, name: str, start: int, end: int) -> str:
        """What begins a block like this one, if it does not end in this text."""
        raw = self._source.raw
        if not name or raw[end:].strip(b" \t\r\n>"):
            return ""
        first, _, rest = self._source.slice(start, end).rstrip().partition("\n")
        last = rest.rpartition("\n")[2].strip(" \t>")
        line = self._line(start)
        marks = _item(raw[line:start]) or self._source.slice(line, start)
        if name == "CodeBlock":
            fence = FENCE.match(first)
            is_open = fence and (not last.startswith(fence[0]) or last.strip(fence[0][0]))
            return f"{marks}{first}\n" if is_open else ""
        opening, ends = next((opening, ends) for begins, opening, ends in HTML_OPENINGS if begins.match(first))
        is_closed = end < len(raw) if ends is None else bool(ends.search(last or first))
        return "" if is_closed else marks + opening


def _item(indent: bytes) -> str:
    """The mark of an item whose content is indented so far; nothing for other marks and for what is not an indent."""
    width = len(indent.expandtabs(4))
    if width < len("- ") or indent.strip(b" \t"):
        return ""
    return "- " if width == len("- ") else f"{'1' * min(width - 2, 9)}. "


class _Open(NamedTuple):
    """A link or an image whose text is being read."""

    name: str
    kind: str  # pyromark's link_type


class _Reader:
    """Reads pyromark's events once, from left to right."""

    def __init__(self, text: str, *, mdx: bool = False) -> None:
        self._mdx, self._skipped = mdx, 0  # everything before this offset is skipped
        self._source = Source(text)
        self._open: list[_Open] = []
        self._text_end = 0  # where the text of the innermost link ends, as far as it was read
        self._in_code = False  # a code block, or <code>
        self._html: list[tuple[str, int, int]] = []
        self._candidates: list[int] = []  # bytes at which a second definition of a label may begin
        self._block_end = 0  # of the paragraph, heading or cell that is being read
        self._no_code_end = False  # no </code> is left in it

    def parts(self) -> Iterator[Heading | Raw]:
        start = end = -1
        for event, span in _events(self._source):
            if type(event) is str:
                end = span["end"] if start >= 0 else end
                continue
            ((kind, value),) = event.items()
            name = _name(value) if kind in ("Start", "End") else ""
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
        for event, span in _events(self._source):
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
        while found := mentions.BEGINS.search(text, at, limit):
            stop = mentions.end_of(text, found, limit)
            if stop is not None:
                yield mentions.made(text, found.start(), stop)
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


def mdx_links(text: str) -> Iterator[Found]:
    return links(text, mdx=True)

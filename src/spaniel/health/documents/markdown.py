"""Finds links, headings and raw HTML in Markdown and MDX, and links in the Markdown cells of notebooks."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import pyromark

from spaniel.health.documents import data, html, mentions
from spaniel.health.documents.html import MARKDOWN_TAG, links_of
from spaniel.health.documents.mentions import LINE_END, LinkSpan, MappedText, shifted
from spaniel.health.documents.quoting import decode, from_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator


FRONT = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*+(?:\r\n|\n|\r)")
FRONT_ENDS = {  # YAML may also end with dots
    "---": re.compile(r"^(?:---|[.]{3})[ \t]*+$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*+$", re.MULTILINE),
}
LONGEST_FRONT = 1 << 20  # characters

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
LINKS = frozenset({"Link", "Image"})
TEXT_BLOCKS = frozenset({"Paragraph", "Heading", "TableCell", "Item"})
CONTAINERS = frozenset({"BlockQuote", "List", "Item", "FootnoteDefinition"})  # blocks that contain blocks
ENDS = LINKS | TEXT_BLOCKS | {"CodeBlock", "HtmlBlock"}
STYLES = frozenset({"Emphasis", "Strong", "Strikethrough"})  # their marks may be part of a bare URL
WWW = re.compile(rb"www\.", re.IGNORECASE)
CODE_END = re.compile(rb"</code", re.IGNORECASE)
LONGEST = 16_384  # characters of a destination; anything longer is data
DEFINITION = re.compile(rb"^[ \t>*+0-9.)-]*+(?P<definition>\[(?!\^)[^\[\]]{1,999}\]:)", re.MULTILINE)
LABEL = re.compile(r"\[(?:[^\[\]\\]|\\.){0,999}+\]:", re.DOTALL)
# What may precede a destination: blanks, and one line end with the marks of block quotes after it.
BEFORE = re.compile(r"[ \t]*+(?:(?:\r\n|\n|\r)[ \t>]*+)?")
ANGLED = re.compile(r"<((?:[^<>\\\r\n]|\\.)*+)>")
PLAIN = re.compile(r"(?:[^\s()\\\x00-\x1f\x7f]++|\\.?)++")  # between two parentheses
LONE_CR = re.compile(r"\r(?!\n)")  # a line end that pulldown-cmark does not know
SURROGATE = re.compile("[\ud800-\udfff]")
CONTINUATION = bytes(range(0x80, 0xC0))  # UTF-8 bytes that do not start a character
# Characters parsed at a time: the tree of "[](a)[](a)…" and its links take 80 bytes per character.
WINDOW = 1 << 17
WINDOWS = 16  # a longer document is read in at least this many parts
OPENED = frozenset({"CodeBlock", "HtmlBlock"})  # blocks that continue until they are closed
CLOSED = OPENED | LINKS  # are not divided inside a block
FENCE = re.compile(r"`{3,}|~{3,}")
# How an HTML block starts, the start of a similar block, and the end: a line that contains this, or a blank line.
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
STRIDE = 4096  # bytes between two known offsets

# MDX: statements, comments and values of JavaScript are not Markdown; indentation is not code, a tag starts no block.
STATEMENT = re.compile(rb"(?:import|export)\b")
VALUE = re.compile(r"(?<==)\{[^{}\r\n]*+\}")
WRITTEN = re.compile(r"\S")
INDENT = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<marks>(?:(?:[-+*>]|\d{1,9}[.)])[ \t]++)*+)(?P<tag><(?=[A-Za-z/!]))?", re.MULTILINE
)
NO_BLOCK = "\u2060"  # inserted before a tag at the start of a line, to make it part of a paragraph


class Heading(NamedTuple):
    """The source of a heading without its marks."""

    text: str


class RawHtml(NamedTuple):
    """A block of raw HTML, or a single tag."""

    text: str


class Utf8Text:
    """A text and its UTF-8 bytes. pyromark returns byte offsets; everything else counts characters."""

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
        """Convert a byte offset to characters."""
        if len(self._known) == 1:
            return at
        block = at // STRIDE
        return self._known[block] + len(self.raw[block * STRIDE : at].translate(None, CONTINUATION))

    def span(self, span: dict[str, int]) -> tuple[int, int]:
        return self.offset(span["start"]), self.offset(span["end"])

    def slice(self, start: int, end: int) -> str:
        return self.raw[start:end].decode("utf-8", "replace")


def markdown_links(text: str) -> Iterator[LinkSpan]:
    """Yield the links of a Markdown document in their order."""
    front, start = front_matter(text)
    yield from front
    yield from _body_links(text, start)


def mdx_links(text: str) -> Iterator[LinkSpan]:
    """Yield the links of an MDX document in their order."""
    front, start = front_matter(text)
    yield from front
    body = _mdx_as_markdown(text, start)
    yield from map(body.in_source, _body_links(body.text, 0, mdx=True))


def _body_links(text: str, start: int, *, mdx: bool = False) -> Iterator[LinkSpan]:
    for window, moved in _windows(text, start):
        yield from shifted(sorted(_LinkReader(window, mdx=mdx).links(), key=lambda link: link.start), moved)


def _parts(text: str, *, mdx: bool = False) -> Iterator[Heading | RawHtml]:
    """Yield the headings and the raw HTML of a document, which define its anchors."""
    start = front_matter(text)[1]
    if mdx:
        text, start = _mdx_as_markdown(text, start).text, 0
    for window, _ in _windows(text, start):
        yield from _LinkReader(window).parts()


def _windows(text: str, begin: int) -> Iterator[tuple[str, int]]:
    """Split a long text, because a parser's tree is much larger than its text; yield each part and the number to add to
    its offsets. A part ends at the end of a block. A longer block is divided; its rest starts with what opens it."""
    text, opening = LONE_CR.sub("\n", text), ""
    size = max(WINDOW, len(text) // WINDOWS)
    while len(text) - begin > size:
        end = text.rfind("\n", begin + size // 2, begin + size) + 1 or begin + size
        window, moved = opening + text[begin:end], begin - len(opening)
        cut, following = _Splitter(window).cut()
        if cut <= len(opening):  # otherwise only the opening would be read
            cut, following = len(window), ""
        yield window[:cut], moved
        begin, opening = moved + cut, following
    yield opening + text[begin:], begin - len(opening)


def front_matter(text: str) -> tuple[Iterator[LinkSpan], int]:
    """Return the links of the front matter (YAML, or TOML as plain text), and where the body starts."""
    opened = FRONT.match(text)
    if opened is None:
        return iter(()), 0
    fence = opened["fence"]
    closed = FRONT_ENDS[fence].search(text[:LONGEST_FRONT].replace("\r", "\n"), opened.end())
    if closed is None:
        return iter(()), 0
    front = text[opened.end() : closed.start()]
    links = data.yaml_links(front) if fence == "---" else mentions.text_links(front)
    return shifted(links, opened.end()), closed.end()


def _events(source: Utf8Text) -> Iterator[tuple[Any, dict[str, int]]]:
    text: Any = source.parsed
    events: Any = pyromark.events_with_range(text, options=OPTIONS)
    return iter(events)


def _name(value: Any) -> str:
    """Return the name of the element of a Start or End event."""
    return value if isinstance(value, str) else next(iter(value))


class _Splitter:
    """Finds the last position at which a text can be split.

    That is the start of a top-level block or list item. Text before it affects it by reference definitions only, and
    those only decide whether the text of a reference link is shown.
    """

    def __init__(self, text: str) -> None:
        self._source = Utf8Text(text)
        self._name = ""  # of the last block
        self._start = self._end = 0
        self._inner = 0  # the last start of a line or an element in the block that is not CLOSED
        self._opened = ("", 0, 0)  # the last of the OPENED blocks, at any depth: name, start, end

    def cut(self) -> tuple[int, str]:
        """Return where to cut, and what to insert before the rest so that it is parsed as before."""
        raw, offset = self._source.raw, self._source.offset
        self._read()
        if line := self._line(self._start):
            return offset(line), ""
        if not self._name:  # only definitions
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
        """Return the start of a similar block if this one does not end in this text."""
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
    """Return the mark of a list item whose content has this indentation; "" for other marks."""
    width = len(indent.expandtabs(4))
    if width < len("- ") or indent.strip(b" \t"):
        return ""
    return "- " if width == len("- ") else f"{'1' * min(width - 2, 9)}. "


class _OpenLink(NamedTuple):
    """A link or an image whose text is being read."""

    name: str
    kind: str  # pyromark's link_type


class _LinkReader:
    """Reads pyromark's events once, from start to end."""

    def __init__(self, text: str, *, mdx: bool = False) -> None:
        self._mdx, self._skipped = mdx, 0  # everything before this offset is skipped
        self._source = Utf8Text(text)
        self._open: list[_OpenLink] = []
        self._text_end = 0  # end of the text of the innermost link, so far
        self._in_code = False  # a code block, or <code>
        self._html: list[tuple[str, int, int]] = []
        self._candidates: list[int] = []  # byte offsets of possible second definitions of a label
        self._block_end = 0  # of the current paragraph, heading or cell
        self._no_code_end = False  # it has no further </code>

    def parts(self) -> Iterator[Heading | RawHtml]:
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
            elif kind == "InlineHtml":
                yield RawHtml(value)
            elif kind == "Html":
                self._html.append((value, span["start"], span["end"]))
            elif kind == "End" and name == "HtmlBlock":
                yield RawHtml("".join(piece for piece, _, _ in self._html))
                self._html.clear()

    def _heading_start(self, span: dict[str, int]) -> int:
        raw = self._source.raw
        start = span["start"]
        while start < span["end"] and raw[start : start + 1] == b"#":
            start += 1
        return start

    def _heading_end(self, start: int, end: int) -> int:
        """Return the end without closing marks or the underline."""
        text = self._source.slice(start, end).rstrip(" \t\r\n")
        lines = re.split(r"\r\n|\n|\r", text)
        if len(lines) > 1:  # an underlined heading
            text = text[: len(text) - len(lines[-1])].rstrip(" \t\r\n")
        else:
            unmarked = text.rstrip("#")
            text = unmarked if not unmarked or unmarked[-1] in " \t" else text
        return start + len(text.encode("utf-8", "replace"))

    def links(self) -> Iterator[LinkSpan]:  # noqa: C901, PLR0912  one loop, because it runs for every word
        if "]:" in self._source.text:
            yield from self._definitions()
        run = run_end = -1  # text without markup except emphasis, where bare URLs are searched for
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
                else:  # a name, or the checkbox of a task
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
            self._open.append(_OpenLink(name, value[name]["link_type"]))
            self._text_end = span["start"] + (1 if name == "Link" else 2)
        elif name == "CodeBlock":
            self._in_code = True
        elif name in TEXT_BLOCKS:
            self._block_end, self._no_code_end = span["end"], False
            if self._mdx and name == "Paragraph" and STATEMENT.match(self._source.raw, span["start"]):
                self._skipped = span["end"]

    def _end(self, name: str, span: dict[str, int]) -> Iterator[LinkSpan]:
        if name == "HtmlBlock":
            yield from self._html_links()
        elif name not in LINKS:
            self._in_code = False
        else:
            ended = self._open.pop()
            if self._in_code or any(outer.name == "Image" for outer in self._open):
                return  # the alternative text of an image is plain text
            if ended.kind == "Inline":
                at = self._source.raw.find(b"(", self._text_end, span["end"])
                text = self._source.text
                yield from _destination(text, _past(BEFORE, text, self._source.offset(at + 1)))
            elif ended.kind == "Autolink":
                start, end = self._source.offset(span["start"] + 1), self._source.offset(span["end"] - 1)
                yield LinkSpan(decode(self._source.text[start:end], "autolink"), start, end, "autolink")

    def _raw_html(self, kind: str, value: str, span: dict[str, int]) -> Iterator[LinkSpan]:
        if kind == "Html":
            start, end = self._source.span(span)
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

    def _tag_links(self, tag: re.Match[str], span: dict[str, int]) -> Iterator[LinkSpan]:
        """Yield the links of a tag. Its later lines may follow the marks of a block quote."""
        start, end = self._source.span(span)
        written, text = tag.string, self._source.text
        if len(written) == end - start:
            yield from shifted(links_of(tag), start)
            return
        pieces: list[tuple[str, int, int]] = []
        at = start
        for line in written.splitlines(keepends=True):  # each is the end of a source line
            stop = LINE_END.search(text, at, end)
            at = stop.end() if stop else end
            pieces.append((line, at - len(line), at))
        yield from map(MappedText(pieces).in_source, links_of(tag))

    def _html_links(self) -> Iterator[LinkSpan]:
        """Yield the links of an HTML block. Its lines may follow the marks of a block quote."""
        block = MappedText(self._html)
        yield from map(block.in_source, html.html_links(block.text, is_part=True))
        self._html = []

    def _bare(self, start: int, end: int) -> Iterator[LinkSpan]:
        """Yield the bare URLs of a run of text."""
        raw = self._source.raw
        if raw.find(b"://", start, end) < 0 and not WWW.search(raw, start, end):
            return
        text, at, limit = self._source.text, self._source.offset(start), self._source.offset(end)
        while found := mentions.URL_START.search(text, at, limit):
            stop = mentions.url_end(text, found, limit)
            if stop is not None:
                yield mentions.bare_link(text, found.start(), stop)
            at = stop or found.end()

    def _definitions(self) -> Iterator[LinkSpan]:
        """Yield the first definition of each label, and note where others may start; they are not part of any block."""
        defined = pyromark.reference_definitions(self._source.parsed, options=OPTIONS)
        known = {definition["span"]["start"] for definition in defined.values()}
        for start in known:
            yield from self._definition(start)
        if known:
            found = (match.start("definition") for match in DEFINITION.finditer(self._source.raw))
            self._candidates = [start for start in found if start not in known]

    def _definition(self, start: int) -> Iterator[LinkSpan]:
        text = self._source.text
        if label := LABEL.match(text, self._source.offset(start)):
            yield from _destination(text, _past(BEFORE, text, label.end()))

    def _drop_candidates(self, span: dict[str, int]) -> None:
        """Drop candidates inside a block: they are text, not definitions."""
        first = bisect_left(self._candidates, span["start"])
        del self._candidates[first : bisect_left(self._candidates, span["end"], first)]


def _is_container(event: Any) -> bool:
    if type(event) is str or not (value := event.get("Start") or event.get("End")):
        return False
    return (value if isinstance(value, str) else next(iter(value))) in CONTAINERS


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _destination(text: str, start: int) -> Iterator[LinkSpan]:
    """Yield the link destination that starts here, unless it is empty."""
    if text.startswith("<", start):
        if (angled := ANGLED.match(text, start)) and (url := from_markdown(angled[1])):
            yield LinkSpan(url, *angled.span(1), "markdown-angled")
        return
    at, depth = start, 0
    while True:  # up to white space or an unmatched closing parenthesis
        at = _past(PLAIN, text, at)
        if text.startswith("(", at):
            depth += 1
        elif text.startswith(")", at) and depth:
            depth -= 1
        else:
            break
        at += 1
    if 0 < at - start < LONGEST:
        yield LinkSpan(from_markdown(text[start:at]), start, at, "markdown")


def _mdx_as_markdown(text: str, start: int) -> MappedText:
    """Convert MDX to Markdown with the same links."""
    plain = _without_code(text)
    pieces: list[tuple[str, int, int]] = []
    at = start
    for line in INDENT.finditer(plain, start):
        if line["indent"]:
            pieces.append((plain[at : line.start()], at, line.start()))
            at = line.end("indent")
        if line["tag"]:
            pieces += (
                (plain[at : line.start("tag")], at, line.start("tag")),
                (NO_BLOCK, line.start("tag"), line.start("tag")),
            )
            at = line.start("tag")
    return MappedText([*(piece for piece in pieces if piece[0]), (plain[at:], at, len(plain))])


def _without_code(text: str) -> str:
    """Replace JavaScript comments and values by characters without a meaning, one for one."""
    made: list[str] = []
    at = 0
    while (begin := text.find("{/*", at)) >= 0 and (end := text.find("*/", begin + 3)) >= 0:
        made += text[at:begin], WRITTEN.sub("_", text[begin:end])
        at = end
    return VALUE.sub(lambda found: f'"{" " * (len(found[0]) - 2)}"', "".join([*made, text[at:]]))


# -- Anchors

ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*(?:[^{}]*[ \t])?#(?P<id>[\w:.-]+)[^{}]*\}[ \t]*\Z")
INLINE_LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]\\]|\\.){0,999}+)\](?:\((?:[^()\\]|\\.|\([^()]{0,999}+\)){0,4999}+\)|\[[^\]]{0,999}+\])"
)
TAG = re.compile(r"<[A-Za-z/!][^<>]{0,999}+>")
SLUG_CATEGORIES = frozenset({"L", "M", "Nd", "Pc"})  # letters, marks and digits, but not "①" or "½"
EMOJI_STYLE = "\ufe0f"  # follows a character that is shown as an emoji; GitHub keeps it, because it is a mark
EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]{1,999}?)(?<=\S)\1(?!\w)")


def mdx_anchors(text: str) -> Iterator[str]:
    return markdown_anchors(text, mdx=True)


def markdown_anchors(text: str, *, mdx: bool = False) -> Iterator[str]:
    """Yield the anchors of headings, as on GitHub, and the ids of raw HTML."""
    headings: list[str] = []
    for part in _parts(text, mdx=mdx):
        if "<" in part.text:
            yield from html.html_anchors(part.text, is_part=True)
        if isinstance(part, Heading):
            if named := ATTRIBUTES.search(part.text[-1000:]):
                yield named["id"]
            headings.append(part.text)  # whole, because GitHub has no such ids
    taken: dict[str, int] = {}
    for heading in headings:
        name = base = slug(heading)
        count = taken.get(base, 0)
        while name in taken:  # the second heading with a name gets `-1`, the third `-2`
            count += 1
            name = f"{base}-{count}"
        taken[base] = count
        taken.setdefault(name, 0)
        yield name
        if EMOJI_STYLE in name:
            yield name.replace(EMOJI_STYLE, "")  # as other sites make it


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading: lower case, hyphens for blanks, no punctuation.

    >>> slug("What's new? `v2`")
    'whats-new-v2'
    """
    shown = TAG.sub("", INLINE_LINK.sub(_link_text, INLINE_LINK.sub(_link_text, heading)))
    plain = from_markdown(EMPHASIS.sub(r"\2", shown)).strip().lower()
    return "".join(char for char in plain if _is_in_slug(char)).replace(" ", "-")


def _link_text(link: re.Match[str]) -> str:
    return link["text"]


def _is_in_slug(char: str) -> bool:
    category = unicodedata.category(char)
    return char in "- " or category in SLUG_CATEGORIES or category[0] in SLUG_CATEGORIES


# -- Notebooks

MARKDOWN_CELLS = frozenset({"markdown", "heading"})
CELL = 2  # depth of brackets in a cell: {"cells": [{


def notebook_links(text: str) -> Iterator[LinkSpan]:
    """Yield the links of the Markdown cells of a Jupyter notebook."""
    cells = _Cells()
    for token in data.TOKEN.finditer(text):
        if token["string"] is None:
            if parts := cells.bracket(token[0]):
                cell = data.unescaped_json(parts)
                yield from data.links_in_json(cell, markdown_links(cell.text))
        elif data.COLON.match(text, token.end()):
            cells.key(decode(token["string"], "json"))
        else:
            cells.value(token["string"], token.start("string"))


class _Cells:
    """Collects the sources of cells, each a string or a list of lines, from brackets, keys and strings."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._source: list[tuple[int, str]] = []
        self._is_markdown = False

    def bracket(self, sign: str) -> list[tuple[int, str]]:
        """Return the source of a Markdown cell that ends with this bracket."""
        if sign in ("{", "["):
            self._keys.append("")
            if self._depth == CELL + 1:
                self._source, self._is_markdown = [], False
            return []
        ended = self._source if self._depth == CELL + 1 and self._is_markdown else []
        if self._keys:
            self._keys.pop()
        return ended

    @property
    def _depth(self) -> int:
        """The depth of brackets in the list of cells; 0 outside."""
        return len(self._keys) if self._keys and self._keys[0] == "cells" else 0

    def key(self, name: str) -> None:
        if self._keys:
            self._keys[-1] = name

    def value(self, written: str, start: int) -> None:
        if not CELL < self._depth <= CELL + 2:
            return
        if self._keys[CELL] == "cell_type":
            self._is_markdown = written in MARKDOWN_CELLS
        elif self._keys[CELL] == "source":
            self._source.append((start, written))

"""Sanitizes Markdown from the web: removes raw HTML and link targets that are unsafe or invalid.

Code is kept as it is. Everything else is read once, from left to right, and where a piece is removed its neighbours
must not become new markup. How far a search looks ahead for an end is limited, so that time stays linear."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import NamedTuple

from spaniel.reading.data_files import data_file
from spaniel.reading.html.clean import hides
from spaniel.reading.html.links import (
    ESCAPED_CHARACTERS,
    HARMFUL_SCHEMES,
    MAX_HREF,
    NEEDS_ESCAPING,
    SAFE_SCHEMES,
    WEB_PREFIXES,
    LinkResolver,
    scheme_of,
)
from spaniel.reading.markdown.code_blocks import CodeBlocks, CodeSpans, HtmlBlocks

ELEMENTS = {sort: frozenset(names.split()) for sort, names in data_file("raw_html")["elements"].items()}
REMOVED_WITH_CONTENT, RAW_TEXT_TAGS, INLINE_TAGS, HARMLESS_TAGS = (
    ELEMENTS[sort] for sort in ("gone", "raw_text", "inline", "harmless")
)
KNOWN_TAGS = frozenset().union(*ELEMENTS.values())
HEADING_MARKS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_VALUE = r"\"[^\"]{0,8192}+\"|'[^']{0,8192}+'|[^\s\"'=<>`]++"
_ATTRIBUTE = rf"[^\s\"'<>/=]++(?:\s*+=\s*+(?:{_VALUE}))?+"
TAG = re.compile(rf"<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:-]*+)(?P<rest>(?:[\s/]++{_ATTRIBUTE}){{0,200}}+)[\s/]*+>")
ATTRIBUTE = re.compile(rf"([^\s\"'<>/=]++)(?:\s*+=\s*+({_VALUE}))?+")


class RawTag(NamedTuple):
    """A tag in a text."""

    name: str  # in lower case
    closing: bool
    attributes: dict[str, str]

    @property
    def is_known(self) -> bool:
        """Whether this is an element of HTML; `<T>` and `<your-name>` are meant as text."""
        return self.name in KNOWN_TAGS or bool(self.attributes)

    @property
    def bare(self) -> str:
        return f"</{self.name}>" if self.closing else f"<{self.name}>"

    @property
    def hides(self) -> bool:
        """Whether what it holds is not shown, or runs."""
        if self.closing:
            return False
        return (
            self.name in REMOVED_WITH_CONTENT
            or "hidden" in self.attributes
            or hides(self.attributes.get("style", "")[:2000])
        )


def parse_tag(match: re.Match[str]) -> RawTag:
    found: dict[str, str] = {}
    for name, value in ATTRIBUTE.findall(match["rest"]):
        text = value[1:-1] if value[:1] in ("'", '"') else value
        found.setdefault(name.lower(), unescape(text))
    return RawTag(match["name"].lower(), bool(match["end"]), found)


NO_BRACKETS = dict.fromkeys(map(ord, "()"))
ESCAPED_PUNCTUATION = re.compile(r"\\([!-/:-@\[-`{-~])")
_PLAIN = r"[^\s()\\<]|\\\S"
_NESTED = rf"(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*+\))*+\))*+"
_BLANKS = r"[ \t]*+\n?[ \t]*+"
# What stands behind `](` and ends with `)`: an address, and perhaps a title.
INLINE_TARGET = re.compile(
    rf"{_BLANKS}(?:<(?P<angled>(?:[^<>\\\n]|\\.)*+)>|(?P<bare>{_NESTED}))"
    rf"(?P<title>[ \t\n]++(?:\"[^\"]{{0,500}}+\"|'[^']{{0,500}}+'|\([^()]{{0,500}}+\)))?+{_BLANKS}\)"
)
# What stands behind `[name]:`.
DEFINED_TARGET = re.compile(r"<(?P<angled>[^<>\n]*+)>|(?P<bare>[^\s<]++)")


class TargetSanitizer:
    """Settles addresses as long as there is room for them."""

    def __init__(self, url: str | None, room: int) -> None:
        self._absolute = url is not None
        self._resolve = LinkResolver(url if url and url.startswith(WEB_PREFIXES) else "", room)
        self.harmful = 0

    @property
    def cut(self) -> bool:
        return self._resolve.cut

    def settle(self, written: str, *, balanced: bool = False) -> str | None:
        """The address as it may stand; None for one that runs something, is none, or finds no room.

        Brackets that come in pairs may stand in Markdown.
        """
        if self._resolve.has_room_for(written.translate(NO_BRACKETS) if balanced and "(" in written else written):
            return written
        meant = _unescaped(written) if len(written) <= MAX_HREF else ""
        target = self._resolve(meant).strip()
        if target.startswith(WEB_PREFIXES) and not NEEDS_ESCAPING.search(target):
            return target
        scheme = scheme_of(target)
        if target and (scheme in SAFE_SCHEMES or not (scheme or self._absolute)):
            return target.translate(ESCAPED_CHARACTERS) or None
        self.harmful += is_harmful(meant)
        return None


def is_harmful(address: str) -> bool:
    return scheme_of(_unescaped(address)) in HARMFUL_SCHEMES


def _unescaped(written: str) -> str:
    """Escapes and references stand for their characters, in addresses too."""
    bare = ESCAPED_PUNCTUATION.sub(r"\1", written) if "\\" in written else written
    return unescape(bare) if "&" in bare else bare


def written_target(match: re.Match[str]) -> str:
    """The address that INLINE or DEFINED found."""
    return match["angled"] if match["angled"] is not None else match["bare"]


TOKEN = re.compile(
    r"(?=[\\`<\[\]])(?:"  # skips all other characters quickly
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|(?P<hidden><!--|<\?|<!(?=[a-zA-Z\[]))"
    r"|(?P<auto><[a-zA-Z][a-zA-Z0-9+.-]{1,31}+:[^\s<>]*+>)"
    r"|(?P<mail><[\w.+-]{1,64}+@[a-zA-Z0-9.-]{1,255}+>)"
    r"|(?P<tag></?(?=[a-zA-Z]))"
    r"|(?P<open>\[)"
    r"|(?P<target>\]\()"
    r"|(?P<close>\]))"
)
DEFINITION = re.compile(r"\[(?:[^\[\]\\\n<`]|\\.){1,999}+\]:[ \t]*+\n?[ \t]*+(?=\S)")
ENDINGS = {"<!--": "-->", "<?": "?>", "<!": ">"}
JOINING = "`]\\<!&[("  # behind one of these, what comes next could become part of a sign
FENCE_CHARACTERS = ("`", "~")
FENCE_MARK = re.compile(r"[ \t>]*+(?:`{3,}|~{3,})")
LOOK_AHEAD = 200  # characters
MAX_PIECES = 20_000  # pieces


class SanitizedMarkdown(NamedTuple):
    """Markdown, and what was taken from it."""

    text: str
    hidden: int
    harmful: int
    cut: bool  # whether targets went because there were too many bytes of them


def sanitize_markdown(text: str, url: str | None, room: int) -> SanitizedMarkdown:
    """Remove hidden and active content and unsafe targets. At most `room` characters of targets are written."""
    cleaner = _Sanitizer(text, TargetSanitizer(url, room))
    blocks = CodeBlocks(text)
    at = 0
    while at < len(text):
        block = blocks.next(at)
        start = block.start if block else len(text)
        at = cleaner.clean(at, start)
        if block and at <= start:
            cleaner.write(text[start : block.end] + block.closing)
            at = block.end
    return SanitizedMarkdown(cleaner.text, cleaner.hidden, cleaner.targets.harmful, cleaner.targets.cut)


class _Sanitizer:
    """Cleans the parts of a text that are no blocks of code, one after the other."""

    def __init__(self, text: str, to: TargetSanitizer) -> None:
        self._text, self.targets = text, to
        self._done: list[str] = []
        self.out: list[str] = []
        self._html = HtmlBlocks(text)
        self._last = "\n"  # character
        self._bare = True  # whether nothing but blanks stand in the line so far
        self._open: list[int] = []  # places of brackets in the output that wait for their end
        self._anchors: list[tuple[int, str | None]] = []  # places where an <a> began, and its target
        self._missing: set[str] = set()  # ends that do not come any more
        self._patience = 8 * len(text) + 1000  # characters in which ends of elements are looked for
        self.hidden = 0

    @property
    def text(self) -> str:
        return "".join((*self._done, *self.out))

    def write(self, piece: str) -> None:
        if len(self.out) >= MAX_PIECES:
            self._forget()
        self.out.append(piece)
        if piece:
            self._last = piece[-1]
            end = piece.rfind("\n") + 1
            self._bare = (bool(end) or self._bare) and not piece[end:].strip(" \t")

    def clean(self, at: int, end: int) -> int:
        """Answers where it ended: perhaps behind `end`, for what is hidden may hold blocks of code."""
        text = self._text
        self._open.clear()
        self._anchors.clear()
        spans = CodeSpans(text, at, end)
        while at < end and (sign := TOKEN.search(text, at, end)):
            self.write(text[at : sign.start()])
            match sign.lastgroup:
                case "ticks":
                    at = self._code(sign, spans)
                case "hidden":
                    at = self._hide(sign)
                case "auto":
                    at = self._autolink(sign)
                case "tag":
                    at = self._tag(sign.start())
                case "open":
                    at = self._begin_link(sign)
                case "target":
                    at = self._target(sign)
                case "close":
                    at = self._close_bracket(sign)
                case _:
                    at = sign.end()
                    self.write(sign[0])
        self.write(text[at:end])
        return max(at, end)

    def _code(self, sign: re.Match[str], spans: CodeSpans) -> int:
        """Keep code spans; escape other backticks, so that all parsers find the same code."""
        end = None if self._html.hold(sign.start()) else spans.end_of(sign.start(), len(sign[0]))
        self.write("\\`" * len(sign[0]) if end is None else self._text[sign.start() : end])
        return sign.end() if end is None else end

    def _forget(self) -> None:
        """Pieces take many times what they hold: of a long text few are kept, and what was open is open no more."""
        self._done.append("".join(self.out))
        self.out.clear()
        self._open.clear()
        self._anchors.clear()

    def _begin_link(self, sign: re.Match[str]) -> int:
        if self._bare and (found := DEFINITION.match(self._text, sign.start())):
            return self._define(found)
        self._open.append(len(self.out))
        self.write(sign[0])
        return sign.end()

    def _close_bracket(self, sign: re.Match[str]) -> int:
        """One of a definition that does not look like one keeps its distance from an address that runs."""
        if self._open:
            self._open.pop()
        runs = self._text.startswith(":", sign.end()) and self._runs(sign.end() + 1)
        self.targets.harmful += runs
        self.write("] " if runs else sign[0])
        return sign.end()

    def _runs(self, start: int) -> bool:
        return is_harmful(self._text[start : start + LOOK_AHEAD].lstrip(" \t\n<"))

    def _hide(self, sign: re.Match[str]) -> int:
        """A comment, an instruction or a declaration goes; one that does not end is only text."""
        ending = ENDINGS[sign[0]]
        end = self._find(ending, sign.end())
        if end is None:
            self.write("\\" + sign[0])
            return sign.end()
        self.hidden += ending == "-->"
        return self._behind(end)

    def _find(self, ending: str, start: int) -> int | None:
        """Where an ending ends; once it is not found it never is."""
        found = -1 if ending in self._missing else self._text.find(ending, start)
        if found < 0:
            self._missing.add(ending)
            return None
        return found + len(ending)

    def _behind(self, end: int) -> int:
        """Something goes. What was before it and what is behind it stay apart where they would become one sign.

        What now begins its line, or may, must not open a block of code that was none: such a mark goes too.
        """
        if self._last in JOINING:
            self.write(" ")
        mark = FENCE_MARK.match(self._text, end)
        return mark.end() if mark and self._bare else end

    def _autolink(self, sign: re.Match[str]) -> int:
        if scheme_of(sign[0][1:-1]) in SAFE_SCHEMES:
            self.write(sign[0])
        else:
            self.targets.harmful += is_harmful(sign[0][1:-1])
            return self._behind(sign.end())
        return sign.end()

    def _target(self, sign: re.Match[str]) -> int:
        """`](address)`: with the address that is meant, or the text alone."""
        found = INLINE_TARGET.match(self._text, sign.end())
        if found is None:
            runs = self._runs(sign.end())
            self.targets.harmful += runs
            self.write("] (" if runs else "](")
            return sign.end()
        place = self._open.pop() if self._open else None
        written = written_target(found)
        target = self.targets.settle(written, balanced=found["angled"] is None) if written else None
        if target is not None:
            title = found["title"] or ""  # of words alone: if this is no link after all, it is text like any other
            self.write(f"]({target}{'' if MARKUP_CHARACTERS.search(title) else title})")
        elif place is not None:
            self._unlink(place)
            return self._behind(found.end())
        else:
            self.write("] ")
        return found.end()

    def _unlink(self, place: int) -> None:
        """The text of a link alone; where it would open a block of code, its bracket stays."""
        before, _, inside = (*self.out[place - 1 : place + 2], "")[:3]
        self.out[place - 1 : place + 1] = [
            before.removesuffix("!"),
            "\\[" if inside.lstrip()[:1] in FENCE_CHARACTERS else "",
        ]
        self._bare = self._bare or not "".join(self.out[max(place - 1, len(self.out) - 4) :]).strip(" \t")

    def _define(self, sign: re.Match[str]) -> int:
        """`[name]: address`: a line of its own, which goes where the address does."""
        found = DEFINED_TARGET.match(self._text, sign.end())
        target = self.targets.settle(written_target(found)) if found else None
        if found is None or target is None:
            return self._text.find("\n", sign.end()) + 1 or len(self._text)
        self.write(sign[0] + target)
        return found.end()

    def _tag(self, start: int) -> int:
        found = TAG.match(self._text, start)
        if found is None:  # a lesser sign before a letter: no tag, and not to become one
            self.write("\\<")
            return start + 1
        tag = parse_tag(found)
        if not tag.is_known:
            self.write(found[0])
            return found.end()
        if tag.name in HARMLESS_TAGS and not tag.hides:
            self.write(tag.bare if tag.attributes else found[0])
            return found.end()
        if self._bare:  # the blanks before it go with it, or what follows would be code
            self.out[-1] = self.out[-1].rstrip(" \t")
        end = self._end_of(tag.name, found.end()) if tag.hides else None
        if end is None:
            end = self._replace(tag, found.end())
        else:
            self.hidden += 1
        return self._behind(end)

    def _replace(self, tag: RawTag, end: int) -> int:
        """Write what Markdown has for a tag, or nothing."""
        if tag.name == "a":
            self._anchor(tag)
        elif tag.name == "img":
            self._image(tag)
        elif tag.name in HEADING_MARKS:
            self.write("\n" if tag.closing else HEADING_MARKS[tag.name] if self._bare else "")
            if not tag.closing:
                peeked = self._text[end : end + LOOK_AHEAD]
                return end + len(peeked) - len(peeked.lstrip())
        elif tag.name not in INLINE_TAGS and not self._last.isspace():
            self.write(" ")
        return end

    def _anchor(self, tag: RawTag) -> None:
        """`<a href=x>words</a>` is a link where both of its tags are there."""
        if not tag.closing:
            href = tag.attributes.get("href", "").strip()
            self._anchors.append((len(self.out), self.targets.settle(href) if href else None))
            self.write("")
        elif self._anchors:
            place, target = self._anchors.pop()
            if target is not None:
                self.out[place] = "["
                self.write(f"]({target})")

    def _image(self, tag: RawTag) -> None:
        alt = " ".join(tag.attributes.get("alt", "").split())
        source = self.targets.settle(tag.attributes.get("src", "").strip())
        if alt and source:
            self.write(f"![{BRACKETS.sub('', alt)}]({source})")

    def _end_of(self, name: str, start: int) -> int | None:
        """Where an element ends that holds others of its name; None where it does not, or where that is far to seek."""
        depth = 1
        end = len(self._text)
        for found in _tags(name).finditer(self._text, start) if name in KNOWN_TAGS else ():
            depth += 0 if name in RAW_TEXT_TAGS and not found["end"] else -1 if found["end"] else 1
            if depth == 0 or found.end() - start > self._patience:
                end = found.end()
                break
        self._patience -= end - start
        return end if depth == 0 else None


MARKUP_CHARACTERS = re.compile(r"[<`\[\\]")
BRACKETS = re.compile(r"[\[\]\\<>`]")


@cache
def _tags(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(?P<end>/?){name}(?=[\s/>])[^>]*+>?", re.IGNORECASE)

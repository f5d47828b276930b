"""Markdown that somebody else wrote, made harmless: no raw HTML, no targets that run, none that lead nowhere.

What is in code stays as it is. All else is looked at once, from left to right, and where a piece goes its neighbours do
not become something new. How far a search may look ahead for an end is limited, so that time stays linear.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from spaniel.reading import markdown_targets as targets
from spaniel.reading.code_spans import CodeSpans
from spaniel.reading.fences import CodeBlocks
from spaniel.reading.html_blocks import HtmlBlocks
from spaniel.reading.links import SAFE, scheme_of
from spaniel.reading.raw_html import HARMLESS, HEADINGS, INLINE, KNOWN, RAW_TEXT, TAG, Tag, tag_of

SIGN = re.compile(
    r"(?=[\\`<\[\]])(?:"  # any other character is passed at once
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
ENDS = {"<!--": "-->", "<?": "?>", "<!": ">"}
JOINS = "`]\\<!&[("  # behind one of these, what comes next could become part of a sign
MARKS = ("`", "~")
FENCE_MARK = re.compile(r"[ \t>]*+(?:`{3,}|~{3,})")
PEEKED = 200  # characters
SOME = 20_000  # pieces


class Cleaned(NamedTuple):
    """Markdown, and what was taken from it."""

    text: str
    hidden: int
    harmful: int
    cut: bool  # whether targets went because there were too many bytes of them


def clean_markdown(text: str, url: str | None, room: int) -> Cleaned:
    """The text without what hides, runs or leads astray. Of targets, no more than `room` characters are written."""
    cleaner = _Cleaner(text, targets.Targets(url, room))
    blocks = CodeBlocks(text)
    at = 0
    while at < len(text):
        block = blocks.next(at)
        start = block.start if block else len(text)
        at = cleaner.clean(at, start)
        if block and at <= start:
            cleaner.write(text[start : block.end] + block.closing)
            at = block.end
    return Cleaned(cleaner.text, cleaner.hidden, cleaner.targets.harmful, cleaner.targets.cut)


class _Cleaner:
    """Cleans the parts of a text that are no blocks of code, one after the other."""

    def __init__(self, text: str, to: targets.Targets) -> None:
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
        if len(self.out) >= SOME:
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
        while at < end and (sign := SIGN.search(text, at, end)):
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
        """Code between back-ticks stays; others are escaped, so that everybody takes the same for code."""
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
        return targets.is_harmful(self._text[start : start + PEEKED].lstrip(" \t\n<"))

    def _hide(self, sign: re.Match[str]) -> int:
        """A comment, an instruction or a declaration goes; one that does not end is only text."""
        ending = ENDS[sign[0]]
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
        if self._last in JOINS:
            self.write(" ")
        mark = FENCE_MARK.match(self._text, end)
        return mark.end() if mark and self._bare else end

    def _autolink(self, sign: re.Match[str]) -> int:
        if scheme_of(sign[0][1:-1]) in SAFE:
            self.write(sign[0])
        else:
            self.targets.harmful += targets.is_harmful(sign[0][1:-1])
            return self._behind(sign.end())
        return sign.end()

    def _target(self, sign: re.Match[str]) -> int:
        """`](address)`: with the address that is meant, or the text alone."""
        found = targets.INLINE.match(self._text, sign.end())
        if found is None:
            runs = self._runs(sign.end())
            self.targets.harmful += runs
            self.write("] (" if runs else "](")
            return sign.end()
        place = self._open.pop() if self._open else None
        written = targets.of(found)
        target = self.targets.settle(written, balanced=found["angled"] is None) if written else None
        if target is not None:
            title = found["title"] or ""  # of words alone: if this is no link after all, it is text like any other
            self.write(f"]({target}{'' if MARKED.search(title) else title})")
        elif place is not None:
            self._unlink(place)
            return self._behind(found.end())
        else:
            self.write("] ")
        return found.end()

    def _unlink(self, place: int) -> None:
        """The text of a link alone; where it would open a block of code, its bracket stays."""
        before, _, inside = (*self.out[place - 1 : place + 2], "")[:3]
        self.out[place - 1 : place + 1] = [before.removesuffix("!"), "\\[" if inside.lstrip()[:1] in MARKS else ""]
        self._bare = self._bare or not "".join(self.out[max(place - 1, len(self.out) - 4) :]).strip(" \t")

    def _define(self, sign: re.Match[str]) -> int:
        """`[name]: address`: a line of its own, which goes where the address does."""
        found = targets.DEFINED.match(self._text, sign.end())
        target = self.targets.settle(targets.of(found)) if found else None
        if found is None or target is None:
            return self._text.find("\n", sign.end()) + 1 or len(self._text)
        self.write(sign[0] + target)
        return found.end()

    def _tag(self, start: int) -> int:
        found = TAG.match(self._text, start)
        if found is None:  # a lesser sign before a letter: no tag, and not to become one
            self.write("\\<")
            return start + 1
        tag = tag_of(found)
        if not tag.is_known:
            self.write(found[0])
            return found.end()
        if tag.name in HARMLESS and not tag.hides:
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

    def _replace(self, tag: Tag, end: int) -> int:
        """Write what Markdown has for a tag, or nothing."""
        if tag.name == "a":
            self._anchor(tag)
        elif tag.name == "img":
            self._image(tag)
        elif tag.name in HEADINGS:
            self.write("\n" if tag.closing else HEADINGS[tag.name] if self._bare else "")
            if not tag.closing:
                peeked = self._text[end : end + PEEKED]
                return end + len(peeked) - len(peeked.lstrip())
        elif tag.name not in INLINE and not self._last.isspace():
            self.write(" ")
        return end

    def _anchor(self, tag: Tag) -> None:
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

    def _image(self, tag: Tag) -> None:
        alt = " ".join(tag.attributes.get("alt", "").split())
        source = self.targets.settle(tag.attributes.get("src", "").strip())
        if alt and source:
            self.write(f"![{BRACKETS.sub('', alt)}]({source})")

    def _end_of(self, name: str, start: int) -> int | None:
        """Where an element ends that holds others of its name; None where it does not, or where that is far to seek."""
        depth = 1
        end = len(self._text)
        for found in _tags(name).finditer(self._text, start) if name in KNOWN else ():
            depth += 0 if name in RAW_TEXT and not found["end"] else -1 if found["end"] else 1
            if depth == 0 or found.end() - start > self._patience:
                end = found.end()
                break
        self._patience -= end - start
        return end if depth == 0 else None


MARKED = re.compile(r"[<`\[\\]")
BRACKETS = re.compile(r"[\[\]\\<>`]")


@cache
def _tags(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(?P<end>/?){name}(?=[\s/>])[^>]*+>?", re.IGNORECASE)

"""The plain text of one line of Markdown, such as a heading (CommonMark inlines), in linear time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterable


_MARKS = re.compile(r"[\\`*_~\[<]|&[#A-Za-z]")
# Nine of ten headings with Markdown are a single link, bold, or plain words and code: a shortcut for these.
_WORDS = r"[^\\`*_~\[\]<&]"
_WHOLE = re.compile(rf"\[({_WORDS}+)\]\([^\s()\\<>]*\)|\*\*(?!\s)({_WORDS}+)(?<!\s)\*\*")
_CODE = re.compile(rf"{_WORDS}*+(?:`[^`]+`{_WORDS}*+)+")
_TARGET = r"<(?:\\.|[^<>\\])*+>|(?!<)(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*+\))*+"
_TITLE = r"""\s++(?:"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\))"""
_INLINE = "a|abbr|b|br|cite|code|del|dfn|em|font|i|img|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|tt|u|var|wbr"
_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|(?P<open>!?\[)"
    rf"|\](?P<tail>\(\s*+(?:{_TARGET})(?:{_TITLE})?\s*+\))?"
    r"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+|[\w.+-]++@[\w.-]++)>"
    rf"|(?P<tag><(?:/[A-Za-z][\w-]*+\s*+|(?i:{_INLINE})(?:\s[^<>]*+)?|[A-Za-z][\w-]*+\s[^<>]*=[^<>]*+)/?>)"
    r"|(?P<emphasis>\*+|_+|(?<!~)~~(?!~))"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
)
_LINK_TARGET = re.compile(rf"\]\(\s*+(?:{_TARGET})(?:{_TITLE})?\s*+\)")
_NEAR = 8  # opening runs that are tried for a closing run (chosen; keeps hostile lines linear)


class _Bracket(NamedTuple):
    part: int  # index in the list of parts
    runs: int  # number of emphasis runs before it
    image: bool


class _Run(NamedTuple):
    """A delimiter run that may open or close emphasis."""

    part: int
    char: str
    length: int
    opens: bool
    closes: bool


def plain(markdown: str) -> str:
    """Return the text of a line. Images are omitted, unless there is nothing else: then their descriptions are used.

    >>> plain("**Bold** and [a link](https://e.x)")
    'Bold and a link'
    """
    if not _MARKS.search(markdown):
        return markdown
    if whole := _WHOLE.fullmatch(markdown):
        return _one_line(whole[whole.lastindex or 0])
    if _CODE.fullmatch(markdown):
        return _one_line(markdown.replace("`", ""))
    line = _Line(markdown)
    line.read()
    return _one_line("".join(line.parts)) or _one_line(" ".join(line.descriptions))


def visible_length(markdown: str, enough: int) -> int:
    """Count the characters of Markdown without the targets and titles of links and images.

    Counting stops at `enough`: the result is exact below it.
    """
    text = markdown.strip()
    hidden = 0
    for target in _LINK_TARGET.finditer(text):
        if target.start() - hidden >= enough:
            break
        hidden += target.end() - target.start() - 1
    return len(text) - hidden


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Line:
    """Parses one line into parts; a delimiter becomes empty once it turns out to be markup."""

    def __init__(self, markdown: str) -> None:
        self.text = markdown
        self.parts: list[str] = []
        self.descriptions: list[str] = []  # of images
        self._brackets: list[_Bracket] = []
        self._dead = 0  # brackets below this index cannot open a link: links do not nest
        self._runs: list[_Run] = []

    def read(self) -> None:
        at = 0
        ticks = self._ticks() if "`" in self.text else {}
        while found := _TOKEN.search(self.text, at):
            self.parts.append(self.text[at : found.start()])
            at = found.end()
            kind = found.lastgroup
            if kind == "ticks":
                at = self._code(found, ticks)
            elif kind == "open":
                self._brackets.append(_Bracket(len(self.parts), len(self._runs), found[0] == "!["))
                self.parts.append(found[0])
            elif kind == "emphasis":
                self._runs.append(_run(found, len(self.parts)))
                self.parts.append(found[0])
            elif found[0][0] == "]":
                at = self._close(found)
            else:
                self.parts.append(_written(found))
        self.parts.append(self.text[at:])
        self._emphasize(0)

    def _ticks(self) -> dict[int, list[int]]:
        """Return the starts of backtick runs by their length, last first."""
        places: dict[int, list[int]] = {}
        for run in re.finditer("`+", self.text):
            places.setdefault(len(run[0]), []).append(run.start())
        for starts in places.values():
            starts.reverse()
        return places

    def _code(self, found: re.Match[str], places: dict[int, list[int]]) -> int:
        """Read a code span up to the next run of as many backticks; without one they are literal."""
        width, start = len(found[0]), found.end()
        later = places.get(width, [])
        while later and later[-1] < start:
            later.pop()
        if not later:
            self.parts.append(found[0])
            return start
        end = later.pop()
        self.parts.append(self.text[start:end])
        return end + width

    def _close(self, found: re.Match[str]) -> int:
        """Close a bracket: with a target after it, the text since the opening bracket is a link or an image."""
        bracket = self._brackets.pop() if self._brackets else None
        alive = bracket is not None and (bracket.image or len(self._brackets) >= self._dead)
        self._dead = min(self._dead, len(self._brackets))
        if bracket is None or found["tail"] is None or not alive:
            self.parts.append("]")
            return found.start() + 1
        self._emphasize(bracket.runs)
        if bracket.image:
            self.descriptions.append("".join(self.parts[bracket.part + 1 :]))
            del self.parts[bracket.part :]
        else:
            self.parts[bracket.part] = ""
            self._dead = len(self._brackets)
        return found.end()

    def _emphasize(self, first: int) -> None:
        _match(self._runs[first:], self.parts)
        del self._runs[first:]


def _run(found: re.Match[str], part: int) -> _Run:
    """Classify a delimiter run by CommonMark's flanking rules (6.2)."""
    text, char = found.string, found[0][0]
    before, after = text[found.start() - 1 : found.start()] or " ", text[found.end() : found.end() + 1] or " "
    left = not after.isspace() and (not _is_punctuation(after) or before.isspace() or _is_punctuation(before))
    right = not before.isspace() and (not _is_punctuation(before) or after.isspace() or _is_punctuation(after))
    if char == "_":
        left, right = left and (not right or _is_punctuation(before)), right and (not left or _is_punctuation(after))
    return _Run(part, char, len(found[0]), left, right)


def _is_punctuation(character: str) -> bool:
    return category(character)[0] in "PS"


def _written(found: re.Match[str]) -> str:
    """Return the visible text of an escape, an autolink, a tag or an entity."""
    if found["escaped"]:
        return found["escaped"]
    if found["address"]:
        return found["address"]
    if found["tag"]:
        return " " if found["tag"][1:3].lower() == "br" else ""
    from html import unescape

    meant = unescape(found[0])
    # Control and bidi characters were removed from the page and must not come back as entities.
    return meant if meant.isprintable() or meant.isspace() else found[0]


def _match(runs: Iterable[_Run], parts: list[str]) -> None:
    """Pair opening with closing runs and remove the paired characters from both."""
    open_runs: list[_Run] = []
    places: dict[str, list[int]] = {"*": [], "_": [], "~": []}  # indexes of the open runs of each character
    left: dict[int, int] = {}  # unpaired length of each run, by its part
    for run in runs:
        left[run.part] = run.length
        while run.closes and left[run.part]:
            near = reversed(places[run.char][-_NEAR:])
            place = next((place for place in near if not _are_three(open_runs[place], run)), -1)
            if place < 0:
                break
            opening = open_runs[place]
            paired = min(left[run.part], left[opening.part])
            for side in (opening, run):
                left[side.part] -= paired
                parts[side.part] = side.char * left[side.part]
            _drop(open_runs, places, place + (left[opening.part] > 0))  # runs opened in between stay literal
        if run.opens and left[run.part]:
            places[run.char].append(len(open_runs))
            open_runs.append(run)


def _are_three(opening: _Run, closing: _Run) -> bool:
    """CommonMark's rule of three (6.2, rules 9 and 10): `*a**b*` does not end in its middle."""
    either = opening.closes or closing.opens
    return either and (opening.length + closing.length) % 3 == 0 and opening.length % 3 != 0


def _drop(open_runs: list[_Run], places: dict[str, list[int]], first: int) -> None:
    while len(open_runs) > first:
        places[open_runs.pop().char].pop()

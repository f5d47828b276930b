"""Backslashes where Markdown needs them, and nowhere else: escaped brackets, points and paths read badly.

The writer escapes every character that may be markup somewhere. Here each one is judged at its place, by the rules of
CommonMark with tables and strikethrough; in doubt the backslash stays.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Iterator


# Marks of blocks that stand before the text of a line.
PREFIX = re.compile(r"(?:[ >]|[-*+] (?:\[[ xX]\] )?|\d{1,9}[.)] |#{1,6} )*")
TOKEN = re.compile(
    r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"  # a code span
    r"|(?P<destination>(?<=\])\((?:[^()\\ ]|\\.|\((?:[^()\\ ]|\\.)*\))*(?: \"(?:[^\"\\]|\\.)*\")?\))"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])"
    r"|(?P<real>[\[\]*_~`])"
)
TAG = re.compile(
    r"[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$)|/[A-Za-z]|!(?:--|\[CDATA\[|[A-Za-z])|\?"  # elements, comments
    r"|[A-Za-z][A-Za-z0-9+.-]*:"  # addresses
    r"|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@"
)
ENTITY = re.compile(r"#[xX][0-9a-fA-F]{1,6};|#[0-9]{1,7};|([A-Za-z][A-Za-z0-9]{1,31};)")
NUMBERED = re.compile(r"\d{1,9}[.)](?: |$)")
HEADING = re.compile(r"#{1,6}(?: |$)")
RULE = re.compile(r"(?:(?:- *){3,}|(?:_ *){3,}|(?:\* *){3,})$")
UNDERLINE = re.compile(r"(?:-+|=+|[-:| ]+) *$")  # under a line of text: of a heading, of a table's head
FENCE = re.compile(r"`{3}|~{3}")
MIN_FENCE = 3  # signs at least
ITEMS = ("- ", "* ", "+ ", ". ", ") ")  # ends of a list item's mark
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class EscapedCharacter(NamedTuple):
    """A sign that was escaped, or one that the writer means."""

    text: str
    begin: int  # in the line as it was written
    end: int
    at: int  # in the line without escapes
    escaped: bool


class EscapedLine(NamedTuple):
    """A line as it reads, and where its text begins."""

    bare: str
    begin: int
    in_heading: bool
    alone: bool  # whether it is a paragraph of its own
    last_angle: int  # where its last '>' is
    last_round: int  # and its last ')'
    keeps_bars: bool  # it is a row of a table, or would be the line under the head of one


def remove_needless_escapes(line: str, *, alone: bool) -> str:
    """`alone`: no line before or after it is in the same paragraph, so that nothing can begin here and end there."""
    signs, bare = _find_escapes(line)
    escaped = [sign for sign in signs if sign.escaped]
    if not escaped:
        return line
    marks = PREFIX.match(line)
    prefix = marks[0] if marks else ""
    begin = len(prefix)
    keeps_bars = bare.startswith("|", begin) or UNDERLINE.match(bare, begin) is not None
    whole = EscapedLine(bare, begin, prefix.endswith("# "), alone, bare.rfind(">"), bare.rfind(")"), keeps_bars)
    needed: set[int] = set()
    if any(sign.text not in IS_NEEDED for sign in escaped):  # those that mean something in pairs
        needed = _needed_brackets(signs, whole) | _needed_runs(signs, bare, alone=alone)
    done: list[str] = []
    last = 0
    for sign in escaped:
        ask = IS_NEEDED.get(sign.text)
        keep = sign.at in needed if ask is None else ask(whole, sign.at)
        done.append(line[last : sign.begin])
        done.append(line[sign.begin : sign.end] if keep or _begins_block(whole, sign.at) else sign.text)
        last = sign.end
    return "".join((*done, line[last:]))


def _find_escapes(line: str) -> tuple[list[EscapedCharacter], str]:
    """The signs of a line, and the line as it reads."""
    signs: list[EscapedCharacter] = []
    bare: list[str] = []
    last = taken = 0
    for match in TOKEN.finditer(line):
        kind = match.lastgroup
        if kind == "sign":
            begin, end = match.span()
            signs.append(EscapedCharacter(line[begin + 1], begin, end, begin - taken, True))
            bare.append(line[last:begin])
            last, taken = begin + 1, taken + 1
        elif kind == "real":
            begin, end = match.span()
            signs.append(EscapedCharacter(line[begin], begin, end, begin - taken, False))
    bare.append(line[last:])
    return signs, "".join(bare)


def _begins_block(line: EscapedLine, at: int) -> bool:
    """Whether a sign begins a list, a heading, a rule, a quotation or code: all of them at the beginning of a line."""
    if at != line.begin or line.in_heading:
        return False
    text = line.bare[at:]
    if text[0] in "-+*" and text[1:2] in ("", " "):
        return True
    if not line.alone and UNDERLINE.match(text):
        return True
    if RULE.match(line.bare.lstrip("> ")):
        return True  # with the mark of its item it is one: `- --`
    return bool(text[0] == ">" or RULE.match(text) or HEADING.match(text) or FENCE.match(text))


def _needed_number(line: EscapedLine, at: int) -> bool:
    end = min(at + 2, len(line.bare))
    return not line.in_heading and NUMBERED.fullmatch(line.bare, line.begin, end) is not None


def _needed_hash(line: EscapedLine, at: int) -> bool:
    """At the end of a heading it would be taken for one of the heading's marks."""
    if not line.in_heading or at < len(line.bare.rstrip("# ")):
        return False
    before = line.bare[line.begin : at].rstrip("#")
    return not before or before.endswith(" ")


def _needed_angle(line: EscapedLine, at: int) -> bool:
    if line.bare.startswith("|", at + 1):
        return True  # nothing to Markdown, but chat models know such marks as their own: <|im_start|>
    begins = at == line.begin and not line.in_heading  # then it may be a block of HTML, which need not end
    return (begins or at < line.last_angle or not line.alone) and TAG.match(line.bare, at + 1) is not None


def _needed_ampersand(line: EscapedLine, at: int) -> bool:
    found = ENTITY.match(line.bare, at + 1)
    return found is not None and (found[1] is None or found[1] in html5)


def _needed_backslash(line: EscapedLine, at: int) -> bool:
    return at + 1 == len(line.bare) or line.bare[at + 1] in PUNCTUATION


def _needed_bar(line: EscapedLine, _: int) -> bool:
    return line.keeps_bars


def _needed_exclamation(line: EscapedLine, at: int) -> bool:
    return line.bare.startswith("[", at + 1)


def _never(_: EscapedLine, __: int) -> bool:
    """But at the beginning of a line, which is asked for every sign."""
    return False


IS_NEEDED = {
    ".": _needed_number,
    ")": _needed_number,
    "#": _needed_hash,
    "<": _needed_angle,
    "&": _needed_ampersand,
    "\\": _needed_backslash,
    "|": _needed_bar,
    "!": _needed_exclamation,
    **dict.fromkeys("-+>=:\"'(/;,%$@?^{}", _never),
}


def _needed_brackets(signs: list[EscapedCharacter], line: EscapedLine) -> set[int]:
    """Which escaped brackets would make a link, or break one, by their places in the bare line."""
    needed: set[int] = set()
    opened: list[EscapedCharacter] = []
    links = 0  # among them: brackets that the writer means
    for sign in signs:
        if sign.text == "[":
            opened.append(sign)
            links += not sign.escaped
        elif sign.text == "]" and sign.escaped:
            if opened and opened[-1].escaped:
                found = _needed_of_pair(opened[-1].at, sign.at, line, in_link=links > 0)
                needed |= found
                if sign.at not in found or opened[-1].at in found:
                    opened.pop()  # else another may close it
            elif links or (not line.alone and line.bare.startswith("(", sign.at + 1)):
                needed.add(sign.at)
        elif sign.text == "]":
            while opened and opened[-1].escaped:  # alone inside a link's text
                needed.add(opened.pop().at)
            if opened:
                opened.pop()
                links -= 1
    return needed


def _needed_of_pair(begin: int, end: int, line: EscapedLine, *, in_link: bool) -> set[int]:
    """Which of two brackets stays escaped where a link, a definition or a box would come of them."""
    inside, following = line.bare[begin + 1 : end], line.bare[end + 1 : end + 2]
    is_box = inside in (" ", "x", "X") and following in ("", " ") and line.bare[: line.begin].endswith(ITEMS)
    if begin == line.begin and (following == ":" or is_box):
        return {begin}
    if following == "(" and end < line.last_round:
        return {begin, end} if in_link else {end}
    return set()


def _needed_runs(signs: list[EscapedCharacter], bare: str, *, alone: bool) -> set[int]:
    """Stars, low lines, tildes and back-ticks: which may mark something, by their places in the bare line."""
    needed: set[int] = set()
    for mark in "*_~`":
        runs = _runs([sign for sign in signs if sign.text == mark])
        is_meant = any(not sign.escaped for run in runs for sign in run)
        chosen = _beginnings(runs, mark, bare) if alone and not is_meant else _doubtful(runs, mark, bare)
        needed.update(sign.at for run in chosen for sign in run)
    return needed


def _beginnings(runs: list[list[EscapedCharacter]], mark: str, bare: str) -> Iterator[list[EscapedCharacter]]:
    """Runs that could begin what a later one ends: without them, what could end means nothing."""
    if mark == "`":  # a span of code ends at any run of its length, escaped or not: all, or none
        is_fence = len(runs) > 1 and len(runs[0]) >= MIN_FENCE  # one of them is escaped, and the rest shorter
        yield from runs if is_fence or len({len(run) for run in runs}) < len(runs) else ()
        return
    can_close = False
    for run in reversed(runs):
        opens, closes = _flanks(run, mark, bare)
        if opens and can_close:
            yield run
        can_close = can_close or closes


def _doubtful(runs: list[list[EscapedCharacter]], mark: str, bare: str) -> Iterator[list[EscapedCharacter]]:
    """Runs that could mark something together with those of other lines, or with what the writer means."""
    for run in runs:
        is_mixed = not all(sign.escaped for sign in run)
        if mark == "`" or is_mixed or any(_flanks(run, mark, bare)):
            yield run


def _runs(signs: list[EscapedCharacter]) -> list[list[EscapedCharacter]]:
    runs: list[list[EscapedCharacter]] = []
    for sign in signs:
        if runs and runs[-1][-1].at + 1 == sign.at:
            runs[-1].append(sign)
        else:
            runs.append([sign])
    return runs


def _flanks(run: list[EscapedCharacter], mark: str, bare: str) -> tuple[bool, bool]:
    """Whether a run could begin emphasis, and whether it could end it (CommonMark 6.2)."""
    before = bare[run[0].at - 1] if run[0].at else " "
    after = bare[run[-1].at + 1] if run[-1].at + 1 < len(bare) else " "
    left = not after.isspace() and (_is_word(after) or not _is_word(before))
    right = not before.isspace() and (_is_word(before) or not _is_word(after))
    if mark != "_":
        return left, right
    return left and (not right or not _is_word(before)), right and (not left or not _is_word(after))


def _is_word(character: str) -> bool:
    """Neither white space nor punctuation."""
    return character.isalnum() or not (character.isspace() or category(character)[0] in "PS")

"""Lines to paragraphs, headings and lists: undo the typesetting. The text is escaped: it must not become markup."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.formats.pdf.pages import BULLET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.formats.pdf.headings import PdfHeading
    from spaniel.reading.formats.pdf.pages import TextLine


# A backslash before what it would take along, code, emphasis, strikes, tags and entities, and the end of what a link
# or a definition would have in brackets. Underscores inside words and stars between blanks mean nothing.
INLINE_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*(?=\S)|(?<=\S)\*|_(?![^\W_])|(?<![^\W_])_|~~|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:])"
)
MAYBE_MARKUP = re.compile(r"[\\`*_~<&\]]")
# At the beginning of a line: headings and their underlines, quotations, lists, rules, tables' second lines.
BLOCK_MARKUP = re.compile(
    r"^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=]+ *$|[-_:| ]{2,}$|~{3,}|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE
)


def escape_paragraph(text: str) -> str:
    """Text for a paragraph of one or more lines."""
    return BLOCK_MARKUP.sub(_escape_block, escape_inline(text))


def escape_inline(text: str) -> str:
    """Text for one line that has its mark, as a heading has."""
    return INLINE_MARKUP.sub(lambda match: "\\" + match[0], text) if MAYBE_MARKUP.search(text) else text


def _escape_block(match: re.Match[str]) -> str:
    if match[1]:
        return f"{match[1]}\\{match[2]}"
    return "\\" + match[0]


NUMBERED = re.compile(r"(\d{1,3})[.)]\s+(?=\S)")
HYPHENATED = re.compile(r"\w+(?:-\w+)+")
LAST_WORD, FIRST_WORD = re.compile(r"[\w-]+$"), re.compile(r"[\w-]+")
WIDE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")  # scripts without blanks
WRAPPED, BROKEN, APART = " ", "\n", "\n\n"  # how a line follows the one before
USUAL_PITCH = 1.2  # of lines, in sizes of their letters
SHARE = 0.15  # of all lines that makes a pitch usual
WIDER = 1.3  # times the usual pitch: a paragraph ends
INDENT = 0.8  # sizes by which a first line stands in


class Typesetting(NamedTuple):
    """What holds for a whole document."""

    pitch: float  # of its lines, in sizes
    hyphenated: frozenset[str]  # words that have a hyphen also in the middle of a line


def detect_typesetting(pages: Sequence[Sequence[TextLine]]) -> Typesetting:
    return Typesetting(_pitch(pages), _hyphenated(pages))


def _pitch(pages: Sequence[Sequence[TextLine]]) -> float:
    """The narrowest distance between lines that many keep."""
    pitches: Counter[float] = Counter()
    for lines in pages:
        for before, line in pairwise(lines):
            if before.y > line.y and line.size and abs(before.size - line.size) < 0.5:
                pitches[round((before.y - line.y) / line.size, 1)] += 1
    usual = [pitch for pitch, times in pitches.items() if times >= SHARE * pitches.total() and 0.8 <= pitch <= 4]
    return min(usual, default=USUAL_PITCH)


def _hyphenated(pages: Sequence[Sequence[TextLine]]) -> frozenset[str]:
    if not any(line.hyphen for lines in pages for line in lines):
        return frozenset()
    texts = (line.text for lines in pages for line in lines if "-" in line.text)
    return frozenset(word.casefold() for text in texts for word in HYPHENATED.findall(text))


class PdfBlock(NamedTuple):
    """A piece of a page: a paragraph (level 0), a heading, an item of a list."""

    text: str
    level: int = 0
    mark: str = ""  # of an item

    def written(self) -> str:
        if self.level:
            return "#" * self.level + " " + escape_inline(self.text.replace("\n", " "))
        if self.mark:
            return self.mark + escape_paragraph(self.text).replace("\n", "\n  ")
        return escape_paragraph(self.text)


def page_text(lines: Sequence[TextLine], headings: dict[int, PdfHeading], habits: Typesetting) -> str:
    """The Markdown of a page."""
    parts: list[str] = []
    item = False
    for block in _blocks(lines, headings, habits):
        if parts:
            parts.append("\n" if item and block.mark else APART)
        parts.append(block.written())
        item = bool(block.mark)
    return "".join(parts)


def _blocks(lines: Sequence[TextLine], headings: dict[int, PdfHeading], habits: Typesetting) -> Iterator[PdfBlock]:
    """Headings as they were found; between them, what stands together."""
    begin = 0
    for first, heading in sorted(headings.items()):
        yield from _paragraphs(lines[begin:first], habits)
        begin = first + heading.lines
        yield PdfBlock(_joined(lines[first:begin], [WRAPPED] * (heading.lines - 1), habits), heading.level)
    yield from _paragraphs(lines[begin:], habits)


def _paragraphs(lines: Sequence[TextLine], habits: Typesetting) -> Iterator[PdfBlock]:
    edges = _edges(lines)
    first = number = 0
    steps: list[str] = []
    for index in range(1, len(lines) + 1):
        step = _step(lines, first, index, edges[index - 1], habits) if index < len(lines) else APART
        if step is not APART:
            steps.append(step)
            continue
        block = _block(_joined(lines[first:index], steps, habits), number)
        number = int(found[1]) if (found := NUMBERED.match(block.mark + "x")) else 0
        yield block
        first, steps = index, []


def _block(text: str, number: int) -> PdfBlock:
    """An item of a list, or a paragraph. Only the number that is next makes an item: "1984. It was" is none."""
    if text[0].isalpha():
        return PdfBlock(text)
    if bullet := BULLET.match(text):
        return PdfBlock(text[bullet.end() :], mark="- ")
    if (found := NUMBERED.match(text)) and int(found[1]) == number + 1:
        return PdfBlock(text[found.end() :], mark=found[0].rstrip() + " ")
    return PdfBlock(text)


def _edges(lines: Sequence[TextLine]) -> list[float]:
    """For each line, how far the lines of its column reach; a column is what stands one below the other."""
    edges: list[float] = []
    column: list[TextLine] = []
    for line in lines:
        if column and not _is_below(column[-1], line):
            edges += [max(one.right for one in column)] * len(column)
            column = []
        column.append(line)
    return edges + [max((one.right for one in column), default=0.0)] * len(column)


def _is_below(before: TextLine, line: TextLine) -> bool:
    return line.y < before.y + 0.5 * line.size and not line.turned and not before.turned


def _step(lines: Sequence[TextLine], first: int, index: int, edge: float, habits: Typesetting) -> str:
    """How a line follows the one before it, in a block that began with the first."""
    before, line = lines[index - 1], lines[index]
    if before.hyphen:
        return WRAPPED
    size = line.size
    if abs(before.size - size) > 0.12 * size or _is_item(line):
        return APART
    if not _is_below(before, line):
        return WRAPPED if _is_unfinished(before, line) else APART
    if before.y - line.y > WIDER * habits.pitch * size:
        return APART
    wrapped = _would_not_fit(before, line, edge)
    stands_in = line.left - before.left
    if stands_in > INDENT * size and not _is_item(lines[first]) and (index - first > 1 or not wrapped):
        return APART
    if stands_in < -INDENT * size and index - first > 1 and not wrapped:
        return APART
    return WRAPPED if wrapped else BROKEN


def _is_unfinished(before: TextLine, line: TextLine) -> bool:
    """Whether a sentence goes on at the top of the next column."""
    level = not before.turned and not line.turned
    return level and before.text[-1] not in ".!?:" and line.text[0].islower()


def _is_item(line: TextLine) -> bool:
    text = line.text
    if text[0].isalpha():
        return False
    return BULLET.match(text) is not None or NUMBERED.match(text) is not None


def _would_not_fit(before: TextLine, line: TextLine, edge: float) -> bool:
    """Whether the first word of a line had no room in the one before: then it is the typesetter's break."""
    word = line.text.partition(" ")[0]
    each = (line.right - line.left) / max(1, len(line.text))
    room = edge - before.right
    return room < 1.3 * (len(word) + 1) * max(each, 0.2 * line.size)


def _joined(lines: Sequence[TextLine], steps: Sequence[str], habits: Typesetting) -> str:
    before = lines[0]
    parts = [before.text]
    for index, step in enumerate(steps, 1):
        line = lines[index]
        parts.append(_seam(before, line, step, habits))
        parts.append(line.text)
        before = line
    return "".join(parts)


def _seam(before: TextLine, line: TextLine, step: str, habits: Typesetting) -> str:
    """What stands between two lines that are joined."""
    if before.hyphen:
        return "-" if _keeps_hyphen(before.text, line.text, habits) else ""
    last = before.text[-1]
    if step is WRAPPED and (
        (last == "-" and before.text[-2:-1].isalnum()) or (last > "z" and WIDE.match(last) and WIDE.match(line.text))
    ):
        return ""
    return step


def _keeps_hyphen(before: str, after: str, habits: Typesetting) -> bool:
    """A hyphen at the end of a line is the typesetter's, but where the word is known to have one."""
    last, first = LAST_WORD.search(before), FIRST_WORD.match(after)
    if last is None or first is None or not first[0][0].islower() or "-" in last[0] or any(map(str.isdigit, last[0])):
        return True
    return f"{last[0]}-{first[0]}".casefold() in habits.hyphenated

"""Running heads, feet and page numbers: lines that come back at the same place, page after page, are no text.

Only what is plainly so goes: outermost on the page and apart from what follows, no larger than the text, at the same
height, with the same words (numbers aside) on several pages that follow each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.pdf.lines import Line
    from spaniel.reading.pdf.sheets import Sheet

    Key = tuple[str, int]

EDGE = 0.12  # share of a page's height in which they stand
LONGEST = 160  # characters
LEAST_PAGES = 3
REACH = 4  # pages before and after: left and right ones may have heads of their own
STEP = 4.0  # points by which the height may differ
APART = 1.5  # sizes to the line that follows, at least
LINES_LEFT = 3  # that a page has besides
NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b")


def without_margins(sheets: Sequence[Sheet]) -> list[list[Line]]:
    """The lines of each page that are its text."""
    if len(sheets) < LEAST_PAGES:
        return [sheet.lines for sheet in sheets]
    most = _text_size(sheets) * 1.05
    seen: dict[Key, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        for key in {_key(line) for line in _at_edges(sheet, most)}:
            seen[key].append(number)
    return [_rest(sheet, number, most, seen) for number, sheet in enumerate(sheets)]


def _text_size(sheets: Sequence[Sheet]) -> float:
    sizes: Counter[float] = Counter()
    for sheet in sheets:
        for line in sheet.lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _at_edges(sheet: Sheet, most: float) -> Iterator[Line]:
    low, high = EDGE * sheet.height, (1 - EDGE) * sheet.height
    return (one for one in sheet.lines if not low <= one.y <= high and one.size <= most and len(one.text) <= LONGEST)


def _key(line: Line) -> Key:
    return NUMBER.sub("#", line.text), round(line.y / STEP)


def _rest(sheet: Sheet, number: int, most: float, seen: dict[Key, list[int]]) -> list[Line]:
    running = {id(line) for line in _at_edges(sheet, most) if _comes_back(_key(line), number, seen)}
    if not running:
        return sheet.lines
    down = sorted(sheet.lines, key=lambda line: -line.y)
    gone = {*_outermost(down, running), *_outermost(down[::-1], running)}
    if len(sheet.lines) - len(gone) < LINES_LEFT:
        return sheet.lines
    return [line for line in sheet.lines if id(line) not in gone]


def _outermost(inwards: Sequence[Line], running: set[int]) -> set[int]:
    """Those from an edge inwards, if there is some room between them and the text."""
    outer = list(takewhile(lambda line: id(line) in running, inwards))
    if outer and len(outer) < len(inwards):
        last, following = outer[-1], inwards[len(outer)]
        if abs(last.y - following.y) < APART * max(last.size, following.size):
            return set()
    return {id(line) for line in outer}


def _comes_back(key: Key, number: int, seen: dict[Key, list[int]]) -> bool:
    """Whether the same stands on pages around; a line near the border of two steps is looked for in both."""
    text, step = key
    pages = {page for near in (step - 1, step, step + 1) for page in _near(seen.get((text, near), ()), number)}
    return len(pages) >= LEAST_PAGES


def _near(pages: Sequence[int], number: int) -> Sequence[int]:
    return pages[bisect_left(pages, number - REACH) : bisect_right(pages, number + REACH)]

"""Running heads, feet and page numbers: lines that come back at the same place, page after page, are no text.

Only what is plainly so goes: near an edge of the page, at the same height, the same words (numbers aside) on several
pages that follow each other, and never what a page mostly consists of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.pdf.lines import Line
    from spaniel.reading.pdf.sheets import Sheet

    Key = tuple[str, int]

EDGE = 0.12  # share of a page's height in which they stand
LONGEST = 160  # characters
LEAST_PAGES = 3
NEAR = 2  # pages: left and right ones may have heads of their own
STEP = 4.0  # points by which the height may differ
LINES_LEFT = 3  # that a page has besides
NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b")


def without_margins(sheets: Sequence[Sheet]) -> list[list[Line]]:
    """The lines of each page that are its text."""
    if len(sheets) < LEAST_PAGES:
        return [sheet.lines for sheet in sheets]
    seen: dict[Key, list[int]] = defaultdict(list)
    keyed = [list(_keyed(sheet)) for sheet in sheets]
    for number, found in enumerate(keyed):
        for key, _ in found:
            seen[key].append(number)
    return [_rest(sheet, found, number, seen) for number, (sheet, found) in enumerate(zip(sheets, keyed, strict=True))]


def _keyed(sheet: Sheet) -> Iterator[tuple[Key, Line]]:
    low, high = EDGE * sheet.height, (1 - EDGE) * sheet.height
    for line in sheet.lines:
        if not low <= line.y <= high and len(line.text) <= LONGEST:
            yield (NUMBER.sub("#", line.text), round(line.y / STEP)), line


def _rest(sheet: Sheet, found: list[tuple[Key, Line]], number: int, seen: dict[Key, list[int]]) -> list[Line]:
    if not found:
        return sheet.lines
    running = {id(line) for key, line in found if _comes_back(key, number, seen)}
    if not running or len(sheet.lines) - len(running) < LINES_LEFT:
        return sheet.lines
    return [line for line in sheet.lines if id(line) not in running]


def _comes_back(key: Key, number: int, seen: dict[Key, list[int]]) -> bool:
    """Whether the same stands on pages around; a line near the border of two steps is looked for in both."""
    text, step = key
    pages = {page for near in (step - 1, step, step + 1) for page in _near(seen.get((text, near), ()), number)}
    return len(pages) >= LEAST_PAGES


def _near(pages: Sequence[int], number: int) -> Iterator[int]:
    from bisect import bisect_left

    reach = NEAR * (LEAST_PAGES - 1)
    for page in pages[bisect_left(pages, number - reach) :]:
        if page > number + reach:
            return
        yield page

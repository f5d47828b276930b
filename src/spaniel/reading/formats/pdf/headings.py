"""Which lines are headings, and how deep: by the outline of the document, else by what is larger than its text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pypdfium2 import PdfiumError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pypdfium2 import PdfDocument

    from spaniel.reading.formats.pdf.pages import TextLine


MAX_BOOKMARKS = 5000
MAX_LINES = 2000  # of a page, in which the titles of the outline are looked for
DEEPEST_LEVEL = 6
LARGER = 1.12  # times the size of the text
MAX_HEADING_LINE = 200  # characters of a line in a heading
MAX_HEADING_LINES = 4  # lines of one heading
MAX_LARGE_SHARE = 0.3  # what is larger and more than this is text too
NUMBERING = re.compile(
    r"^(?:(?:chapter|part|section|appendix)\s+)?(?:\d+(?:\.\d+)*|[A-Z](?=[. ])|[IVXLC]+(?=[. ]))[.:)]*\s+",
    re.IGNORECASE,
)
NUMBERING_LENGTH = 24  # characters of a chapter's number that the outline may leave out
NO_LETTER = re.compile(r"[\W_]+")


class Bookmark(NamedTuple):
    """A line of the outline."""

    title: str
    level: int  # 1 is the outermost
    page: int


class PdfHeading(NamedTuple):
    """A heading: so many lines from a line on."""

    level: int
    lines: int


def read_bookmarks(document: PdfDocument) -> list[Bookmark]:
    """The bookmarks that lead to a page; one that is broken ends the list."""
    entries: list[Bookmark] = []
    try:
        for mark in document.get_toc(max_depth=DEEPEST_LEVEL):
            goal = mark.get_dest()
            if goal is not None and (page := goal.get_index()) is not None:
                entries.append(Bookmark(mark.get_title(), mark.level + 1, page))
            if len(entries) >= MAX_BOOKMARKS:
                break
    except PdfiumError:
        pass
    return entries


def find_headings(pages: Sequence[Sequence[TextLine]], outline: Sequence[Bookmark]) -> list[dict[int, PdfHeading]]:
    """For each page, the lines that begin a heading."""
    by_outline = _by_outline(pages, outline)
    sizes = _levels(pages, by_outline)
    return [_on_page(lines, by_outline[number], sizes) for number, lines in enumerate(pages)]


def _by_outline(pages: Sequence[Sequence[TextLine]], outline: Sequence[Bookmark]) -> list[dict[int, PdfHeading]]:
    by_outline: list[dict[int, PdfHeading]] = [{} for _ in pages]
    plain: dict[int, list[str]] = {}
    longest = NUMBERING_LENGTH + max((len(entry.title) for entry in outline), default=0)
    for entry in outline:
        title = _letters(entry.title)
        for number in (entry.page, entry.page + 1) if title else ():
            if not 0 <= number < len(pages):
                continue
            if number not in plain:
                plain[number] = [
                    _letters(line.text) if len(line.text) <= longest else "" for line in pages[number][:MAX_LINES]
                ]
            place = _place_of(title, plain[number], by_outline[number])
            if place is not None:
                by_outline[number][place[0]] = PdfHeading(min(entry.level, DEEPEST_LEVEL), place[1])
                break
    return by_outline


def _letters(text: str) -> str:
    bare = NUMBERING.sub("", text.strip(), count=1)
    return NO_LETTER.sub("", bare or text).casefold()


def _place_of(title: str, lines: Sequence[str], taken: dict[int, PdfHeading]) -> tuple[int, int] | None:
    """The line where a title stands, and over how many lines it goes."""
    for first, line in enumerate(lines):
        if not line or first in taken or not title.startswith(line):
            continue
        whole, count = line, 1
        while len(whole) < len(title) and count < MAX_HEADING_LINES and first + count < len(lines):
            whole, count = whole + lines[first + count], count + 1
        if whole == title:
            return first, count
    return None


class _Levels(NamedTuple):
    """How deep a line of a size is; `bold` is the depth of a bold line in the size of the text, if those head."""

    text: float
    by_size: dict[float, int]
    bold: int | None


def _levels(pages: Sequence[Sequence[TextLine]], by_outline: Sequence[dict[int, PdfHeading]]) -> _Levels:
    """The text is what most is written in; what is larger, and little, heads."""
    shares: Counter[float] = Counter()
    bold = 0
    for lines in pages:
        for line in lines:
            shares[line.size] += len(line.text)
            if line.bold:
                bold += len(line.text)
    text = shares.most_common(1)[0][0] if shares else 0.0
    most = MAX_LARGE_SHARE * shares.total()
    sizes = [size for size, share in shares.items() if size > LARGER * text and share <= most]
    by_size = _ranked(sorted(sizes, reverse=True), _known_levels(pages, by_outline))
    deepest = max(by_size.values(), default=1)
    return _Levels(text, by_size, min(deepest + 1, DEEPEST_LEVEL) if bold <= most else None)


def _known_levels(pages: Sequence[Sequence[TextLine]], by_outline: Sequence[dict[int, PdfHeading]]) -> dict[float, int]:
    """The level that the outline gives to most headings of a size."""
    votes: dict[float, Counter[int]] = {}
    for lines, found in zip(pages, by_outline, strict=True):
        for index, heading in found.items():
            votes.setdefault(lines[index].size, Counter())[heading.level] += 1
    return {size: counted.most_common(1)[0][0] for size, counted in votes.items()}


def _ranked(sizes: Sequence[float], known: dict[float, int]) -> dict[float, int]:
    """Levels from the largest size to the smallest; where the outline knows one, it rules."""
    levels: dict[float, int] = {}
    level = 0
    for size in sizes:
        level = known.get(size, min(level + 1, DEEPEST_LEVEL))
        levels[size] = level
    return levels


def _on_page(lines: Sequence[TextLine], by_outline: dict[int, PdfHeading], levels: _Levels) -> dict[int, PdfHeading]:
    found = dict(by_outline)
    covered = {index for first, heading in by_outline.items() for index in range(first, first + heading.lines)}
    for first, level, count in _runs(lines, levels):
        whole = range(first, first + count)
        if not covered.intersection(whole) and count <= MAX_HEADING_LINES and _says_something(lines, whole):
            found[first] = PdfHeading(level, count)
    return found


def _says_something(lines: Sequence[TextLine], whole: range) -> bool:
    """A letter at the beginning of a chapter is no heading, nor is a number in a table."""
    return sum(sum(map(str.isalpha, lines[index].text[:20])) for index in whole) >= 2


def _runs(lines: Sequence[TextLine], levels: _Levels) -> Iterator[tuple[int, int, int]]:
    """Lines on end that are of one level: the first, the level, how many."""
    first = 0
    while first < len(lines):
        level = _level_of(lines[first], levels)
        count = 1
        while level and first + count < len(lines):
            line = lines[first + count]
            if _level_of(line, levels) != level or not _continues(lines[first + count - 1], line):
                break
            count += 1
        if level:
            yield first, level, count
        first += count


def _level_of(line: TextLine, levels: _Levels) -> int | None:
    if line.turned or len(line.text) > MAX_HEADING_LINE:
        return None
    return levels.bold if line.bold and line.size == levels.text else levels.by_size.get(line.size)


def _continues(before: TextLine, line: TextLine) -> bool:
    """Whether a heading goes on in the next line: of its size, right below it."""
    return line.size == before.size and 0 < before.y - line.y <= 1.5 * line.size

"""Splitting a block that is too large: at sentences, else at white space, else between characters (FR-WF-15b).

The items of a list, the rows of a table and the lines of code stand before sentences, and ends of lines before other
white space. A split code block is closed at the end of each piece and opened again in the next.

Headings right before such a block go with its first piece (D2-30): then the first unit of every step begins with them,
and no cut is made before `job.body`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from spaniel.chunking.blocks import MARKER, fence_lines, next_line
from spaniel.chunking.gather import LONGEST_TOKEN, Piece, gather
from spaniel.chunking.headings import alone_before, body_after
from spaniel.chunking.job import SplitJob
from spaniel.chunking.space import skip_space, trim_space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.chunking.blocks import Fence, MarkdownOutline

# All cuts are where counts add up: after the last newline of a run of white space, or before a run without any.
# A sentence's search passes over list markers, so that the full stop of `1.` ends none; the one class at its front is
# what makes it fast.
_SPACE = r"[^\S\x1c-\x1f]"  # without what is white space to Python and not to Unicode
_HEAD = rf"[ \t]*(?:{MARKER}(?=\s)|\|)"
_PART = re.compile(rf"(\n(?:\s*\n|(?={_HEAD})))")
_SENTENCE = re.compile(rf"([.!?\n](?:\s*\n|(?<!\n)(?={_SPACE})|(?<=\n)(?={_HEAD})))(?:(?<=\n){_HEAD})?")
_LINE = re.compile(r"(\n(?:\s*\n)?)")
_SPACES = re.compile(rf"{_SPACE}+")
_IDEOGRAPHIC_STOPS = "。！？"  # they end sentences in scripts without spaces
_start = attrgetter("start")
MOST_HEADINGS = 64  # that stand together; pages have three


def split(job: SplitJob, outline: MarkdownOutline, start: int, end: int) -> list[Piece]:
    """The pieces of the block from `start` to `end`, the first with as many of the headings before it as fit."""
    body = body_after(job.view, start, end)
    if body == end:  # the heading itself is what is too large
        body = start
    headings = [start] if start < body else []
    headings += islice(alone_before(job.view, outline.starts, start), MOST_HEADINGS)
    first = _first_that_fits(job, outline.fences, headings, body, end) if headings else body
    if first == body:
        return _parts(job, outline.fences, start, end)
    return _parts(SplitJob(*job[:5], body), outline.fences, first, end)


def _first_that_fits(job: SplitJob, fences: list[Fence], headings: list[int], body: int, end: int) -> int:
    """The first of the headings, given from the last on, that fits in one piece with the least of the block.

    The least is its first sentence, or its first line of code: nothing that fits by itself is broken to make room. Of
    what has to be broken anyway, a part will do.
    """
    text, room = job.text, job.limit // 2
    for stop, added in _least(job, fences, body, end):
        if len(text[headings[-1] : stop].encode()) + len(added.encode()) < job.limit:  # a token has a byte, or more
            return headings[-1]
        if stop - body <= LONGEST_TOKEN * job.limit:
            tokens = job.count(text[body:stop]) + (job.count(added) + 4 if added else 0)  # its seams may cost some
            if tokens <= job.limit:
                room = job.limit - tokens
                break
    first = body
    for heading in headings:
        room -= job.count(text[heading:first])
        if room < 0:
            break
        first = heading
    return first


def _least(job: SplitJob, fences: list[Fence], body: int, end: int) -> Iterator[tuple[int, str]]:
    """Where the least of the block ends that makes a piece, and what is added to it; then where less does."""
    view = job.view
    at = bisect_left(fences, body, key=_start) if view[body + 1] in "`~ \t-*+0123456789" else len(fences)
    if at < len(fences) and (fence := fences[at]).start == body:
        code = next_line(view, view.find("\n", body + 1))
        second = next_line(view, view.find("\n", code + 1)) if code < fence.end else fence.end
        yield min(second, fence.end), "".join(fence_lines(view, fence))
        return
    before = -1
    for pattern in (_SENTENCE, _LINE, _SPACES):
        ends = (match.end(pattern.groups) - 1 for match in pattern.finditer(view, body, end + 1))
        stop = next((cut for cut in ends if body < cut < end), end)
        if stop != before:
            yield stop, ""
        before = stop


def _parts(job: SplitJob, fences: list[Fence], start: int, end: int) -> list[Piece]:
    """The items, rows, paragraphs and code of a block."""
    first = start
    inside = fences[bisect_left(fences, start, key=_start) : bisect_left(fences, end, key=_start)]
    code = {fence.start: fence for fence in inside}
    cuts: list[int] = []
    for fence in inside:
        cuts += [*_cuts(job, _PART, start, fence.start), fence.start]
        start = fence.end
    cuts += [*_cuts(job, _PART, start, end), end]
    cuts[0] = first  # code may stand right under the headings

    def finer(start: int, end: int) -> list[Piece]:
        fence = code.get(max(start, job.body))
        return _code(job, fence, start) if fence else _sentences(job, start, end)

    return gather(job, cuts, finer)


def _sentences(job: SplitJob, start: int, end: int) -> list[Piece]:
    def finer(start: int, end: int) -> list[Piece]:
        return _lines(job, [*_cuts(job, _LINE, start, end), end])

    return gather(job, [*_cuts(job, _SENTENCE, start, end), end], finer)


def _cuts(job: SplitJob, pattern: re.Pattern[str], start: int, end: int) -> list[int]:
    """The start, if there is anything but headings, and where the first group of the pattern ends before the end."""
    body = max(start, job.body)
    if body == end:
        return []
    ends = [match.end(1) - 1 for match in pattern.finditer(job.view, body, end + 1)]
    return [start, *(cut for cut in ends if body < cut < end)]


def _lines(job: SplitJob, cuts: list[int]) -> list[Piece]:
    return gather(job, cuts, lambda start, end: _words(job, start, end))


def _words(job: SplitJob, start: int, end: int) -> list[Piece]:
    view = job.view
    word, stop = skip_space(job.text, start, end), trim_space(job.text, start, end)
    spaces = [match.span() for match in _SPACES.finditer(view, max(word, job.body) + 1, stop + 1)]
    cuts = [start, *(max(a - 1, view.rfind("\n", a, b)) for a, b in spaces), end]
    return gather(job, cuts, lambda start, end: _characters(job, start, end))


def _code(job: SplitJob, fence: Fence, start: int) -> list[Piece]:
    """Pieces of a code block, each a code block of its own unless the fences would take half the budget."""
    cuts = _cuts(job, _LINE, fence.start, fence.end)
    cuts[1:] = cuts[2:-1] if fence.closed else cuts[2:]  # the fences go with the first and the last line of code
    cuts[0] = start
    cuts.append(fence.end)
    opening, closing = fence_lines(job.view, fence)
    room = job.limit - job.count(opening) - job.count(closing) - 2  # a newline more at either end may cost one
    if room < job.limit // 2:
        return _lines(job, cuts)
    pieces = _lines(job._replace(limit=room), cuts)
    return [
        _fenced(job, piece, opening if i else "", closing if i < len(pieces) - 1 else "")
        for i, piece in enumerate(pieces)
    ]


def _fenced(job: SplitJob, piece: Piece, before: str, after: str) -> Piece:
    tokens = job.count(before + job.text[piece.start : piece.end] + after)
    return Piece(piece.start, piece.end, tokens, before, after) if tokens <= job.limit else piece


def _characters(job: SplitJob, start: int, end: int) -> list[Piece]:
    """Cut between any two characters, after an ideographic full stop if there is one."""
    pieces: list[Piece] = []
    text = job.text
    start = skip_space(text, start, end)
    end = trim_space(text, start, end)
    guess = 4 * job.limit
    while start < end:
        cut, tokens = _furthest(job, start, end, start + guess)
        stop = max(text.rfind(stop, max(start, job.body), cut) for stop in _IDEOGRAPHIC_STOPS) + 1
        if cut < end and stop and (fewer := job.count(text[start:stop])) <= job.limit:
            cut, tokens = stop, fewer
        pieces.append(Piece(start, cut, tokens))
        start, guess = cut, cut - start
    return pieces


def _furthest(job: SplitJob, start: int, end: int, guess: int) -> tuple[int, int]:
    """About the longest slice from `start` that fits, at least a character, and its count.

    Text is even enough for the rule of three: three or four counts do where bisecting would take twelve.
    """
    low, tokens, high = start, 0, end + 1  # up to `low` it fits, up to `high` it does not
    at = min(guess, end)
    for attempt in range(64):
        count = job.count(job.text[start:at])
        if count > job.limit and at > start + 1:
            high = at
        else:
            low, tokens = at, count
        if high - low < 2 or count == job.limit:
            break
        at = start + (at - start) * job.limit // max(count, 1) if attempt < 6 else (low + high) // 2
        at = min(max(at, low + 1), high - 1)
    return low, tokens

"""Gathering units of text greedily into pieces of at most so many tokens, each token counted about once (FR-WF-15a).

Units begin where cl100k's counts add up: just after the last newline of a run of white space, before a line with
something on it; within a line, before white space. So a piece can be counted in a stride of many units that most likely
fits, then unit by unit until one does not. Of another tokenizer it is not known where its counts add up: there the same
sums are a guess, and each piece is counted again as a whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.space import trim_space
from spaniel.chunking.trim import trimmed

if TYPE_CHECKING:
    from spaniel.chunking.job import SplitJob

LONGEST_TOKEN = 128  # characters, in cl100k_base
STRIDE = 0.9  # of what should just fit: going on costs less than going back

Finer = Callable[[int, int], "list[Piece]"]


class Piece(NamedTuple):
    """A slice of the Markdown that becomes a chunk, and the fence lines that keep a split code block valid."""

    start: int
    end: int
    tokens: int
    before: str = ""
    after: str = ""


def gather(job: SplitJob, starts: list[int], finer: Finer) -> list[Piece]:
    """Pieces of as many units as fit; a unit that does not fit alone gives the pieces that `finer` makes of it.

    A unit goes from its start to the next; the last of `starts` is the end. The first piece of a unit may begin with
    units before it.
    """
    limit = job.limit
    split: dict[int, list[Piece]] = {}  # what is clearly too large is split before it is counted
    size = _sizing(job, starts, finer, split)
    pieces: list[Piece] = []
    i, known = 0, 0  # the next unit, and its count if it is known already
    width = 3.5  # characters for a token, as the piece before had them
    while i < len(starts) - 1:
        j, tokens, following = _reach(job, starts, size, (i, known), width)
        if i in split:
            _place(job, pieces, starts, finer, split.pop(i))
            i, known = i + 1, 0
            continue
        if following and (j == i or tokens + following == limit + 1):  # without the white space after it, it may fit
            j, tokens, following = j + 1, tokens + following, 0
        start, end, exact = trimmed(job, starts[i], starts[j], tokens)
        while exact > limit and j > i + 1:
            j -= 1
            tokens, following = _less(job, starts[i], starts[j], tokens, size(j))
            start, end, exact = trimmed(job, starts[i], starts[j], tokens)
        if exact > limit:
            _place(job, pieces, starts, finer, finer(starts[i], starts[j]))
        elif start < end:
            pieces.append(Piece(start, end, exact))
            width = (starts[j] - starts[i]) / max(tokens, 1)
        i, known = j, following
    return pieces


def _place(job: SplitJob, pieces: list[Piece], starts: list[int], finer: Finer, found: list[Piece]) -> None:
    """Add what was found in a unit; what it took from the units before it is taken from the pieces before it."""
    first = found[0].start if found else len(job.text)
    while pieces and pieces[-1].start >= first:
        pieces.pop()
    if pieces and pieces[-1].end > first:
        last = pieces.pop()
        rest = last.tokens - job.count(job.text[first : last.end])
        start, end, tokens = trimmed(job, last.start, first, rest)
        if tokens <= job.limit:
            pieces.append(Piece(start, end, tokens))
        else:
            pieces += gather(job, starts[bisect_left(starts, start) : bisect_left(starts, first) + 1], finer)
    pieces += found


def _reach(
    job: SplitJob, starts: list[int], size: Callable[[int], int], first: tuple[int, int], width: float
) -> tuple[int, int, int]:
    """As far as units fit from the first on: the one that does not, the count up to it, and its own count."""
    limit, last = job.limit, len(starts) - 1
    i, known = first
    if known > limit:
        return i, 0, known
    j, tokens = (i + 1, known) if known else (i, 0)
    far = bisect_right(starts, starts[j] + (limit - tokens) * width * STRIDE, j, last) - 1
    if far > j + 1:
        tokens, j = tokens + job.count(job.text[starts[j] : starts[far]]), far
        while tokens > limit:
            j -= 1
            tokens, following = _less(job, starts[i], starts[j], tokens, size(j))
            if tokens <= limit:
                return j, tokens, following
    while j < last:
        following = size(j)
        if tokens + following > limit:
            return j, tokens, following
        tokens += following
        j += 1
    return j, tokens, 0


def _less(job: SplitJob, start: int, end: int, tokens: int, last: int) -> tuple[int, int]:
    """The count up to `end`, given that of what has one unit more, and that unit's, which may be only a sign."""
    return (tokens - last if last <= job.limit else job.count(job.text[start:end])), last


def _sizing(job: SplitJob, starts: list[int], finer: Finer, split: dict[int, list[Piece]]) -> Callable[[int], int]:
    text, count, limit = job.text, job.count, job.limit
    long, too_long = 6 * limit, LONGEST_TOKEN * limit

    def size(i: int) -> int:
        start, end = starts[i], starts[i + 1]
        if end - start > long:
            pieces = finer(start, end)
            if end - start > too_long or _is_split(job, pieces, start, end):
                split[i] = pieces
                return too_long
        return count(text[start:end])

    return size


def _is_split(job: SplitJob, pieces: list[Piece], start: int, end: int) -> bool:
    """Whether they are several because of the unit, not because of the headings that the first begins with."""
    if not pieces or pieces[0].start >= start:
        return len(pieces) > 1
    most = 4 * (start - pieces[0].start + len(pieces))  # tokens of the headings, and what trimming may have added
    sure = sum(tokens - 4 * len(before + after) for _, _, tokens, before, after in pieces) - most
    return sure > job.limit or job.count(job.text[start : trim_space(job.text, start, end)]) > job.limit

"""Splits a block that is too large: at sentences, else at white space, else between characters (FR-WF-15b).

List items, table rows and lines of code are tried before sentences, and line ends before other white space. A split
code block is closed at the end of each piece and reopened in the next.

Headings right before such a block go into its first piece (D2-30): the first unit of every step then begins with
them, and there is no cut before `job.body`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.blocks import MARKER, alone_before, body_after, fence_lines, next_line, skip_space, trim_space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.chunking.blocks import Fence, MarkdownOutline


class SplitJob(NamedTuple):
    """The text, its view (see blocks), how to count it, and the token limit of a piece.

    There is no cut before `body`: headings stay with the text after them.
    """

    text: str
    view: str
    count: Callable[[str], int]
    additive: bool
    limit: int
    body: int = 0


_NEAR = 16  # characters (chosen): most runs of punctuation and spaces are shorter
_PUNCTUATION = "".join(char for char in map(chr, range(128)) if not char.isalnum())


def trimmed(job: SplitJob, first: int, stop: int, tokens: int) -> tuple[int, int, int]:
    """Return start, end and token count of the piece without surrounding white space; a line keeps its indentation.

    Trimming changes the count of the first word and the last line, and can raise it. Counts are additive between a
    letter or digit and punctuation, so only the punctuation at the end is counted again, and that has few variants.
    """
    text, view, count, additive, _, _ = job
    if additive and view[first] == "\n":
        near = text[max(first, stop - _NEAR) : stop]
        word = near.rstrip(_PUNCTUATION)
        if word and word[-1].isascii():
            ending = near[len(word) :]
            return first, stop - len(ending) + len(ending.rstrip()), tokens + _change(count, ending)
    return _counted_again(job, first, stop, tokens)


@lru_cache(256)
def _change(count: Callable[[str], int], ending: str) -> int:
    return count(ending.rstrip()) - count(ending)


def _counted_again(job: SplitJob, first: int, stop: int, tokens: int) -> tuple[int, int, int]:
    text, view, count, additive, limit, _ = job
    start = first if view[first] == "\n" else skip_space(text, first, stop)
    end = trim_space(text, start, stop)
    if tokens > limit + (start - first) + (stop - end):
        return start, end, tokens
    head = _first_seam(text, start, end) if start > first else start
    tail = _last_seam(text, view, start, end) if end < stop else end
    if not additive or head < 0 or head > tail:
        return start, end, count(text[start:end])
    if start > first:
        tokens += count(text[start:head]) - count(text[first:head])
    if end < stop:
        tokens += count(text[tail:end]) - count(text[tail:stop])
    return start, end, tokens


def _first_seam(text: str, start: int, end: int) -> int:
    """Return an offset near the start at which counts are additive, or -1."""
    space = text.find(" ", start, end)
    return -1 if space < 0 or text[space - 1].isspace() else space


def _last_seam(text: str, view: str, start: int, end: int) -> int:
    """Return an offset near the end at which counts are additive, or -1."""
    line = view.rfind("\n", start, end)
    space = text.rfind(" ", max(line, start), end)
    return line if space < 0 or text[space - 1].isspace() else space


LONGEST_TOKEN = 128  # characters, in cl100k_base
STRIDE = 0.9  # of the estimate (chosen): going forward costs less than going back

Finer = Callable[[int, int], "list[Piece]"]


class Piece(NamedTuple):
    """A slice of the Markdown for a chunk, and the fence lines that keep a split code block valid."""

    start: int
    end: int
    tokens: int
    before: str = ""
    after: str = ""


def gather(job: SplitJob, starts: list[int], finer: Finer) -> list[Piece]:
    """Pack units into pieces up to the limit; a unit that is too large is split by `finer`.

    A unit ends at the next start; the last of `starts` is the end. The first piece of a split unit may include units
    before it.
    """
    limit = job.limit
    split: dict[int, list[Piece]] = {}  # units that are clearly too large are split before they are counted
    size = _sizing(job, starts, finer, split)
    pieces: list[Piece] = []
    i, known = 0, 0  # the next unit, and its count if it was counted already
    width = 3.5  # characters per token, updated by each piece
    while i < len(starts) - 1:
        j, tokens, following = _reach(job, starts, size, (i, known), width)
        if i in split:
            _place(job, pieces, starts, finer, split.pop(i))
            i, known = i + 1, 0
            continue
        if following and (j == i or tokens + following == limit + 1):  # may fit without its trailing white space
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
    """Append the pieces of a unit; headings that they include are removed from the pieces before them."""
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
    """Return the first unit that does not fit, the count up to it, and its own count."""
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
    """Return the count up to `end` from the count with one unit more and that unit's count, which may be a marker."""
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
    """Whether the unit itself needs several pieces, without the headings that the first piece begins with."""
    if not pieces or pieces[0].start >= start:
        return len(pieces) > 1
    most = 4 * (start - pieces[0].start + len(pieces))  # tokens of the headings, and what trimming may add
    least = sum(tokens - 4 * len(before + after) for _, _, tokens, before, after in pieces) - most
    return least > job.limit or job.count(job.text[start : trim_space(job.text, start, end)]) > job.limit


# All cuts are where counts are additive: after the last newline of a run of white space, or before a run without one.
# The sentence pattern skips list markers, so that the full stop of `1.` does not end a sentence; the single character
# class at its start makes it fast.
_SPACE = r"[^\S\x1c-\x1f]"  # without the characters that are white space in Python, but not in Unicode
_HEAD = rf"[ \t]*(?:{MARKER}(?=\s)|\|)"
_PART = re.compile(rf"(\n(?:\s*\n|(?={_HEAD})))")
_SENTENCE = re.compile(rf"([.!?\n](?:\s*\n|(?<!\n)(?={_SPACE})|(?<=\n)(?={_HEAD})))(?:(?<=\n){_HEAD})?")
_LINE = re.compile(r"(\n(?:\s*\n)?)")
_SPACES = re.compile(rf"{_SPACE}+")
_IDEOGRAPHIC_STOPS = "。！？"  # end of a sentence in scripts without spaces
_start = attrgetter("start")
MAX_HEADINGS = 64  # consecutive headings (chosen); pages have about three


def split(job: SplitJob, outline: MarkdownOutline, start: int, end: int) -> list[Piece]:
    """Split the block from `start` to `end`; the first piece includes as many of the headings before it as fit."""
    body = body_after(job.view, start, end)
    if body == end:  # the heading itself is too large
        body = start
    headings = [start] if start < body else []
    headings += islice(alone_before(job.view, outline.starts, start), MAX_HEADINGS)
    first = _first_that_fits(job, outline.fences, headings, body, end) if headings else body
    if first == body:
        return _parts(job, outline.fences, start, end)
    return _parts(SplitJob(*job[:5], body), outline.fences, first, end)


def _first_that_fits(job: SplitJob, fences: list[Fence], headings: list[int], body: int, end: int) -> int:
    """Return the first of the headings, given from the last on, that fits in one piece with the start of the block.

    The start is its first sentence or line of code: nothing that fits alone is broken to make room. If it has to be
    broken anyway, a part is enough.
    """
    text, room = job.text, job.limit // 2
    for stop, added in _least(job, fences, body, end):
        if len(text[headings[-1] : stop].encode()) + len(added.encode()) < job.limit:  # a token has at least one byte
            return headings[-1]
        if stop - body <= LONGEST_TOKEN * job.limit:
            tokens = job.count(text[body:stop]) + (job.count(added) + 4 if added else 0)  # joining may cost some
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
    """Yield ends of ever shorter starts of the block that can make a piece, and the fence lines to be added."""
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
    """Split a block at list items, table rows, paragraphs and code."""
    first = start
    inside = fences[bisect_left(fences, start, key=_start) : bisect_left(fences, end, key=_start)]
    code = {fence.start: fence for fence in inside}
    cuts: list[int] = []
    for fence in inside:
        cuts += [*_cuts(job, _PART, start, fence.start), fence.start]
        start = fence.end
    cuts += [*_cuts(job, _PART, start, end), end]
    cuts[0] = first  # code may follow the headings directly

    def finer(start: int, end: int) -> list[Piece]:
        fence = code.get(max(start, job.body))
        return _code(job, fence, start) if fence else _sentences(job, start, end)

    return gather(job, cuts, finer)


def _sentences(job: SplitJob, start: int, end: int) -> list[Piece]:
    def finer(start: int, end: int) -> list[Piece]:
        return _lines(job, [*_cuts(job, _LINE, start, end), end])

    return gather(job, [*_cuts(job, _SENTENCE, start, end), end], finer)


def _cuts(job: SplitJob, pattern: re.Pattern[str], start: int, end: int) -> list[int]:
    """Return the start, unless there are only headings, and the ends of the pattern's first group before the end."""
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
    """Split a code block into code blocks, or into bare pieces if the fences would take half the budget."""
    cuts = _cuts(job, _LINE, fence.start, fence.end)
    cuts[1:] = cuts[2:-1] if fence.closed else cuts[2:]  # the fences go with the first and the last line of code
    cuts[0] = start
    cuts.append(fence.end)
    opening, closing = fence_lines(job.view, fence)
    room = job.limit - job.count(opening) - job.count(closing) - 2  # a newline at either end may cost one token
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
    """Return the end of about the longest slice from `start` that fits, at least one character, and its count.

    Interpolation search: three or four counts are enough where bisecting needs twelve.
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

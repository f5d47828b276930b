"""A piece without the white space around it, counted again where that changes its count."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spaniel.chunking.space import skip_space, trim_space

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.chunking.job import SplitJob

_NEAR = 16  # characters: most ends are shorter
_SIGNS = "".join(sign for sign in map(chr, range(128)) if not sign.isalnum())


def trimmed(job: SplitJob, first: int, stop: int, tokens: int) -> tuple[int, int, int]:
    """Where the piece begins and ends without white space around it, and its count then; a line keeps its indentation.

    Trimming changes what the first word and the last line count, and can raise it. Counts add up between a letter or a
    digit and a sign, so it is enough to know what the signs at the end count, and texts end in few ways.
    """
    text, view, count, additive, _, _ = job
    if additive and view[first] == "\n":
        near = text[max(first, stop - _NEAR) : stop]
        word = near.rstrip(_SIGNS)
        if word and word[-1].isascii():
            signs = near[len(word) :]
            return first, stop - len(signs) + len(signs.rstrip()), tokens + _change(count, signs)
    return _counted_again(job, first, stop, tokens)


@lru_cache(256)
def _change(count: Callable[[str], int], signs: str) -> int:
    return count(signs.rstrip()) - count(signs)


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
    """A place near the start where counts add up, or -1."""
    space = text.find(" ", start, end)
    return -1 if space < 0 or text[space - 1].isspace() else space


def _last_seam(text: str, view: str, start: int, end: int) -> int:
    """A place near the end where counts add up, or -1."""
    line = view.rfind("\n", start, end)
    space = text.rfind(" ", max(line, start), end)
    return line if space < 0 or text[space - 1].isspace() else space

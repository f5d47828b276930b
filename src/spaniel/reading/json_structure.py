"""The structure of a JSON text, without building what it describes: how deep it nests, how long it is in lines."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

WINDOW = 1 << 13  # bytes that are taken apart at a time: a list of all strings of a text takes ten times its size
INDENT = 2
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
STEP = tuple(1 if code in b"[{" else -1 if code in b"]}" else 0 for code in range(256))


class Structure(NamedTuple):
    """What is known of a text that may be JSON."""

    depth: int  # the most levels inside one another
    more: int  # bytes that indentation, line ends and blanks add at the most


def structure_of(text: bytes) -> Structure:
    """A comma or a bracket begins a line, as far in as there are brackets open; those in strings do not count.

    Each line of a window is taken for as far in as the farthest.
    """
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")  # a backslash stands in strings only: now each quote is one
    level = deepest = more = inside = 0
    for begin in range(0, len(plain), WINDOW):
        parts = plain[begin : begin + WINDOW].split(b'"')
        outside = b'"'.join(parts[inside::2]).replace(b"[]", b"").replace(b"{}", b"")  # which stay together
        inside ^= (len(parts) - 1) & 1
        brackets = outside.translate(None, NO_BRACKETS)
        levels = list(accumulate(map(STEP.__getitem__, brackets), initial=level))
        level, most = levels[-1], max(levels)
        deepest = max(deepest, most)
        more += (1 + INDENT * most) * (len(brackets) + outside.count(b",")) + outside.count(b":")
    return Structure(deepest, more)

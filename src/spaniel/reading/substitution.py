"""Replacing in long texts: `re.sub` holds every piece to the end, which takes thirty times a text of many matches."""

from __future__ import annotations

LONG = 1 << 16  # characters
SOME = 10_000  # pieces that are held before they are joined


def subn(pattern: re.Pattern[str], replace: str | Callable[[re.Match[str]], str], text: str) -> tuple[str, int]:
    """As pattern.subn for a replacement without references."""
    if len(text) <= LONG:
        return pattern.subn(replace, text)
    done: list[str] = []
    some: list[str] = []
    count = end = 0
    for match in pattern.finditer(text):
        some.append(text[end : match.start()])
        some.append(replace if isinstance(replace, str) else replace(match))
        count, end = count + 1, match.end()
        if len(some) >= SOME:
            done.append("".join(some))
            some.clear()
    return "".join((*done, *some, text[end:])), count


def sub(pattern: re.Pattern[str], replace: str | Callable[[re.Match[str]], str], text: str) -> str:
    return subn(pattern, replace, text)[0]


TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

"""Which rule speaks of a path: one spelling for both sides, then the longest match (RFC 9309 §2.2.2, §2.2.3)."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# A rule as the parser leaves it: line number, is it an Allow, its value, the line as it stands. A plain tuple, because
# most are never looked at again: only the group that is asked for is laid out.
Line = tuple[int, bool, bytes, bytes]

# A rule with `*` in it: rank, what stands before the first star, the pieces after it, the last of them, its line.
_Pattern = tuple[int, str, list[str], str, Line]

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # RFC 3986 §2.3

# Octets that are spelled one way only. `*` and `$` are not among them: a rule that means them literally writes %2A and
# %24 (§2.2.3), so a path's own are written likewise. Nor is `%`, which must be looked at with what follows it.
_PLAIN = _UNRESERVED + b":/?#[]@!&'()+,;="
_PLAIN_IN_RULES = _PLAIN + b"*"

# Every other octet, but for `%`, is written as its escape.
_ESCAPES = {octet: f"%{octet:02X}" for octet in range(256) if octet not in _PLAIN + b"%"}
_ESCAPES_IN_RULES = {octet: escape for octet, escape in _ESCAPES.items() if octet != ord("*")}

# An escape that is broken, in small letters or needless; the look-ahead names the good ones. It holds no repetition
# that could be tried in two ways, so there is nothing to backtrack over.
_BAD_ESCAPE = re.compile("%(?![0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF])(?:[0-9A-Fa-f]{2})?")


def spell(path: str) -> str:
    """A URL's path and query as rules are compared with it. What is spelled so already stays as it is."""
    octets = path.encode("utf-8", "surrogatepass")
    if not octets.translate(None, _PLAIN):
        return path
    return _BAD_ESCAPE.sub(_mend, octets.decode("latin-1")).translate(_ESCAPES)


def _spell_rule(value: bytes) -> str:
    """The same for a rule, whose stars and final `$` keep their meaning."""
    text = value.decode("latin-1")  # one character an octet, whatever encoding the file is in
    if not value.translate(None, _PLAIN_IN_RULES):
        return text
    bare = text.removesuffix("$")
    return _BAD_ESCAPE.sub(_mend, bare).translate(_ESCAPES_IN_RULES) + text[len(bare) :]


def _mend(escape: re.Match[str]) -> str:
    text = escape[0]
    if text == "%":
        return "%25"
    octet = int(text[1:], 16)
    return chr(octet) if octet in _UNRESERVED else text.upper()


class RuleIndex:
    """The rules of one group, laid out so that the most specific match is found without trying them all.

    Plain prefixes, which most rules are, stand in a dictionary that is asked once for each length that occurs, longest
    first; patterns stand in a list, most specific first. `rank` orders both: octets, then Allow (§2.2.2, FR-WF-08c).

    `$` needs no case of its own: no spelled path holds one, so it is given one at its end, and `/a$` is a prefix like
    any other, which only the whole of `/a` has.
    """

    __slots__ = ("_patterns", "_plain", "_sizes")

    def __init__(self, lines: Iterable[Line]) -> None:
        plain: dict[str, Line] = {}
        patterns: list[_Pattern] = []
        for line in lines:
            text = _spell_rule(line[2])
            if "*" in text:
                head, *pieces = text.split("*")
                patterns.append((2 * len(text) + line[1], head, pieces, pieces[-1], line))
            elif plain.setdefault(text, line)[1] < line[1]:
                plain[text] = line
        plain.pop("", None)  # an empty value matches nothing (§2.2.2)
        patterns.sort(key=itemgetter(0), reverse=True)
        self._plain = plain
        self._sizes = sorted(set(map(len, plain)), reverse=True)
        self._patterns = patterns

    def find(self, path: str) -> Line | None:
        """The rule that decides about a path, which is spelled already."""
        path += "$"
        length = len(path)
        best, rank = None, 0
        for size in self._sizes:
            if size <= length:
                best = self._plain.get(path[:size])
                if best is not None:
                    rank = 2 * size + best[1]
                    break
        for its_rank, head, pieces, last, line in self._patterns:
            if its_rank <= rank:
                break
            # Most patterns fall at the first question, which is cheap: has the path their last piece at all?
            if last in path and path.startswith(head) and _follow(path, len(head), pieces):
                return line
        return best


def _follow(path: str, at: int, pieces: list[str]) -> bool:
    """Do the pieces follow one another from `at` on? The first place where one fits leaves the most room for the rest,
    so no place is tried twice: at most pattern × path steps, where a regular expression would try every split."""
    for piece in pieces:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True

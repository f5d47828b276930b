"""Which rule speaks of a path: one spelling for both sides, then the longest match (RFC 9309 §2.2.2, §2.2.3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# A rule as the parser leaves it: line number, is it an Allow, its value, the line as it stands. A plain tuple, because
# most are never looked at again: only the group that is asked for is laid out.
Line = tuple[int, bool, bytes, bytes]

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  # RFC 3986 §2.3

# Octets that are spelled one way only. `*` and `$` are not among them: a rule that means them literally writes %2A and
# %24 (§2.2.3), so a path's own are written likewise. Nor is `%`, which must be looked at with what follows it.
_PLAIN = _UNRESERVED + b":/?#[]@!&'()+,;="

# What is not spelled as we compare it: a broken, lower-case or needless escape (the look-ahead names the good ones), and
# any other octet that is not plain. One octet or one escape at a time, so there is nothing to backtrack over.
_MISSPELLED = re.compile(
    r"%(?![0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF])(?:[0-9A-Fa-f]{2})?"
    r"|[^%" + re.escape(_PLAIN.decode()) + "]"
)


def spell(path: str) -> str:
    """A URL's path and query as rules are compared with it. What is spelled so already stays as it is."""
    octets = path.encode("utf-8", "surrogatepass")
    return _spell_octets(octets) if octets.translate(None, _PLAIN) else path


def _spell_octets(octets: bytes) -> str:
    text = octets.decode("latin-1")  # one character an octet, whatever encoding the file is in
    return _MISSPELLED.sub(_respell, text) if octets.translate(None, _PLAIN) else text


def _respell(found: re.Match[str]) -> str:
    text = found[0]
    if len(text) == 1:
        return f"%{ord(text):02X}"
    octet = int(text[1:], 16)
    return chr(octet) if octet in _UNRESERVED else text.upper()


class _Pattern(NamedTuple):
    """A rule with `*` in it, cut at its stars."""

    rank: int
    probe: str  # its longest piece: a path without it need not be looked at further
    head: str
    parts: tuple[str, ...]
    line: Line


class Index:
    """The rules of one group, laid out so that the most specific match is found without trying them all.

    Plain prefixes, which most rules are, stand in a dictionary that is asked once for each length that occurs, longest
    first; patterns stand in a list, most specific first. `rank` orders both: octets, then Allow (§2.2.2, FR-WF-08c).

    `$` needs no case of its own: no spelled text holds one, so the path is given one at its end, and `/a$` is a prefix
    like any other that only the whole of `/a` has.
    """

    __slots__ = ("_patterns", "_plain", "_sizes")

    def __init__(self, lines: Iterable[Line]) -> None:
        plain: dict[str, Line] = {}
        patterns: list[_Pattern] = []
        for line in lines:
            value = line[2]
            if b"*" in value:
                patterns.append(_cut(line))
                continue
            prefix = _spell_octets(value[:-1]) + "$" if value.endswith(b"$") else _spell_octets(value)
            if plain.setdefault(prefix, line)[1] < line[1]:
                plain[prefix] = line
        patterns.sort(key=_by_rank)
        plain.pop("", None)  # an empty value matches nothing (§2.2.2)
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
        for its_rank, probe, head, parts, line in self._patterns:
            if its_rank <= rank:
                break
            if probe in path and path.startswith(head) and _follow(path, len(head), parts):
                return line
        return best


def _by_rank(pattern: _Pattern) -> int:
    return -pattern.rank


def _cut(line: Line) -> _Pattern:
    value = line[2]
    pieces = [_spell_octets(piece) for piece in value.removesuffix(b"$").split(b"*")]
    if value.endswith(b"$"):
        pieces[-1] += "$"
    size = sum(map(len, pieces)) + len(pieces) - 1
    return _Pattern(2 * size + line[1], max(pieces, key=len), pieces[0], tuple(filter(None, pieces[1:])), line)


def _follow(path: str, at: int, parts: tuple[str, ...]) -> bool:
    """Do the parts follow one another from `at` on? The first place where one fits leaves the most room for the rest,
    so no place is tried twice: at most pattern × path steps, where a regular expression would try every split."""
    for part in parts:
        at = path.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True

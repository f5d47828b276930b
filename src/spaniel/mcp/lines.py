"""Splits a byte stream into lines of bounded length; of a longer line only both ends are kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 4 << 20  # bytes of a message; a call with the longest allowed URL takes about 10,000
EDGE = 4096  # bytes kept of each end; enough for `jsonrpc`, `method` and `id`

_MEMBER = rb'\s*"(?:jsonrpc|method|id)"\s*:\s*(?:"(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,18})\s*'
_FIRST = re.compile(rb"\s*\{((?:%b,)*)" % _MEMBER)
_LAST = re.compile(rb"((?:,%b)*)\}\s*\Z" % _MEMBER)


class TooLong(NamedTuple):
    """A message over the limit: its first and last bytes, and its size."""

    head: bytes
    tail: bytes
    size: int

    def members(self) -> dict[str, object]:
        """`jsonrpc`, `method` and `id` as far as they are at the ends; members of `params` are never matched."""
        import json

        first, last = _FIRST.match(self.head), _LAST.search(self.tail)
        ends = [found[1].strip(b",") for found in (first, last) if found and found[1]]
        try:
            return dict(json.loads(b"{%b}" % b",".join(ends)))
        except ValueError:
            return {}


class Lines:
    """Takes bytes in any pieces, yields complete lines."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._line = bytearray()
        self._tail = b""
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            yield self._take()
            start = end + 1
        self._add(data[start:])

    def rest(self) -> Iterator[bytes | TooLong]:
        """The last line, if it has no line end."""
        if self._size:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._longest:
            self._line += piece
            return
        if not self._tail:
            self._tail = bytes(self._line[-EDGE:])
            self._line += piece[:EDGE]  # the head may still be shorter than EDGE
            del self._line[EDGE:]
        self._tail = (self._tail + piece)[-EDGE:]

    def _take(self) -> bytes | TooLong:
        line, tail, size = bytes(self._line), self._tail, self._size
        self._line.clear()
        self._tail, self._size = b"", 0
        return TooLong(line, tail, size) if size > self._longest else line

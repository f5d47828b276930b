"""Which URLs of the input have their record: one bit each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Done:
    """A set of ordinals below some number; a million take 125 KB."""

    __slots__ = ("_bits", "count")

    def __init__(self, ordinals: Iterable[int] = ()) -> None:
        self._bits = bytearray()
        self.count = 0
        for ordinal in ordinals:
            self.add(ordinal)

    def add(self, ordinal: int) -> None:
        place, bit = ordinal >> 3, 1 << (ordinal & 7)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits) + 4096))
        if not self._bits[place] & bit:
            self._bits[place] |= bit
            self.count += 1

    def __contains__(self, ordinal: int) -> bool:
        place = ordinal >> 3
        return place < len(self._bits) and bool(self._bits[place] & 1 << (ordinal & 7))

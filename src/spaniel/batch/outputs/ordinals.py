"""A set of ordinals in a bit each, and what is missing between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = 16  # log2 of the ordinals whose bits stand together
_MASK = (1 << _PAGE) - 1


class Ordinals:
    """Some 125 KB for each million that lie close together."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self.count = 0

    def add(self, ordinal: int) -> None:
        page = self._pages.setdefault(ordinal >> _PAGE, bytearray(1 << _PAGE - 3))
        low = ordinal & _MASK
        if not page[low >> 3] >> (low & 7) & 1:
            page[low >> 3] |= 1 << (low & 7)
            self.count += 1

    def __contains__(self, ordinal: int) -> bool:
        page = self._pages.get(ordinal >> _PAGE)
        low = ordinal & _MASK
        return page is not None and bool(page[low >> 3] >> (low & 7) & 1)

    def absorb(self, other: Ordinals) -> None:
        """Take in those of another set, which has none of ours."""
        for number, page in other._pages.items():
            own = self._pages.setdefault(number, bytearray(len(page)))
            both = int.from_bytes(own, "little") | int.from_bytes(page, "little")
            own[:] = both.to_bytes(len(page), "little")
        self.count += other.count

    def gaps(self) -> Iterator[tuple[int, int]]:
        """First and last of each run that is missing, from 0 to the greatest that is there."""
        expected = 0
        for ordinal in self._sorted():
            if ordinal > expected:
                yield expected, ordinal - 1
            expected = ordinal + 1

    def _sorted(self) -> Iterator[int]:
        for number in sorted(self._pages):
            start = number << _PAGE
            for at, octet in enumerate(self._pages[number]):
                if octet:
                    yield from (start + at * 8 + bit for bit in range(8) if octet >> bit & 1)

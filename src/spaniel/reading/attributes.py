"""Which attributes that tell author and date a page may have: a quick look at its source saves walks over its tree."""

from __future__ import annotations

NAMED, SIGNED, DATED = 1, 2, 4  # class names that speak of a date; anything that signs; `itemprop` with a date
ANY = NAMED | SIGNED | DATED

try:
    from spaniel.reading.native import attributes_in
except ImportError:  # not built here: in Python the look would take longer than the walks

    def attributes_in(source: bytes, /) -> int:  # noqa: ARG001
        return ANY


class Attributes:
    """Looks when it is asked first: most pages tell author and date in their head."""

    __slots__ = ("_found", "_source")

    def __init__(self, source: bytes | None) -> None:
        self._source = source
        self._found = ANY if source is None else None

    def may_have(self, sort: int) -> bool:
        """No is sure, yes is not: what looks like an attribute may be text."""
        if self._found is None:
            self._found = attributes_in(self._source or b"")
        return bool(self._found & sort)

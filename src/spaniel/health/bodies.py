"""What is taken of a body: length and hash as it comes, its beginning for whoever reads it; no more than needed."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from spaniel.verdicts import Content

if TYPE_CHECKING:
    from spaniel.verdicts import Expected

KEPT = 2 << 20  # bytes of the beginning that are kept to be read
GLANCED = 256 << 10  # of a page whose status alone is wanted: signs stand at the beginning
ANY_SIZE = 1 << 40  # the deadline ends what does not
SPARE = 8 << 20  # how much longer than asserted a body may be and still be measured to its end


class Needs(NamedTuple):
    """What of a page must be looked at."""

    measured: bool  # its content is asserted
    read: bool  # to its end, or as far as anybody reads
    most: int  # bytes that are transferred


def needs_of(expected: Expected, *, reads: bool) -> Needs:
    measured = expected.length is not None or expected.sha256 is not None
    if not measured:
        return Needs(False, reads, KEPT if reads else GLANCED)
    if expected.length is None:
        return Needs(True, True, ANY_SIZE)
    return Needs(True, True, max(2 * expected.length, SPARE))


class Body:
    """A body as it comes: gigabytes in the memory of its beginning."""

    __slots__ = ("_digest", "kept", "length", "most")

    def __init__(self, needs: Needs) -> None:
        self.most = needs.most
        self._digest = sha256() if needs.measured else None
        self.kept = bytearray()
        self.length = 0

    def take(self, piece: bytes) -> None:
        self.length += len(piece)
        if self._digest is not None:
            self._digest.update(piece)
        if len(self.kept) < KEPT:
            self.kept += piece[: KEPT - len(self.kept)]

    def anew(self) -> Body:
        """For another page, of which as much is taken."""
        return Body(Needs(self.is_measured, True, self.most))

    @property
    def is_measured(self) -> bool:
        return self._digest is not None

    @property
    def is_whole(self) -> bool:
        """Whether it was transferred to its end. One that ends just where nobody went on may have, too: not so here."""
        return self.length < self.most

    @property
    def is_kept(self) -> bool:
        """Whether all of it is at hand."""
        return self.is_whole and self.length == len(self.kept)

    def content(self, text_sha256: str) -> Content | None:
        if self._digest is None:
            return None
        return Content(self.length, self._digest.hexdigest() if self.is_whole else "", self.is_whole, text_sha256)

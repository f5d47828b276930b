"""What breaks the format, told by file, line, column and reason."""

from __future__ import annotations

from typing import NamedTuple

from spaniel.tables import complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.errors import SpanielError


class Position(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int = 1

    def broken(self, reason: str, line: int = 0, column: int = 0) -> SpanielError:
        """`line` and `column` are counted from 0, within whatever begins here."""
        return complaint(f"{self.file}:{self.line + line}:{column + 1}", reason)

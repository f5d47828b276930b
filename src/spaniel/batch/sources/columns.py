"""Which column of a table holds the URLs, and what the others are called."""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.batch.sources.rows import URL_NAMES
from spaniel.errors import Code, SpanielError, shown

_URL = re.compile(r"(?:https?://\S|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/:?#]|$))", re.IGNORECASE)


class Table(NamedTuple):
    """Which column holds the URL, and what the columns are called."""

    names: list[str]
    url: int
    has_header: bool


def lay_out(first: list[str], column: str | None) -> Table:
    """What the first row says of a table: it is a header if it names the column, or has no URL where one should be."""
    names = [cell.strip() for cell in first]
    if (place := named_column(names, column)) is not None:
        return Table(unique_names(names), place, True)
    place = _numbered(names, column) if column else next((i for i, cell in enumerate(names) if _URL.match(cell)), None)
    if place is None:
        raise no_column(names, column)
    is_header = not _URL.match(names[place])
    return Table(unique_names(names if is_header else [""] * len(names)), place, is_header)


def find_column(names: list[str], column: str | None) -> int:
    """The place of the column that holds the URLs, where names are all that is known."""
    place = named_column(names, column)
    if place is None:
        place = _numbered(names, column or "")
    if place is None:
        raise no_column(names, column)
    return place


def named_column(names: list[str], column: str | None) -> int | None:
    """The place of the column of this name; without one, of a column whose name says that it holds URLs."""
    if column is not None:
        return names.index(column) if column in names else None
    lower = [name.lower() for name in names]
    known = next((lower.index(name) for name in URL_NAMES if name in lower), None)
    alone = len(names) == 1 and not _URL.match(names[0])
    return 0 if known is None and alone else known


def _numbered(names: list[str], column: str) -> int | None:
    number = int(column) if column.isdecimal() and len(column) < 7 else 0
    return number - 1 if 0 < number <= len(names) else None


def no_column(names: list[str], column: str | None) -> SpanielError:
    wanted = (
        "it is not clear which column holds the URLs" if column is None else f"there is no column '{shown(column, 60)}'"
    )
    return SpanielError(Code.BAD_ARGS, field="--column", reason=f"{wanted}; there are: {', '.join(names[:20])}")


def unique_names(names: list[str]) -> list[str]:
    """Names to carry columns over by: one without a name gets its number, one that comes again too."""
    unique: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names, 1):
        own = name if name and name not in taken else f"{name or 'column'}_{number}"
        while own in taken:
            own += "_"
        taken.add(own)
        unique.append(own)
    return unique

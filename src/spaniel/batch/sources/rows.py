"""What a source is made of: rows with a URL and whatever stands beside it; and what was wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

LONGEST_LINE = 1 << 16  # bytes; no URL is that long
TOLD = 20  # problems whose words are kept; the others are counted
URL_NAMES = ("url", "uri", "link", "href", "loc", "address", "website", "page", "source_url", "final_url", "web_url")


class Item(NamedTuple):
    """One URL of the input. `ordinal` counts from 0 over all sources, in one order that is the same every time."""

    ordinal: int
    raw_url: str  # as it stands in the source: nobody has judged it yet
    columns: dict[str, object]  # what stood beside it, as JSON can have it


class Row(NamedTuple):
    """A URL, as a reader finds it."""

    url: str
    columns: dict[str, object]
    size: int = 0  # of what it was read from: whoever gathers rows must know what they weigh


class Child(NamedTuple):
    """Another sitemap, as an index of sitemaps names it."""

    url: str
    size: int = 0


class Options(NamedTuple):
    """How sources are to be read, where somebody says so."""

    kind: str | None = None  # one of `kinds.Kind`; None: by name, content type and bytes
    column: str | None = None  # of CSV, TSV and Parquet: its name, or its number from 1 on
    field: str | None = None  # of JSON lines: its name, or the way to it (`page.url`)


class Problems:
    """What was wrong in the input, counted; the first of them in words. Nothing here ends a run.

    `lost` counts those by which URLs were lost, or may have been: a run without them did not do all of its work.
    """

    def __init__(self) -> None:
        self.count = self.lost = 0
        self.first: list[str] = []

    def note(self, place: str, what: str, *, lost: bool = True) -> None:
        self.count += 1
        self.lost += lost
        if len(self.first) < TOLD:
            self.first.append(f"{shown(place)}: {shown(what)}")

    def at(self, place: str) -> Report:
        """For a reader, which knows lines and not where they come from."""

        def report(where: str, what: str, *, lost: bool = True) -> None:
            self.note(f"{place}, {where}" if where else place, what, lost=lost)

        return report


if TYPE_CHECKING:

    class Report(Protocol):
        """Where in the source, what, and whether a URL was lost by it."""

        def __call__(self, where: str, what: str, *, lost: bool = True) -> None: ...

    Reader = Callable[[BinaryIO, Options, Report], Iterator[Row | Child]]

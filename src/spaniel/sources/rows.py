"""What a source consists of: rows with a URL and the values next to it; and the problems found in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

LONGEST_LINE = 1 << 16  # bytes; no URL is that long
LARGEST_VALUE = 64 << 20  # bytes of one JSON value, YAML file or bookmark file, which are held in memory
MOST_SHOWN = 20  # problems whose text is kept; the others are counted
URL_NAMES = (
    "url", "uri", "link", "href", "loc", "address", "website", "page", "source_url", "final_url", "web_url",
    "fuente_url",
)  # fmt: skip


class SourceItem(NamedTuple):
    """One URL of the input. `ordinal` counts from 0 over all sources, in an order that is the same every time."""

    ordinal: int
    raw_url: str  # as it is written in the source, not validated yet
    columns: dict[str, object]  # the values next to it, as JSON can represent them
    source: str = ""  # the file or address it was read from
    place: int | str = ""  # a line number, or a name such as "entry 3"
    record: object = None  # of data, if `ListOptions.whole_records` asks for it: then there is no `raw_url`

    @property
    def where(self) -> str:
        return f"line {self.place}" if isinstance(self.place, int) else self.place


class SourceRow(NamedTuple):
    """A URL, as a reader finds it."""

    url: str
    columns: dict[str, object]
    size: int = 0  # bytes it was read from, so that buffers can be bounded
    place: int | str = ""
    record: object = None


class ChildSitemap(NamedTuple):
    """Another sitemap, named by a sitemap index."""

    url: str
    size: int = 0


class NoUrlError(ValueError):
    """A row or record has no URL that can be used; the message says why."""


class ListOptions(NamedTuple):
    """How sources are read, where the user says so."""

    kind: str | None = None  # a name of `kinds.KINDS`; None: by content, name and content type
    column: str | None = None  # of CSV, TSV and Parquet: its name, or its number from 1 on
    fields: tuple[str, ...] = ()  # of JSON and YAML: a name, or a path (`page.url`); of tables without `column` too
    whole_records: bool = False  # data (tables, JSON, YAML) as records, whose links the caller finds


class Problems:
    """What was wrong in the input: all of it counted, the first problems as text. Nothing here ends a run.

    `lost` counts the problems by which URLs were lost, or may have been: a run with such problems is incomplete.
    """

    def __init__(self) -> None:
        self.count = self.lost = 0
        self.first: list[str] = []

    def note(self, place: str, what: str, *, lost: bool = True) -> None:
        self.count += 1
        self.lost += lost
        if len(self.first) < MOST_SHOWN:
            self.first.append(f"{shown(place)}: {shown(what)}")

    def at(self, place: str) -> Report:
        """For a reader, which knows line numbers but not the name of its source."""

        def report(where: str, what: str, *, lost: bool = True) -> None:
            self.note(f"{place}, {where}" if where else place, what, lost=lost)

        return report


if TYPE_CHECKING:

    class Report(Protocol):
        """Where in the source, what, and whether a URL was lost by it."""

        def __call__(self, where: str, what: str, *, lost: bool = True) -> None: ...

    Reader = Callable[[BinaryIO, ListOptions, Report], Iterator[SourceRow | ChildSitemap]]

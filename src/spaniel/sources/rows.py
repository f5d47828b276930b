"""Types of a source: rows with a URL and the values next to it, reading options, and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

LONGEST_LINE = 1 << 16  # bytes (chosen): far longer than any usable URL
LARGEST_VALUE = 64 << 20  # bytes of a JSON value, YAML file or bookmark file (chosen): they are read into memory
MAX_SHOWN = 20  # problems whose text is stored; the others are only counted
URL_NAMES = (
    "url", "uri", "link", "href", "loc", "address", "website", "page", "source_url", "final_url", "web_url",
    "fuente_url",
)  # fmt: skip


class SourceItem(NamedTuple):
    """One URL of the input. `ordinal` counts from 0 over all sources, in a reproducible order."""

    ordinal: int
    raw_url: str  # as written in the source, not validated
    columns: dict[str, object]  # the values next to it, as JSON values
    source: str = ""  # file name or URL of the list
    place: int | str = ""  # a line number, or a name such as "entry 3"
    record: object = None  # the whole record with `ListOptions.whole_records`; `raw_url` is then empty

    @property
    def where(self) -> str:
        return f"line {self.place}" if isinstance(self.place, int) else self.place


class SourceRow(NamedTuple):
    """A URL as returned by a reader."""

    url: str
    columns: dict[str, object]
    size: int = 0  # bytes in the source; bounds the buffers
    place: int | str = ""
    record: object = None


class ChildSitemap(NamedTuple):
    """A sitemap that is listed in a sitemap index."""

    url: str
    size: int = 0


class NoUrlError(ValueError):
    """A row or record has no usable URL; the message says why."""


class ListOptions(NamedTuple):
    """The user's options for reading sources."""

    kind: str | None = None  # a name of `kinds.KINDS`; None: by content, name and content type
    column: str | None = None  # CSV, TSV, Parquet: name, or number from 1
    fields: tuple[str, ...] = ()  # JSON, YAML: names or paths (`page.url`); used for tables too if `column` is not set
    whole_records: bool = False  # return data (tables, JSON, YAML) as records, in which the caller finds the links


class Problems:
    """Problems in the input: all are counted, the first `MAX_SHOWN` have their text stored. None ends a run.

    `lost` counts problems by which URLs were, or may have been, lost: a run with such problems is incomplete.
    """

    def __init__(self) -> None:
        self.count = self.lost = 0
        self.first: list[str] = []

    def note(self, place: str, what: str, *, lost: bool = True) -> None:
        self.count += 1
        self.lost += lost
        if len(self.first) < MAX_SHOWN:
            self.first.append(f"{shown(place)}: {shown(what)}")

    def at(self, place: str) -> Report:
        """Return a function for a reader, which has line numbers but not the name of its source."""

        def report(where: str, what: str, *, lost: bool = True) -> None:
            self.note(f"{place}, {where}" if where else place, what, lost=lost)

        return report


if TYPE_CHECKING:

    class Report(Protocol):
        """Takes the position in the source, the problem, and whether a URL was lost."""

        def __call__(self, where: str, what: str, *, lost: bool = True) -> None: ...

    Reader = Callable[[BinaryIO, ListOptions, Report], Iterator[SourceRow | ChildSitemap]]

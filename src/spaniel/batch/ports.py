"""What a batch needs of others: URLs from a source, a fetcher for each, and a file that only grows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from spaniel.batch.outputs.remote_parts import Wrote

Columns = Mapping[str, object]
HAD_CREDENTIALS = "\0credentials"  # a column of the plan alone: the URL was written with credentials (FG-03)


class Item(NamedTuple):
    """One URL of the input: its place there, the URL as it was written, and what stood beside it.

    In a plan it is written without credentials.
    """

    ordinal: int
    raw: str
    columns: Columns = MappingProxyType({})


class Source(Protocol):
    """Where URLs come from."""

    @property
    def name(self) -> str:
        """As the user wrote it."""

    def fingerprint(self) -> str:
        """What changes when the input does. Empty where that cannot be told: of a pipe, of a web site."""

    def items(self) -> Iterator[Item]:
        """The URLs in their order, counted from 0."""


class Part(Protocol):
    """A file of records that only grows. Nobody else writes to it."""

    def append(self, line: bytes, /) -> None:
        """One record, whole. It may stay in memory until `sync`."""

    def sync(self) -> int:
        """Bring all that was appended to the disk. Returns the length that the file has now, or another such place."""

    def close(self) -> None: ...


OpenPart = Callable[[str, int], Part]
"""Opens the file at a path and cuts it to a length: what stands behind that was never committed."""

Record = Mapping[str, object]
Fetch = Callable[[str], Awaitable[Record]]
"""The record of a URL, however its fetch ended."""


class Sink(Protocol):
    """Where records go."""

    @property
    def is_behind(self) -> bool:
        """Whether it has more than it can take at the moment."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that must be waited for before the end."""

    @property
    def by_workers(self) -> bool:
        """Whether workers write records of pages into parts of their own."""

    def put_part(self, part: Wrote, ordinals: list[int], failed: Sequence[str] = ()) -> None:
        """Take a part that a worker has written, with the records of these URLs, and why some of them failed."""

    def shared(self, record: Record) -> Any:
        """What all spellings of a page share, in the form that `put` takes: the one in which workers send it."""

    def put(self, item: Item, shared: Any, captured: bytes = b"", failed: str = "") -> None:
        """Take the record of one URL, what came over the wire for it, and why it failed, if it did."""

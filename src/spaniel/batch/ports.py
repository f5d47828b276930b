"""What a batch needs of others: URLs from a source, and a fetcher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol

from spaniel.runs.store import Item

__all__ = ["HAD_CREDENTIALS", "Fetch", "Item", "Record", "UrlSource"]

HAD_CREDENTIALS = "\0credentials"  # a column of the plan alone: the URL was written with credentials (FG-03)


class UrlSource(Protocol):
    """Where URLs come from."""

    @property
    def name(self) -> str:
        """As the user wrote it."""

    def fingerprint(self) -> str:
        """What changes when the input does. Empty where that is unknown: of a pipe, of a web site."""

    def items(self) -> Iterator[Item]:
        """The URLs in their order, counted from 0."""


Record = Mapping[str, object]
Fetch = Callable[[str], Awaitable[Record]]
"""The record of a URL, however its fetch ended."""

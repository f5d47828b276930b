"""Sources read as a run reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from spaniel.sources.rows import ListOptions, Problems, SourceItem
from spaniel.sources.walk import FetchedList, ListFetcher, fetch_lists, items
from spaniel.testing import Site
from tests.loopback import rooms_for


def nobody(url: str, most: int) -> AbstractAsyncContextManager[FetchedList]:
    """For files alone."""
    raise AssertionError(f"{url} was not to be fetched")


async def gather(bring: ListFetcher, sources: Sequence[str], **options: Any) -> tuple[list[SourceItem], Problems]:
    problems = Problems()
    return [item async for item in items(sources, bring, ListOptions(**options), problems)], problems


def read(*sources: object, **options: Any) -> tuple[list[SourceItem], Problems]:
    """The items of files, and what was wrong in them."""
    return asyncio.run(gather(nobody, [str(source) for source in sources], **options))


def urls(*sources: object, **options: Any) -> list[str]:
    return [item.raw_url for item in read(*sources, **options)[0]]


async def read_site(*sources: str, sites: Sequence[Site], **options: Any) -> tuple[list[SourceItem], Problems]:
    """The items of lists on loopback, brought through the real door."""
    async with rooms_for(*sites) as services:
        return await gather(fetch_lists(services.door, services.http), sources, **options)

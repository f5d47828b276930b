"""Helpers that read sources like a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from spaniel.sources.rows import ListOptions, Problems, SourceItem
from spaniel.sources.walk import FetchedList, ListFetcher, fetch_lists, items
from spaniel.testing import Site
from tests.loopback import rooms_for


def no_fetch(url: str, most: int) -> AbstractAsyncContextManager[FetchedList]:
    """A fetcher for tests with files only."""
    raise AssertionError(f"unexpected fetch of {url}")


async def gather(fetch: ListFetcher, sources: Sequence[str], **options: Any) -> tuple[list[SourceItem], Problems]:
    problems = Problems()
    return [item async for item in items(sources, fetch, ListOptions(**options), problems)], problems


def read(*sources: object, **options: Any) -> tuple[list[SourceItem], Problems]:
    """Return the items and problems of files."""
    return asyncio.run(gather(no_fetch, [str(source) for source in sources], **options))


def urls(*sources: object, **options: Any) -> list[str]:
    return [item.raw_url for item in read(*sources, **options)[0]]


async def read_site(*sources: str, sites: Sequence[Site], **options: Any) -> tuple[list[SourceItem], Problems]:
    """Return the items and problems of lists on loopback, fetched through the real guard."""
    async with rooms_for(*sites) as services:
        return await gather(fetch_lists(services.door, services.http), sources, **options)

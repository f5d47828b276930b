"""URL lists read with an engine: local files directly, lists and sitemaps on the web through the engine's client."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.profile import DEFAULT
from spaniel.runs.store import Item
from spaniel.sources.files import fingerprint, local_files
from spaniel.sources.walk import items

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence

    from spaniel.app.settings import Settings
    from spaniel.sources import rows
    from spaniel.sources.rows import ListOptions, Problems
    from spaniel.sources.walk import FetchedList, ListFetcher

    T = TypeVar("T")

TOGETHER = 1000  # URLs per entry of the event loop
STANDARD_INPUT = "-"


class ReadSource:
    """One source as given: a file, a pattern, an address, a site, or `-`."""

    def __init__(self, name: str, options: ListOptions, problems: Problems, settings: Settings, profile: str) -> None:
        self.name = name
        self._options, self._problems = options, problems
        self._settings, self._profile = settings, profile

    def fingerprint(self) -> str:
        """A digest of all its files; empty for what cannot be read twice, and for what is fetched."""
        if self.name == STANDARD_INPUT or self.name.lower().startswith(("http://", "https://")):
            return ""
        digest = sha256()
        for path in local_files(self.name):
            try:
                found = fingerprint(path)
            except OSError as error:
                raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None
            if found is None:
                return ""
            digest.update(f"{path}\0{found.size}\0{found.digest}\0{'' if found.whole else found.mtime_ns}\n".encode())
        return digest.hexdigest()

    def items(self) -> Iterator[Item]:
        return in_lots(self._items())

    async def _items(self) -> AsyncGenerator[Item, None]:
        found = read_lists([self.name], self._options, self._problems, self._settings, self._profile)
        async for item in found:
            yield Item(item.ordinal, item.raw_url, item.columns)


async def read_lists(
    names: Sequence[str],
    options: ListOptions,
    problems: Problems,
    settings: Settings,
    profile: str = DEFAULT,
    *,
    may_be_empty: bool = False,
) -> AsyncGenerator[rows.SourceItem, None]:
    """Every URL of these sources, in order."""
    async with AsyncExitStack() as stack:
        fetch = _fetcher(stack, settings, profile)
        async for item in items(names, fetch, options, problems, may_be_empty=may_be_empty):
            yield item


def in_lots(found: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of an asynchronous iterator, for a caller without an event loop, which is entered once for many."""

    async def lot() -> list[T]:
        taken: list[T] = []
        async for item in found:
            taken.append(item)
            if len(taken) == TOGETHER:
                break
        return taken

    with asyncio.Runner() as runner:
        try:
            while taken := runner.run(lot()):
                yield from taken
        except KeyboardInterrupt:  # interrupted in the middle of a step: it cannot be continued
            raise
        except BaseException:
            runner.run(_close(found))
            raise
        runner.run(_close(found))


async def _close(found: AsyncGenerator[T, None]) -> None:
    await found.aclose()


def _fetcher(stack: AsyncExitStack, settings: Settings, profile: str) -> ListFetcher:
    """Fetches lists with the profile's options. The engine is opened when there is something to fetch."""
    opened: list[ListFetcher] = []

    @asynccontextmanager
    async def fetch(url: str, most: int) -> AsyncIterator[FetchedList]:
        if not opened:
            from spaniel.app.engine import Engine
            from spaniel.sources.walk import fetch_lists

            engine = await stack.enter_async_context(Engine(settings))
            opened.append(fetch_lists(engine.services.door, engine.http, engine.read_profile(profile).way))
        async with opened[0](url, most) as fetched:
            yield fetched

    return fetch

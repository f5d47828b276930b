"""Lists fetched over the network, through the same door as every page: guard, robots and politeness at each hop."""

from __future__ import annotations

from contextlib import asynccontextmanager
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

from spaniel.net.deadline import Deadline
from spaniel.pipeline.retrieve import USUAL_WAY, follow, successful
from spaniel.sources.walk import FetchedList
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import BinaryIO

    from spaniel.net.guard import Target
    from spaniel.net.http import Http, Page, RequestOptions
    from spaniel.pipeline.retrieve import Door
    from spaniel.pipeline.retrieve import FetchOptions
    from spaniel.sources.walk import ListFetcher
    from spaniel.url.value import Url

SECONDS = 300.0  # for one list, which may have a gigabyte


def fetch_lists(door: Door, http: Http, way: FetchOptions = USUAL_WAY, seconds: float = SECONDS) -> ListFetcher:
    """Fetches lists with the options of `way`, each into a temporary file."""

    @asynccontextmanager
    async def fetch(url: str, most: int) -> AsyncIterator[FetchedList]:
        with TemporaryFile(prefix="spaniel-") as file:

            async def ask(url: Url, target: Target, deadline: Deadline, options: RequestOptions) -> Page:
                return await http.stream(url, target, deadline, file.write, options)

            options = way.options._replace(max_bytes=most)
            found = await follow(parse(url), door, ask, Deadline(seconds), way._replace(options=options))
            page = successful(found.page)
            file.seek(0)
            yield FetchedList(page.url.href, page.headers.get("content-type", ""), cast("BinaryIO", file))

    return fetch

"""A fetcher whose worker dies over some pages: paths that begin with /kill."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from spaniel.batch.records import Fetch, Record
from spaniel.hosts import Hosts
from spaniel.testing.batching import open_fetcher as usual

WHERE = f"{__name__}:open_fetcher"
NOWHERE = f"{__name__}:cannot_open"


@asynccontextmanager
async def open_fetcher(options: Mapping[str, Any], hosts: Hosts) -> AsyncIterator[Fetch]:
    async with usual(options, hosts) as fetch:

        async def fetch_or_die(url: str) -> Record:
            if "/kill" in url:
                os.kill(os.getpid(), signal.SIGKILL)
            if "/bug" in url:
                raise LookupError("a bug")
            return await fetch(url)

        yield fetch_or_die


@asynccontextmanager
async def cannot_open(options: Mapping[str, Any], hosts: Hosts) -> AsyncIterator[Fetch]:
    if options:
        os._exit(3)
    async with usual(options, hosts) as fetch:
        yield fetch

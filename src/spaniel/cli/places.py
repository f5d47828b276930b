"""How many fetches at once, in all and at one host. Whoever waits here has not begun, so no time of a fetch is lost."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def host_in(url: str) -> str:
    """The host by which URLs wait for their turn; what is no URL waits for nobody."""
    return url.partition("://")[2].partition("/")[0].lower()


class Places:
    """So many in all, so many at one host, first come, first served; hosts that nobody is at are forgotten."""

    def __init__(self, in_all: int, per_host: int) -> None:
        self._in_all = asyncio.Semaphore(in_all)
        self._per_host = per_host
        self._hosts: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def at(self, host: str) -> AsyncIterator[None]:
        places, visitors = self._hosts.setdefault(host, (asyncio.Semaphore(self._per_host), []))
        visitors.append(None)
        try:
            async with places, self._in_all:
                yield
        finally:
            visitors.pop()
            if not visitors:
                del self._hosts[host]

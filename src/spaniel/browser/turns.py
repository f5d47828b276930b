"""Turns for pages: so many at once, and one that takes long makes room for another without being stopped.

This bounds what one Chromium has to do at a time, whatever the hosts; hosts are asked politely by `spaniel.hosts`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LONG = 2.0  # seconds after which a page no longer holds up those behind it


class PageSlots:
    """At most `at_once` pages that began lately, and `most` in all."""

    def __init__(self, at_once: int, most: int) -> None:
        self._lately = asyncio.Semaphore(at_once)
        self._all = asyncio.Semaphore(most)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        async with self._all:
            await self._lately.acquire()
            given_back = False

            def give_back() -> None:
                nonlocal given_back
                if not given_back:
                    given_back = True
                    self._lately.release()

            timer = asyncio.get_running_loop().call_later(LONG, give_back)
            try:
                yield
            finally:
                timer.cancel()
                give_back()

"""A `Spaniel` that opens on its first fetch, so that listing the tools does not load what fetching needs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.app.client import Spaniel
    from spaniel.app.settings import Settings
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request, Trace


class LazyClient:
    """The client of all calls of one server."""

    def __init__(self, settings: Settings, profile: str | None = None) -> None:
        self._settings = settings
        self._profile = profile
        self._spaniel: Spaniel | None = None
        self._opening = asyncio.Lock()

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer:
        spaniel = self._spaniel or await self.open()
        return await spaniel.answer(request, trace)

    async def require_form(self, request: Request, trace: Trace | None = None) -> None:
        spaniel = self._spaniel or await self.open()
        await spaniel.require_form(request, trace)

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None:
        spaniel = self._spaniel or await self.open()
        return await spaniel.stored(request, trace)

    async def open(self) -> Spaniel:
        async with self._opening:
            if self._spaniel is None:
                from spaniel.app.client import Spaniel
                from spaniel.pipeline.profile import DEFAULT

                self._spaniel = await Spaniel(self._settings, profile=self._profile or DEFAULT).__aenter__()
            return self._spaniel

    async def close(self) -> None:
        if self._spaniel is not None:
            await self._spaniel.close()

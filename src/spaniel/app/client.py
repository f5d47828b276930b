"""The Python surface: `Spaniel`, a client that is opened once and used for many fetches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spaniel.app.engine import Engine
from spaniel.pipeline.answer import answer_from
from spaniel.pipeline.profile import DEFAULT
from spaniel.pipeline.request import Request
from spaniel.pipeline.trace import Trace

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from spaniel.app.settings import Settings
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.profile import Profile

    Named = str | os.PathLike[str] | Profile


class Spaniel:
    """Fetches pages. Use it as `async with Spaniel() as spaniel:`; it may be used by many tasks at once.

    It is a view of an engine through one profile. Given an engine, it shares that one and leaves it open.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        resolver: Resolver | None = None,
        profile: Named = DEFAULT,
        *,
        engine: Engine | None = None,
    ) -> None:
        self._owns = engine is None
        self._engine = engine or Engine(settings, resolver)
        self._asked_for = profile
        self._profile: Profile | None = None

    async def __aenter__(self) -> Spaniel:
        if self._owns:
            await self._engine.__aenter__()
        try:
            self._profile = self._engine.profile(self._asked_for)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._profile = None
        if self._owns:
            await self._engine.close()

    def with_profile(self, profile: Named) -> Spaniel:
        """The same engine through another profile: sockets, robots files, cache and browser are shared."""
        view = Spaniel(profile=profile, engine=self._engine)
        view._profile = self._engine.profile(profile)
        return view

    async def fetch(  # noqa: PLR0913  each is a word of its own to the caller
        self,
        url: str,
        max_chunk_tokens: int | None = None,
        *,
        no_cache: bool = False,
        force_browser: bool = False,
        allowed_domains: Sequence[str] | None = None,
        blocked_domains: Sequence[str] = (),
        trace: Trace | None = None,
    ) -> Answer:
        """The page behind a URL, or a `SpanielError` that says why not.

        With `allowed_domains`, the page and every redirect on the way to it must be in one of these domains, or below
        it; none may be in `blocked_domains`. Both hold besides those of the settings.
        """
        request = Request(url, max_chunk_tokens, no_cache, force_browser, False, allowed_domains, blocked_domains)
        return await self.answer(request, trace)

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer:
        """The same for a `Request`."""
        trace = trace or Trace()
        return self.view(await self.outcome(request, trace), request.max_chunk_tokens, trace)

    async def outcome(self, request: Request, trace: Trace | None = None) -> Outcome:
        """How the fetch ended, whole: the page or the refusal, what was tried, where it went."""
        profile = self._open_profile()
        if request.picture:
            request = request._replace(no_cache=True, force_browser=True)
        return await self._engine.fetch(request, profile, trace)

    async def check(self, request: Request, trace: Trace | None = None) -> None:
        """Raises what a fetch would refuse for its form, before it asks anybody for anything."""
        self._engine.check(request, self._open_profile(), trace)

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None:
        """The answer if the page is in the cache; None where it would have to be fetched. Refusals are as `check`'s."""
        trace = trace or Trace()
        outcome = self._engine.stored(request, self._open_profile(), trace)
        return None if outcome is None else self.view(outcome, request.max_chunk_tokens, trace)

    def view(self, outcome: Outcome, max_chunk_tokens: int | None = None, trace: Trace | None = None) -> Answer:
        """An outcome as the answer of the tool; its refusal is raised."""
        tokens = max_chunk_tokens or self._open_profile().limits.chunk_tokens
        return answer_from(outcome, tokens, trace or Trace())

    def _open_profile(self) -> Profile:
        if self._profile is None:
            raise RuntimeError("this Spaniel is not open: use it as 'async with Spaniel() as spaniel'")
        return self._profile


async def afetch(
    url: str, max_chunk_tokens: int | None = None, *, no_cache: bool = False, force_browser: bool = False
) -> Answer:
    """Fetch one page; for many, open a `Spaniel`."""
    async with Spaniel() as spaniel:
        return await spaniel.fetch(url, max_chunk_tokens, no_cache=no_cache, force_browser=force_browser)


def fetch_now(
    url: str, max_chunk_tokens: int | None = None, *, no_cache: bool = False, force_browser: bool = False
) -> Answer:
    """Fetch one page and wait for it: `spaniel.fetch`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # as it should be: nobody waits in an event loop here
    else:
        raise RuntimeError("an event loop is running here: write 'await spaniel.afetch(url)'")
    return asyncio.run(afetch(url, max_chunk_tokens, no_cache=no_cache, force_browser=force_browser))

"""One page by one call: `spaniel.fetch` and `spaniel.afetch`, each with a client of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spaniel.app.client import Spaniel
from spaniel.pipeline.profile import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from spaniel.app.client import Named
    from spaniel.app.fetch_options import FetchKeywords
    from spaniel.app.settings import Settings
    from spaniel.pipeline.answer import Answer


async def afetch(
    url: str,
    max_chunk_tokens: int | None = None,
    *,
    profile: Named = DEFAULT,
    settings: Settings | Mapping[str, object] | None = None,
    **options: Unpack[FetchKeywords],
) -> Answer:
    """Fetch one page in an event loop: `answer = await spaniel.afetch(url)`.

    It takes what `spaniel.fetch` takes. To fetch many pages, open one `Spaniel` and use its `fetch`.
    """
    async with Spaniel(settings, profile=profile) as spaniel:
        return await spaniel.fetch(url, max_chunk_tokens, **options)


def fetch(
    url: str,
    max_chunk_tokens: int | None = None,
    *,
    profile: Named = DEFAULT,
    settings: Settings | Mapping[str, object] | None = None,
    **options: Unpack[FetchKeywords],
) -> Answer:
    """Fetch one page and wait for it.

    url                the page, http:// or https://
    max_chunk_tokens   the largest chunk in tokens (None: default_max_chunk_tokens of the settings)
    profile            how to fetch: the name of a profile, or a TOML file
    settings           settings for this call, for example {"timeout_seconds": 5}; they override files and environment
    no_cache           fetch it again even if a copy is in the cache
    force_browser      render it in a headless browser

    It takes all the other options of `Spaniel.fetch` too: `screenshot`, `wait_for`, `viewport` and so on.

    Returns an `Answer` with `markdown`, `title`, `chunks`, `metadata` and `notes`. If there is no page,
    `SpanielError` says why: `error.code`, `error.message`, `error.hint`, `error.retryable`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass  # no event loop is running, as it should be
    else:
        raise RuntimeError("an event loop is running here: write 'await spaniel.afetch(url)'")
    return asyncio.run(afetch(url, max_chunk_tokens, profile=profile, settings=settings, **options))

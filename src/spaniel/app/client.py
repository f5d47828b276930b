"""The Python API: `Spaniel`, a client that is opened once and used for many fetches; `fetch` and `afetch` for one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypedDict

from spaniel.app.engine import Engine
from spaniel.app.settings import Settings, load
from spaniel.pipeline.answer import answer_from
from spaniel.pipeline.profile import DEFAULT
from spaniel.pipeline.request import Request, Trace

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
    from typing import Unpack

    from spaniel.browser.rendering import RenderOptions
    from spaniel.health.links import Checked, Link
    from spaniel.net.resolver import Resolver
    from spaniel.online.canonicalizer import Canonicalizer
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.profile import Profile
    from spaniel.pipeline.record import Record
    from spaniel.url import Canonical, Policy
    from spaniel.url.allowlist import Allowlist

    Named = str | os.PathLike[str] | Profile


class FetchKeywords(TypedDict, total=False):
    """The keywords of `Spaniel.fetch`, `spaniel.fetch` and `spaniel.afetch`."""

    no_cache: bool
    force_browser: bool
    allowed_domains: Sequence[str] | None
    blocked_domains: Sequence[str]
    screenshot: bool
    wait_for: str | None
    viewport: tuple[int, int] | None
    idle_ms: int | None
    scrolls: int | None


def request_for(url: str, max_chunk_tokens: int | None, options: FetchKeywords, shown: RenderOptions) -> Request:
    """The request; `shown` are the default rendering options. An unknown name is a `TypeError`."""
    for name in options:
        if name not in FetchKeywords.__annotations__:
            raise TypeError(f"fetch() got an unexpected keyword argument '{name}'")
    return Request(
        url,
        max_chunk_tokens,
        options.get("no_cache", False),
        options.get("force_browser", False),
        options.get("screenshot", False),
        options.get("allowed_domains"),
        options.get("blocked_domains", ()),
        display=displayed(
            shown, options.get("wait_for"), options.get("viewport"), options.get("idle_ms"), options.get("scrolls")
        ),
    )


def displayed(
    shown: RenderOptions,
    wait_for: str | None = None,
    viewport: tuple[int, int] | None = None,
    idle_ms: int | None = None,
    scrolls: int | None = None,
) -> RenderOptions | None:
    """The rendering options of one call: the defaults with what is passed here. None if nothing is."""
    width, height = viewport or (None, None)
    given = {"width": width, "height": height, "idle_ms": idle_ms, "wait_for": wait_for, "scrolls": scrolls}
    given = {name: value for name, value in given.items() if value is not None}
    return shown._replace(**given) if given else None  # type: ignore[arg-type]


class Spaniel:
    """A client that fetches pages. Open it once and use it for many fetches, from as many tasks as you like:

        async with Spaniel() as client:
            answer = await client.fetch("https://example.com/")

    Without `settings` it uses those of the user's files and environment. A dictionary overrides them, key by key:
    `Spaniel({"timeout_seconds": 5})`. `profile` is how pages are fetched: a profile's name, or a TOML file.
    """

    # It is a view of an engine through one profile. If you pass an engine, it is shared and stays open.

    def __init__(
        self,
        settings: Settings | Mapping[str, object] | None = None,
        resolver: Resolver | None = None,
        profile: Named = DEFAULT,
        *,
        engine: Engine | None = None,
    ) -> None:
        self._owns = engine is None
        if engine is None:
            engine = Engine(settings if isinstance(settings, Settings) else load(call=settings), resolver)
        self._engine = engine
        self._asked_for = profile
        self._profile: Profile | None = None

    @classmethod
    def from_config(cls, path: str | None = None, *, profile: Named = DEFAULT, **settings: object) -> Spaniel:
        """A client with settings from a file and from arguments.

        `path` is a settings file; it overrides the user's and the project's. Settings passed as arguments override all
        files and variables. Their names are those of the variables, in lower case and without `SPANIEL_`:

            Spaniel.from_config("settings.toml", user_agent="my-agent/1.0 (me@example.com)", robots_fail_open=True)
        """
        return cls(load(path, call=settings), profile=profile)

    @property
    def settings(self) -> Settings:
        """The settings that this client uses."""
        return self._engine.settings

    @property
    def profile(self) -> Profile:
        """How this client fetches, once it is open."""
        if self._profile is None:
            raise RuntimeError("this Spaniel is not open: use it as 'async with Spaniel() as spaniel'")
        return self._profile

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
        """A client with another profile. It shares connections, cache and browser with this one."""
        view = Spaniel(profile=profile, engine=self._engine)
        view._profile = self._engine.profile(profile)
        return view

    async def fetch(
        self,
        url: str,
        max_chunk_tokens: int | None = None,
        *,
        trace: Trace | None = None,
        **options: Unpack[FetchKeywords],
    ) -> Answer:
        """The page at a URL. If there is none, a `SpanielError` says why.

        max_chunk_tokens   the largest chunk in tokens (None: the setting)
        no_cache           fetch it again even if a copy is in the cache
        force_browser      render it in a headless browser
        allowed_domains    the page and every redirect must be in one of these domains, or below it
        blocked_domains    none of them may be in one of these; both apply in addition to the settings

        With one of the following, the browser renders the page again:

        screenshot         put a screenshot of the page (PNG) into `answer.picture`
        wait_for           a CSS selector that must match before the page is read
        viewport           the width and the height of the window, in pixels
        idle_ms            the longest wait for the page to finish loading
        scrolls            how often to scroll to the end of the page while it grows
        """
        request = request_for(url, max_chunk_tokens, options, self.settings.browser.display)
        return await self.answer(request, trace)

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer:
        """Like `fetch`, for a `Request`."""
        trace = trace or Trace()
        return self.view(await self.outcome(request, trace), request.max_chunk_tokens, trace)

    async def outcome(self, request: Request | str, trace: Trace | None = None) -> Outcome:
        """The outcome of fetching a URL as a value: the page or the error, the attempts, the redirects."""
        profile = self.profile
        request = Request(request) if isinstance(request, str) else request
        if request.picture or request.display is not None:
            request = request._replace(no_cache=True, force_browser=True)
        return await self._engine.fetch(request, profile, trace)

    async def record(self, request: Request | str, *, chunks: bool = False) -> Record:
        """The record of fetching a URL, whatever the outcome; with its chunks if requested.

        It never raises because of the page: see `record.verdict` and `record.error`.
        """
        from spaniel.pipeline.record import record_of

        request = Request(request) if isinstance(request, str) else request
        outcome = await self.outcome(request)
        wanted = outcome.found is not None and chunks
        return record_of(outcome, self.view(outcome, request.max_chunk_tokens).chunk_records() if wanted else None)

    async def require_form(self, request: Request, trace: Trace | None = None) -> None:
        """Raise what a fetch would refuse for its form. Makes no requests."""
        self._engine.check(request, self.profile, trace)

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None:
        """The answer if the page is in the cache; None if it would have to be fetched.

        It refuses what `require_form` refuses.
        """
        trace = trace or Trace()
        if request.display is not None:  # rendered for one call: such a copy is not cached
            await self.require_form(request, trace)
            return None
        outcome = self._engine.stored(request, self.profile, trace)
        return None if outcome is None else self.view(outcome, request.max_chunk_tokens, trace)

    def check(  # noqa: PLR0913  each is a word of its own to the caller
        self,
        links: Iterable[str | Link],
        *,
        jobs: int | None = None,
        per_host: int | None = None,
        delay: float | None = None,
        timeout: int | None = None,
        robots: bool | None = None,
        soft_404: bool = False,
        history: str | os.PathLike[str] | None = None,
    ) -> AsyncGenerator[Checked, None]:
        """Results of link checks as they arrive: `async for checked in client.check(urls): …`

        jobs       how many requests at the same time
        per_host   how many of them to one host
        delay      seconds between two requests to one host
        timeout    seconds for the response of one link
        robots     skip what robots.txt disallows, and respect its Crawl-delay
        soft_404   detect missing pages that the server reports as found
        history    a folder for the history: without one, a failing link is never called dead

        All default to the settings. Equal URLs are requested once. Failures are reported at the end: if most hosts did
        not respond, there was no network, and no link is called failing.
        """
        from spaniel.app.checking import CheckOptions, check

        politeness = CheckOptions(jobs, per_host, delay, timeout, robots, soft_404)
        return check(self._engine, links, politeness, history)

    async def canonicalize(
        self,
        url: str | bytes,
        policy: str | os.PathLike[str] | Policy = "clara",
        *,
        allowlist: str | os.PathLike[str] | Allowlist | None = None,
        learnt: str | os.PathLike[str] | None = None,
        refresh: bool = False,
    ) -> Canonical:
        """The canonical form of a URL, with the policy's online rules answered by the web.

        allowlist   a file of hosts: the URL and every redirect must be on one of them
        learnt      a file of what was learnt about hosts: it is read, and new knowledge is added to it
                    (default: the file named in the settings, if any)
        refresh     ask again for what was learnt before

        A URL that leaves the allowlist, or is blocked by the guard, raises `SpanielError`. A site that does not respond
        raises nothing: the URL is returned as it is, and its `flags` say so.
        """
        canonicalizer = self.canonicalizer(policy, allowlist=allowlist, learnt=learnt, refresh=refresh)
        try:
            return await canonicalizer.canonicalize(url)
        finally:
            canonicalizer.learnt.save()

    def canonicalizer(
        self,
        policy: str | os.PathLike[str] | Policy = "clara",
        *,
        allowlist: str | os.PathLike[str] | Allowlist | None = None,
        learnt: str | os.PathLike[str] | None = None,
        refresh: bool = False,
    ) -> Canonicalizer:
        """For many URLs: `async for found in client.canonicalizer("clara").many(urls)`. Each host is asked
        once. `canonicalizer.learnt.save()` adds what was learnt to the file."""
        from spaniel.online.canonicalizer import canonicalizer_for

        reach = self._engine.reach(self.profile)
        learnt = learnt or self.settings.learnt_file or None
        return canonicalizer_for(policy, reach, allowlist=allowlist, learnt=learnt, refresh=refresh)

    def view(self, outcome: Outcome, max_chunk_tokens: int | None = None, trace: Trace | None = None) -> Answer:
        """The answer of an outcome; raises its error if there is no page."""
        tokens = max_chunk_tokens or self.profile.limits.chunk_tokens
        return answer_from(outcome, tokens, trace or Trace())


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

"""Batches put together: what a worker fetches with, and records for programs."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from contextlib import aclosing, asynccontextmanager, closing
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from spaniel.app.batch_wiring import PROFILE, wiring
from spaniel.app.engine import Engine, Working
from spaniel.app.logs import configure
from spaniel.app.settings import Setting, Settings, load
from spaniel.app.several import several
from spaniel.batch.captures import CapturingHttp
from spaniel.batch.coordinator import Pace
from spaniel.batch.in_process import InProcess
from spaniel.batch.plan import Plan
from spaniel.batch.planning import make_plan
from spaniel.batch.politeness import Politeness, Rule
from spaniel.batch.ports import Item
from spaniel.batch.records import record_of
from spaniel.batch.streaming import stream
from spaniel.batch.worker import WorkerClock
from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.net.resolver import RememberingResolver, SystemResolver
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.readers import ALONE, AMONG_OTHERS
from spaniel.pipeline.request import Request
from spaniel.reading import html as _html  # noqa: F401  every worker needs it, and loads it while the coordinator plans

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping

    from spaniel.batch.ports import Fetch, Record
    from spaniel.batch.worker import OpenFetcher, RemoteHosts
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.profile import Profile

SAID_ALREADY = ("spaniel.protection", "spaniel.settings")
MOST_JOBS = 512
QUEUE = "queue"  # a rung: for a person, to whom a batch gives its output


@asynccontextmanager
async def open_fetcher(
    told: Mapping[str, Any], hosts: RemoteHosts, resolver: Resolver | None = None
) -> AsyncIterator[Fetch]:
    """What a worker fetches with, from its wiring."""
    if told["logs"]:  # it is a process of its own
        configure(*told["logs"])
        for name in SAID_ALREADY:
            logging.getLogger(name).setLevel(logging.ERROR)
    settings = Settings({path: Setting(_frozen(value), source) for path, value, source in told["settings"]})
    names = RememberingResolver(resolver or SystemResolver())
    around = partial(CapturingHttp, clock=SystemClock()) if told.get("captures") else None
    working = Working(hosts, ALONE if told["logs"] else AMONG_OTHERS, around)
    async with Engine(settings, names, WorkerClock(hosts), working=working) as engine:
        profile = engine.profile(for_batches(engine.read_profile(told["profile"]), cached=told["cached"]))

        async def fetch(url: str) -> Record:
            return record_of(await engine.fetch(Request(url), profile))

        yield fetch


async def batch(  # noqa: PLR0913  each is a word of its own to the caller
    urls: Iterable[str],
    *,
    profile: str = PROFILE,
    settings: Settings | Mapping[str, object] | None = None,
    jobs: int = 64,
    per_host: int = 1,
    delay: float = 1.0,
    cached: bool = False,
    fetcher: OpenFetcher | None = None,
) -> AsyncGenerator[dict[str, Any], None]:
    """Records of many URLs, as they come: `async for record in spaniel.batch(urls): …`

    urls       the pages; equal ones are fetched once, and each has its record
    profile    how each is fetched: a name (`ingest`, `web_fetch`), or a TOML file
    jobs       how many pages at once
    per_host   how many requests at once at one host
    delay      seconds between an answer of a host and the next request to it
    cached     use the page cache, and fill it

    A record has `ordinal`, the place of its URL. It holds the page, or `error`. To stop early, leave the loop and
    close the iterator (`contextlib.aclosing`).
    """
    if not 1 <= jobs <= MOST_JOBS:
        raise SpanielError(Code.BAD_ARGS, field="jobs", reason=f"must be 1 to {MOST_JOBS}")
    given = settings if isinstance(settings, Settings) else load(call=settings)
    pace = Pace(1, jobs, Politeness(Rule(per_host, delay)))
    crew = InProcess(fetcher or open_fetcher, wiring(given, profile, cached=cached))
    canonical = load_profile(profile).policy.apply
    items = (Item(ordinal, url) for ordinal, url in enumerate(several(urls, "urls", str)))
    with tempfile.TemporaryDirectory(prefix="spaniel-batch-") as folder:
        await asyncio.to_thread(make_plan, items, lambda raw: canonical(raw).url, folder)
        with closing(Plan(folder)) as plan:
            async with aclosing(stream(plan, crew, pace)) as records:
                async for record in records:
                    yield record


def for_batches(profile: Profile, *, cached: bool) -> Profile:
    """The same without what a batch does not want: chunks, a cache whose entries it would drive out, and the queue."""
    limits = profile.limits._replace(chunk_tokens=0)
    ladder = tuple(rung for rung in profile.ladder if rung.name != QUEUE)
    return profile._replace(cached=profile.cached and cached, limits=limits, ladder=ladder)


def _frozen(value: Any) -> Any:
    return cast("Any", tuple(value)) if isinstance(value, list) else value

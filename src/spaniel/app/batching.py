"""Batches: what a worker fetches with, and records for Python programs."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from spaniel.app.batch_wiring import PROFILE, limits, wiring
from spaniel.app.engine import Engine, WorkerOptions
from spaniel.app.logs import configure
from spaniel.app.settings import Setting, Settings, load
from spaniel.app.values import several
from spaniel.batch.outputs.warc import CapturingHttp
from spaniel.batch.planning import ListRows, make_plan
from spaniel.batch.records import record_of
from spaniel.batch.worker import stream
from spaniel.clock import SystemClock
from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_JOBS, BATCH_PER_HOST
from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.hosts.scheduler import PlaceClock
from spaniel.net.resolver import CachingResolver, SystemResolver
from spaniel.pipeline.fallbacks import MOST_ASKED
from spaniel.pipeline.profile import Fallback
from spaniel.pipeline.profile import load as load_profile
from spaniel.pipeline.readers import ALONE, AMONG_OTHERS
from spaniel.pipeline.request import Request
from spaniel.reading.formats import html as _html  # noqa: F401  every worker needs it, and loads it while the coordinator plans
from spaniel.runs.store import Item

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping

    from spaniel.batch.records import Fetch, Record
    from spaniel.batch.worker import OpenFetcher
    from spaniel.clock import Clock
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.profile import Profile

SAID_ALREADY = ("spaniel.protection", "spaniel.settings")
RETRIES = ("retry", "retry_after")  # fallbacks
QUEUE = "queue"  # a fallback for people, who get a batch's output anyway


@asynccontextmanager
async def open_fetcher(
    fields: Mapping[str, Any], hosts: Hosts, resolver: Resolver | None = None
) -> AsyncIterator[Fetch]:
    """What a worker fetches with, from its options."""
    if fields["logs"]:  # the worker is a process of its own
        configure(*fields["logs"])
        for name in SAID_ALREADY:
            logging.getLogger(name).setLevel(logging.ERROR)
    settings = Settings({path: Setting(_frozen(value), source) for path, value, source in fields["settings"]})
    names = CachingResolver(resolver or SystemResolver())
    around = partial(CapturingHttp, clock=SystemClock()) if fields.get("captures") else None
    worker = WorkerOptions(hosts, ALONE if fields["logs"] else AMONG_OTHERS, around)
    async with Engine(settings, names, PlaceClock(hosts.clock), worker=worker) as engine:
        limits = settings.batch
        profile = engine.profile(
            for_batches(engine.read_profile(fields["profile"]), limits.max_retry_after_seconds, cached=fields["cached"])
        )

        async def fetch(url: str) -> Record:
            return record_of(await engine.fetch(Request(url), profile))

        yield fetch


async def batch(  # noqa: PLR0913  each is a word of its own to the caller
    urls: Iterable[str],
    *,
    profile: str = PROFILE,
    settings: Settings | Mapping[str, object] | None = None,
    jobs: int = BATCH_JOBS.default,
    per_host: int = BATCH_PER_HOST.default,
    delay: float = float(BATCH_DELAY_SECONDS.default),
    cached: bool = False,
    host_time: float | None = None,
    total_time: float | None = None,
    fetcher: OpenFetcher | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[dict[str, Any], None]:
    """Records of many URLs as they are fetched: `async for record in spaniel.batch(urls): …`

    urls       the pages; equal URLs are fetched once, and each gets a record
    profile    how to fetch: a profile's name (`ingest`, `web_fetch`), or a TOML file
    jobs       how many pages at the same time
    per_host   how many requests at the same time to one host
    delay      seconds between a host's response and the next request to it
    cached     use the page cache
    host_time  seconds for one host, total_time for the whole run (default: the settings'; 0: no limit)

    A record has `ordinal`, the position of its URL. It holds the page, or `error`. To stop early, leave the loop and
    close the iterator (`contextlib.aclosing`).
    """
    if not BATCH_JOBS.allows(jobs):
        raise SpanielError(Code.BAD_ARGS, field="jobs", reason=f"must be {BATCH_JOBS.range}")
    given = settings if isinstance(settings, Settings) else load(call=settings)
    clock = clock or SystemClock()
    hosts = Hosts(clock, rules=HostRules(HostRule(per_host, delay)), limits=limits(given, host_time, total_time))
    wires = wiring(given, profile, cached=cached)
    policy = load_profile(profile).policy
    items = (Item(ordinal, url) for ordinal, url in enumerate(several(urls, "urls", str)))
    with tempfile.TemporaryDirectory(prefix="spaniel-batch-") as folder:
        await asyncio.to_thread(make_plan, ListRows(items, policy), folder)
        async with aclosing(stream(folder, fetcher or open_fetcher, wires, hosts, jobs, clock)) as records:
            async for record in records:
                yield record


def for_batches(profile: Profile, longest_wait: float, *, cached: bool) -> Profile:
    """The profile without what a batch does not need: chunks, the cache (unless requested) and the queue.

    A batch waits as long as the server asks, unlike a single fetch; that wait is not part of the page's own time. Each
    page whose server asks to wait gets three requests (FG-46), by the profile's retries or by ours.
    """
    own = profile.limits
    total = own.total_seconds and own.total_seconds + (MOST_ASKED - 1) * longest_wait
    limits = own._replace(chunk_tokens=0, max_wait_seconds=longest_wait, total_seconds=total)
    fallbacks = [fallback for fallback in profile.fallbacks if fallback.name != QUEUE]
    missing = MOST_ASKED - 1 - sum(fallback.name in RETRIES for fallback in fallbacks)
    at_site = [
        place for place, fallback in enumerate(fallbacks, 1) if fallback.name in (*RETRIES, "http", "plain_http")
    ]
    if at_site:
        fallbacks[at_site[-1] : at_site[-1]] = [Fallback("retry_after", {"after_seconds": 5})] * missing
    return profile._replace(cached=profile.cached and cached, limits=limits, fallbacks=tuple(fallbacks))


def _frozen(value: Any) -> Any:
    return cast("Any", tuple(value)) if isinstance(value, list) else value

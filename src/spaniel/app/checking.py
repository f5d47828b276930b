"""Link checks: a run over links with this engine's clients, and its history."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.keys import OWN
from spaniel.app.paths import default_state_dir
from spaniel.app.settings import HealthSettings
from spaniel.app.values import several
from spaniel.defaults import CHECK_DELAY_MS, CHECK_JOBS, CHECK_PER_HOST, CHECK_TIMEOUT_SECONDS
from spaniel.errors import Code, SpanielError
from spaniel.health.history import History
from spaniel.health.hops import Ways
from spaniel.health.journal import Journal, trouble_with
from spaniel.health.judging import judge
from spaniel.health.links import Link
from spaniel.health.ports import Heard, Looked, RunOptions
from spaniel.health.registry_links import asked_as
from spaniel.health.requests import NO_HINTS, Asker, Hints
from spaniel.health.resuming import Begun, begin
from spaniel.health.run import Run
from spaniel.health.spool import Spool
from spaniel.hosts import Hosts, Politeness
from spaniel.net.guard import literal_address
from spaniel.net.http import RequestOptions
from spaniel.net.resolver import NXDOMAIN
from spaniel.url.parsing import parse
from spaniel.url.value import in_one_spelling

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
    from typing import TextIO

    from spaniel.app.engine import Engine
    from spaniel.app.settings import Settings
    from spaniel.health.links import Checked
    from spaniel.verdicts import Observation, Past

log = logging.getLogger("spaniel.health")
NOT_KEPT = "the history cannot be used; results are shown but not recorded"
BESIDE = ".spaniel"  # the history's folder inside a database
STALLED_SECONDS = 5.0  # seconds without a response on a reused connection before a new one is tried
OURS = frozenset(  # refused before any request
    {Code.SSRF_BLOCKED, Code.PORT_BLOCKED, Code.INVALID_HOST, Code.INVALID_URL, Code.INVALID_SCHEME,
     Code.ROBOTS_DISALLOWED, Code.HTTP_4XX, Code.HTTP_5XX}
)  # fmt: skip
ANSWERED = ("certificate", "tls", "refused")  # failures that only a host that responded can cause


class Extras(NamedTuple):
    """What a call sets in addition to the settings."""

    total_seconds: float = 0.0  # for the whole run; 0: no limit
    soft_404: bool = False  # detect missing pages that the server reports as found
    scope: str = ""  # what is checked, shown by the command that resumes the run
    resume: bool = False


def health_settings(settings: Settings) -> HealthSettings:
    return HealthSettings(*(settings[f"{OWN}.health.{name}"] for name in HealthSettings._fields))  # type: ignore[arg-type]


def documents_history(own: HealthSettings) -> History:
    """For links in documents."""
    return History(own.history_folder or os.path.join(default_state_dir(), "health"))


def registry_history(folder: str) -> History:
    """For a database: beside its files."""
    return History(os.path.join(folder, BESIDE), is_shared=True)


def spool_for(aliases: Mapping[str, str] | None = None) -> Spool:
    return Spool(address_of(asked_as(aliases or {})))


def address_of(asked: Callable[[str], str] = str) -> Callable[[str], tuple[str, str]]:
    """The URL that is requested for another, normalized and without fragment, and its host; '' if it is not a URL."""

    def address(url: str) -> tuple[str, str]:
        url = asked(url)
        if (spelled := in_one_spelling(url)) is not None:
            return spelled[:2]
        try:
            parsed = parse(url)._replace(fragment=None)
        except SpanielError:
            return url, ""
        except UnicodeError:  # lone surrogates are then written as escapes
            raise
        except Exception:  # one URL must not end the run: it is reported when it is checked
            log.exception("reading a URL failed unexpectedly")
            return url, ""
        return parsed.href, parsed.host

    return address


def may_color(out: TextIO) -> bool:
    """Whether the output is a terminal that shows colors (https://no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR")


class Prepared(NamedTuple):
    """A run that is ready to start."""

    run: Run
    journal: Journal
    remarks: tuple[str, ...]  # for people


def prepare(engine: Engine, spool: Spool, own: HealthSettings, history: History | None, extras: Extras) -> Prepared:
    """A run over the links of a queue. If the history cannot be written, that is reported and nothing is recorded."""
    begun = Begun(0)
    try:
        if history is not None:
            begun = begin(history, spool, extras.scope, resume=extras.resume)
    except (OSError, sqlite3.Error) as error:
        begun = Begun(0, (f"{NOT_KEPT}: {trouble_with(error)}",))
        history = None
    politeness = Politeness(
        own.per_host, own.delay_ms / 1000, respect_delays=True, longest_wait=float(own.host_wait_seconds)
    )
    door = engine.services.door
    if not isinstance(door.hosts, Hosts):
        raise TypeError("links are checked by an engine with hosts of its own")
    variants = _ways(engine, own, politeness, extras)
    asker = Asker(
        door._replace(guard=engine.guard.with_any_port()), engine.services.clock, variants, engine.services.readers
    )
    options = RunOptions(
        at_once=own.jobs,
        link_seconds=4.0 * own.timeout_seconds + 60.0,  # HEAD, GET and one more; a last resort
        content_seconds=own.content_seconds + 4.0 * own.timeout_seconds + 60.0,
        host_patience=float(own.host_wait_seconds),
        total_seconds=extras.total_seconds,
    )
    journal = Journal(history, begun.run)
    delays = HostDelays(door.hosts, politeness)
    return Prepared(Run(spool, _Looks(asker), delays, engine.clock, journal, options), journal, begun.remarks)


def _ways(engine: Engine, own: HealthSettings, politeness: Politeness, extras: Extras) -> Ways:
    settings, usual = engine.settings, Ways()
    redirects = settings.limits.max_redirects if settings.given("tools.webfetch.max_redirects") else usual.max_redirects
    return usual._replace(
        options=RequestOptions(settings.headers._replace(accept="*/*"), stalled_after=STALLED_SECONDS),
        politeness=politeness,
        max_redirects=redirects,
        seconds=float(own.timeout_seconds),
        head_seconds=min(usual.head_seconds, float(own.timeout_seconds)),
        content_seconds=float(own.content_seconds),
        heed_robots=own.robots,
        soft_404=extras.soft_404,
    )


class HostDelays:
    """What a run knows about hosts. Links wait in the run, so that a waiting one does not occupy a slot."""

    def __init__(self, hosts: Hosts, politeness: Politeness) -> None:
        self._hosts, self._politeness = hosts, politeness._replace(waits_for_retry_after=False)

    def ready_at(self, host: str, /) -> float:
        return self._hosts.ready_at(host, self._politeness)

    def asked_seconds(self, host: str, /) -> float:
        """By this program or another."""
        asked = self._hosts.asked(host)
        return 0.0 if asked is None else asked.seconds

    def crawl_delay(self, host: str, /) -> float:
        return self._hosts.crawl_delay(host)

    def places(self, host: str, /) -> int:
        return self._hosts.places(host, self._politeness)


class _Looks:
    """Sends requests and decides verdicts."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def look(self, link: Link, past: Past, attempts: int) -> Looked:
        hints = Hints(past.head_differs, attempts) if past.head_differs or attempts else NO_HINTS
        seen = await self._asker.ask(link, hints)
        return Looked(judge(seen, link, past), _heard(seen, link.url), seen.retry_after, seen.head_differs)


def _heard(seen: Observation, url: str) -> Heard | None:
    """How far a request came: without any response, our own network may be down (LH-01)."""
    if seen.evidence.chain or seen.cause in ANSWERED or (seen.evidence.status is not None and not seen.code):
        return Heard.ANSWER
    if seen.code in OURS:
        return None
    if seen.evidence.phase == "dns" and seen.cause != NXDOMAIN:
        return Heard.NO_LOOKUP_ANSWER
    return Heard.SILENT if literal_address(parse(url).host) else Heard.LOOKUP_ANSWER


class Overrides(NamedTuple):
    """What a call sets in place of the settings."""

    jobs: int | None = None
    per_host: int | None = None
    delay: float | None = None  # seconds
    timeout: int | None = None
    robots: bool | None = None
    soft_404: bool = False

    def over(self, own: HealthSettings) -> HealthSettings:
        bounds = {
            "jobs": CHECK_JOBS.bounds,
            "per_host": CHECK_PER_HOST.bounds,
            "delay": (CHECK_DELAY_MS.low // 1000, CHECK_DELAY_MS.high // 1000),
            "timeout": CHECK_TIMEOUT_SECONDS.bounds,
        }
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:  # NaN is not allowed either
                raise SpanielError(Code.BAD_ARGS, field=name, reason=f"must be {least} to {most}")
        return own._replace(
            jobs=own.jobs if self.jobs is None else self.jobs,
            per_host=own.per_host if self.per_host is None else self.per_host,
            delay_ms=own.delay_ms if self.delay is None else round(self.delay * 1000),
            timeout_seconds=own.timeout_seconds if self.timeout is None else self.timeout,
            robots=own.robots if self.robots is None else self.robots,
        )


async def check(
    engine: Engine, links: Iterable[str | Link], given: Overrides, history: str | os.PathLike[str] | None
) -> AsyncGenerator[Checked, None]:
    """Like `Spaniel.check`, which documents the arguments."""
    own = given.over(health_settings(engine.settings))
    cache_info = (
        None if history is None else History(os.fspath(history), now=lambda: engine.services.clock.now().timestamp())
    )
    spool = spool_for()
    try:
        given_links = several(links, "links", (str, Link))
        spool.take(Link(link) if isinstance(link, str) else link for link in given_links)
        prepared = prepare(engine, spool, own, cache_info, Extras(soft_404=given.soft_404))
        for remark in (
            *prepared.remarks,
            *([cache_info.damage] if cache_info is not None and cache_info.damage else ()),
        ):
            log.warning(remark)
        run = prepared.run
        async with aclosing(run.results()) as results:
            async for checked in results:
                yield checked
    finally:
        spool.close()
        if cache_info is not None:
            cache_info.close()

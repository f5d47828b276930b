"""Link checks: a run over links with this engine's clients, and its history."""

from __future__ import annotations

import logging
import os
from contextlib import aclosing
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.keys import OWN
from spaniel.app.paths import default_state_dir
from spaniel.app.settings import HealthSettings
from spaniel.app.values import several
from spaniel.defaults import CHECK_DELAY_MS, CHECK_JOBS, CHECK_PER_HOST, CHECK_TIMEOUT_SECONDS
from spaniel.errors import Code, SpanielError
from spaniel.health.history import History, HostReach
from spaniel.health.hops import LinkOptions
from spaniel.health.judging import judge
from spaniel.health.links import Link
from spaniel.health.registry_links import asked_as
from spaniel.health.requests import NO_HINTS, Hints, LinkClient
from spaniel.health.run import CheckResult, Run, RunOptions, limits_of_checks, not_requested
from spaniel.health.store import LinkStore, open_store
from spaniel.hosts import GIVEN_UP, Hosts
from spaniel.hosts.rules import HostRule, HostRules
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


def health_settings(settings: Settings) -> HealthSettings:
    return HealthSettings(*(settings[f"{OWN}.health.{name}"] for name in HealthSettings._fields))  # type: ignore[arg-type]


def documents_history(own: HealthSettings) -> History:
    """For links in documents."""
    return History(own.history_folder or os.path.join(default_state_dir(), "health"))


def registry_history(folder: str) -> History:
    """For a database: beside its files."""
    return History(os.path.join(folder, BESIDE), is_shared=True)


def store_for(
    history: History | None, scope: str = "", aliases: Mapping[str, str] | None = None, *, resume: bool = False
) -> LinkStore:
    """For the links of a run. `scope` names what is checked: a run is resumed with the same."""
    return open_store(address_of(asked_as(aliases or {})), history, scope, resume=resume)


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


def prepare(engine: Engine, store: LinkStore, own: HealthSettings, extras: Extras) -> Run:
    """A run over the links of a store."""
    door = engine.services.door
    if not isinstance(door.hosts, Hosts):
        raise TypeError("links are checked by an engine with hosts of its own")
    rules = HostRules(HostRule(own.per_host, own.delay_ms / 1000))
    hosts = door.hosts.for_run(rules, limits_of_checks(float(own.host_wait_seconds)))
    door = door._replace(guard=engine.guard.with_any_port(), hosts=hosts)
    client = LinkClient(door, engine.services.clock, _options(engine, own, extras), engine.services.readers)
    options = RunOptions(
        at_once=own.jobs,
        link_seconds=4.0 * own.timeout_seconds + 60.0,  # HEAD, GET and one more; a last resort
        content_seconds=own.content_seconds + 4.0 * own.timeout_seconds + 60.0,
        total_seconds=extras.total_seconds,
    )
    return Run(store, _Checker(client, hosts), hosts, engine.clock, options)


def _options(engine: Engine, own: HealthSettings, extras: Extras) -> LinkOptions:
    settings, usual = engine.settings, LinkOptions()
    redirects = settings.limits.max_redirects if settings.given("tools.webfetch.max_redirects") else usual.max_redirects
    return usual._replace(
        request=RequestOptions(settings.headers._replace(accept="*/*"), stalled_after=STALLED_SECONDS),
        max_redirects=redirects,
        seconds=float(own.timeout_seconds),
        head_seconds=min(usual.head_seconds, float(own.timeout_seconds)),
        content_seconds=float(own.content_seconds),
        respect_robots=own.robots,
        soft_404=extras.soft_404,
    )


class _Checker:
    """Sends requests and decides verdicts."""

    def __init__(self, client: LinkClient, hosts: Hosts) -> None:
        self._client, self._hosts = client, hosts

    async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
        hints = Hints(past.head_differs, attempts) if past.head_differs or attempts else NO_HINTS
        seen = await self._client.check(link, hints)
        if seen.cause == GIVEN_UP and (error := self._hosts.given_up(parse(seen.evidence.final_url).host)) is not None:
            return CheckResult(not_requested(link, error), None)
        return CheckResult(judge(seen, link, past), _reach(seen, link.url), seen.retry_after, seen.head_differs)


def _reach(seen: Observation, url: str) -> HostReach | None:
    """How far a request came: without any response, our own network may be down (LH-01)."""
    if seen.evidence.chain or seen.cause in ANSWERED or (seen.evidence.status is not None and not seen.code):
        return HostReach.ANSWER
    if seen.code in OURS:
        return None
    if seen.evidence.phase == "dns" and seen.cause != NXDOMAIN:
        return HostReach.NO_LOOKUP_ANSWER
    return HostReach.SILENT if literal_address(parse(url).host) else HostReach.LOOKUP_ANSWER


class CheckOptions(NamedTuple):
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
    engine: Engine, links: Iterable[str | Link], given: CheckOptions, history: str | os.PathLike[str] | None
) -> AsyncGenerator[Checked, None]:
    """Like `Spaniel.check`, which documents the arguments."""
    own = given.over(health_settings(engine.settings))
    known = (
        None if history is None else History(os.fspath(history), now=lambda: engine.services.clock.now().timestamp())
    )
    given_links = several(links, "links", (str, Link))
    store = store_for(known)
    try:
        store.take(Link(link) if isinstance(link, str) else link for link in given_links)
        run = prepare(engine, store, own, Extras(soft_404=given.soft_404))
        for remark in (*store.remarks, *([known.damage] if known is not None and known.damage else ())):
            log.warning(remark)
        async with aclosing(run.results()) as results:
            async for checked in results:
                yield checked
    finally:
        store.close()
        if known is not None:
            known.close()

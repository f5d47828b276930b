"""One fetch, from URL to outcome: the SRD's state diagram (Appendix B), top to bottom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.caching import CacheLookup, keep, look_up
from spaniel.pipeline.fallbacks import is_unanswered, root_of
from spaniel.pipeline.outcome import Attempt, Outcome, write_log_line
from spaniel.pipeline.page_types import READABLE, explained, recognized, signals_of
from spaniel.pipeline.request import Trace, bad, checked
from spaniel.pipeline.retrieve import PageHops
from spaniel.pipeline.task import STALE, STALE_COPY, Attempts, FetchTask
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import kind_of, text_part
from spaniel.url.parsing import parse, requested
from spaniel.url.questions import Web
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from spaniel.hosts import Hosts
    from spaniel.pipeline.profile import Fallback, FetchLimits, Profile
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import FetchedPage
    from spaniel.pipeline.services import Services
    from spaniel.url import Canonical, Policy


class KnownWeb(Web):
    """Knows which hosts lack HTTPS (FG-13), and nothing else."""

    def __init__(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def lacks_https(self, host: str) -> bool | None:
        return self._hosts.is_http_only(host) or None


def canonical_form(policy: Policy, raw: str, hosts: Hosts) -> Canonical:
    """The canonical form of a URL. Host knowledge is used only if HTTP became HTTPS, which is rare."""
    found = policy.apply(raw)
    if not found.url.startswith("https://") or not found.original.strip().lower().startswith("http://"):
        return found
    return policy.apply(raw, KnownWeb(hosts)) if hosts.is_http_only(split(found.url).host) else found


STANDS_IN = "a stored copy is used instead"


async def run_fallbacks(task: FetchTask, profile: Profile, services: Services, trace: Trace) -> Attempts:
    """Try each fallback that applies after the attempts so far; record why the others were skipped."""
    runner = _Runner(task, profile, services, trace)
    for fallback in profile.fallbacks:
        wait = runner.wait_before(fallback)
        if wait is not None:
            await runner.run(fallback, wait)
    return runner.state


class _Runner:
    """Runs the fallbacks of one fetch."""

    def __init__(self, task: FetchTask, profile: Profile, services: Services, trace: Trace) -> None:
        self.state = Attempts(task)
        self._profile, self._services, self._trace = profile, services, trace
        self._deadlines = _Deadlines(profile.limits, services)

    def wait_before(self, fallback: Fallback) -> float | None:
        """Seconds to wait before a fallback; None if it is skipped, which is recorded."""
        state, services, kind = self.state, self._services, fallback.kind
        why = kind.skip_reason(state, services)
        if not why and kind.elsewhere:  # a stale copy is newer than an archive's, and costs no request
            stale = state.task.stale
            why = STANDS_IN if stale is not None and stale.replaces(state.failure, services.clock.now()) else ""
        if why:
            state.skip(fallback.name, why)
            return None
        wait = kind.wait(state, services, fallback.options) if kind.wait else 0.0
        why = self._deadlines.against(wait, state.task.way.politeness.longest_wait)
        if not why or kind.local:
            return wait
        state.skip(fallback.name, why)
        if state.earlier_refusal is None and (asked := services.door.hosts.asked(state.task.url.origin)):
            state.earlier_refusal = asked.refusal()
        return None

    async def run(self, fallback: Fallback, wait: float) -> None:
        """Try each variant until one fetches a page."""
        state, kind, services = self.state, fallback.kind, self._services
        if wait > 0:
            with self._trace.step("wait", state.task.url.redacted, len(state.attempts) + 1) as step:
                step.text = f"{wait:.1f} s"
                await services.clock.sleep(wait)
            self._deadlines.waited(wait)
        variants = kind.variants(state.task, services, fallback.options) if kind.variants else (fallback.options,)
        for options in variants:
            if self._deadlines.is_over() and not kind.local:
                state.skip(fallback.name, self._deadlines.against(0.0, 0.0))
                break
            if await self._try(fallback, options, wait):
                break
            wait = 0.0

    async def _try(self, fallback: Fallback, options: Mapping[str, object], waited: float) -> bool:
        """One attempt: records its page or its failure. Returns whether it succeeded."""
        state, services, kind = self.state, self._services, fallback.kind
        at, began, failure, deadline = services.clock.now(), services.clock.monotonic(), None, self._deadlines.next()
        hops = PageHops(state.task.url, self._trace, len(state.attempts) + 1)
        try:
            fetched = await kind.fetch(state, services, deadline, hops, options)
            if fetched is not None:
                fetched = fetched._replace(fallback=fallback.name, rendering_method=kind.rendering_method)
                state.best = await self._read(fetched, deadline, hops)
        except SpanielError as error:
            if is_unanswered(error, deadline.phase):
                services.door.hosts.unanswered(hops.url.origin, root_of(error), led=hops.is_led)
            failure = explained(error, hops.answer, bool(hops.chain)) if self._profile.page_types else error
            if state.best is not None and kind.failure_note is not None:
                state.best = state.best._replace(notes=(*state.best.notes, kind.failure_note(error)))
        ms = round((services.clock.monotonic() - began) * 1000, 3)
        fields = (fallback.name, hops.url.href, failure, hops.status, hops.urls, deadline.phase, ms)
        state.attempts.append(Attempt(*fields, waited, kind.elsewhere, at))
        return failure is None

    async def _read(self, fetched: FetchedPage, deadline: Deadline, hops: PageHops) -> FetchedPage:
        """The page with its document, the site's usage signals, and whether it is the requested page at all.

        A revalidated copy was read and judged when it was stored; only the signals may be new.
        """
        page, profile, services, stale = fetched.page, self._profile, self._services, self.state.task.stale
        fetched_at = services.clock.now()
        revalidated = stale.revalidated_by(page, fetched.rendering_method) if stale else None
        if stale and revalidated:
            document, reader = stale.document, stale.page.reader
        else:
            declared = page.headers.get("content-type")
            with hops.step("content_type"):
                kind = kind_of(declared, page.body, profile.content)
                body = text_part(page.body, declared, kind.charset, profile.limits.text_bytes)
            with hops.step("extract"):
                document = await services.readers.read(
                    *(body, kind, page.url.href, deadline),
                    walls=profile.page_types,
                    parts=self.state.task.request.parts,
                )
            document, reader = document if body is page.body else document.noted(TEXT_CUT), kind.reader
        agent = profile.way.options.headers.user_agent
        signals = signals_of(document.signals, page.headers, fetched.content_signal, agent)
        types = profile.page_types and not revalidated and reader in READABLE
        redirected = bool(fetched.chain)
        return fetched._replace(
            document=document,
            fetched_at=fetched_at,
            notes=tuple(dict.fromkeys((*fetched.notes, *document.notes))),
            reader=reader,
            signals=signals,
            blocked=recognized(page, document, signals, redirected=redirected, types=types, respect=profile.respect),
            revalidated=revalidated,
        )


class _Deadlines:
    """The deadlines of the fallbacks: one for all, or one each within a total.

    Waiting counts for the total but not for a deadline, since no request runs meanwhile.
    """

    def __init__(self, limits: FetchLimits, services: Services) -> None:
        self._limits, self._clock = limits, services.clock
        self._shared = None if limits.total_seconds else Deadline(limits.timeout_seconds)
        self._end = 0.0 if self._shared else services.clock.monotonic() + limits.total_seconds

    def next(self) -> Deadline:
        if self._shared is not None:
            return self._shared
        return Deadline(max(0.0, min(self._limits.timeout_seconds, self._left())))

    def against(self, wait: float, longest: float) -> str:
        """Why there is no time for a fallback after such a wait; empty if there is."""
        if wait > longest:
            return f"would wait {wait:.0f} s, longer than {longest:.0f} s"
        if self.is_over():
            return f"the {self._limits.total_seconds:.0f} s of the whole fetch have passed"
        if self._shared is None and wait >= self._left():
            return f"would wait {wait:.0f} s, but only {self._left():.0f} s of the whole fetch are left"
        return ""

    def is_over(self) -> bool:
        return self._shared is None and self._left() <= 0

    def waited(self, seconds: float) -> None:
        if self._shared is not None:
            self._shared.at += seconds

    def _left(self) -> float:
        return self._end - self._clock.monotonic()


async def fetch(request: Request, profile: Profile, services: Services, trace: Trace | None = None) -> Outcome:
    """Fetch a page. Refusals are part of the outcome, not exceptions. Writes one log line."""
    trace = trace or Trace()
    began = services.clock.monotonic()
    try:
        outcome = await _fetch(request, profile, services, trace)
    except SpanielError as error:  # not a URL, or not an allowed one
        outcome = Outcome(requested(str(request.url)), refusal=error, steps=trace.steps)
    write_log_line(outcome, services.clock.monotonic() - began)
    return outcome


async def _fetch(request: Request, profile: Profile, services: Services, trace: Trace) -> Outcome:
    task = prepare(request, profile, services, trace)
    known = _check_cache(task, profile, services, trace)
    if known.found is not None:
        return _outcome_of(task, known, services, trace)
    if known.stale is not None:
        task = task._replace(stale=known.stale, way=task.way._replace(conditional=known.stale.conditional))
    state = await services.flights.join(
        _flight_key(task, profile), lambda shared: _fetch_afresh(task, profile, services, shared), trace
    )
    outcome = _outcome_of(task, known._replace(found=state.found), services, trace)
    return outcome._replace(refusal=state.refusal, attempts=tuple(state.attempts), left_out=tuple(state.left_out))


def stored(request: Request, profile: Profile, services: Services, trace: Trace | None = None) -> Outcome | None:
    """The outcome of a fetch that the cache can answer; None if it cannot. Makes no requests."""
    began = services.clock.monotonic()
    trace = trace or Trace()
    task = prepare(request, profile, services, trace)
    known = _check_cache(task, profile, services, trace)
    if known.found is None:
        return None
    outcome = _outcome_of(task, known, services, trace)
    write_log_line(outcome, services.clock.monotonic() - began)
    return outcome


def prepare(request: Request, profile: Profile, services: Services, trace: Trace) -> FetchTask:
    """Check the request without making one (D2-04): whatever is refused here is refused for its form."""
    with trace.step("parse"):  # the policy's first rule decides what a URL is
        request = checked(request)
        if request.freshness_class is not None:
            if not profile.freshness or services.freshness is None:
                reason = f"the profile '{profile.name}' has no freshness classes; use one with cache.freshness"
                raise bad("freshness_class", reason)
            services.freshness.named(request.freshness_class)
        known = canonical_form(profile.policy, request.url, services.door.hosts)
    with trace.step("normalize"):
        url, asked = parse(known.url), request.domains
        services.door.guard.check_page(url, asked)
    wait = profile.limits.max_wait_seconds if request.max_wait is None else request.max_wait
    way = profile.way._replace(domains=asked, politeness=profile.way.politeness._replace(longest_wait=wait))
    if request.languages:
        headers = way.options.headers._replace(accept_language=accept_language(request.languages))
        way = way._replace(options=way.options._replace(headers=headers))
    return FetchTask(url, known, request, way, profile.fallback_names, profile.content, profile.name, profile.file)


def accept_language(languages: Sequence[str]) -> str:
    """The header for languages in order of preference; `bad_args` for what is not a language tag."""
    for tag in languages:
        if not re.fullmatch(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,7}|\*", tag):
            raise bad("languages", f"'{tag[:40]}' is not a language tag such as en or pt-BR")
    return ", ".join(
        tag if place == 0 else f"{tag};q={max(1, 10 - place) / 10:g}" for place, tag in enumerate(languages)
    )


def _check_cache(task: FetchTask, profile: Profile, services: Services, trace: Trace) -> CacheLookup:
    """What the cache has for a page: one to serve, or one to revalidate."""
    with trace.step("check_cache") as step:
        if task.request.bypass:
            step.text = "bypassed"
            return CacheLookup(reason=task.request.bypass)
        known = look_up(task, profile, services)
        step.text = "hit" if known.found else STALE if known.stale else "miss"
        return known


async def _fetch_afresh(task: FetchTask, profile: Profile, services: Services, trace: Trace) -> Attempts:
    """Guard, robots, fetch, content type, extract, for each fallback; then the best page is cached."""
    state = await run_fallbacks(task, profile, services, trace)
    if state.best is not None:
        state.found = await keep(task, state.best, profile, services, trace)
    elif state.refusal is None:
        raise SpanielError(Code.BAD_ARGS, field="fallbacks", reason="no fallback of the profile applies to this page")
    elif task.stale is not None and task.stale.replaces(state.refusal, services.clock.now()):
        with trace.step(STALE_COPY):
            found = task.stale.found(STALE)
            state.found = found._replace(page=found.page.noted(STALE_COPY))
    return state


def _flight_key(task: FetchTask, profile: Profile) -> Hashable:
    """Fetches with the same key share one flight. A stale copy is part of it, since a request with other validators may
    end differently."""
    request = task.request
    how = (
        request.force_browser,
        request.picture,
        request.picture_height,
        request.display,
        request.freshness_class,
        request.max_wait,
        *(request.parts, request.keep_body, request.languages),
        task.stale is None,
    )
    return task.canonical.url, task.is_upgraded, profile.name, profile.version, *how, *request.lists


def _outcome_of(task: FetchTask, known: CacheLookup, services: Services, trace: Trace) -> Outcome:
    """The outcome with what was found; served from the cache unless it was fetched or revalidated now."""
    found = known.found
    served = found is not None and found.cache_info is not None and found.cache_info.how in ("hit", STALE)
    return Outcome(
        requested(task.canonical.original),
        task.canonical.url,
        found,
        warnings=task.canonical.repairs,
        reason=known.reason,
        known_title=known.stale.page.headline if known.stale else None,
        served_at=services.clock.now() if served else None,
        steps=trace.steps,
    )

"""One fetch, from URL to outcome: the SRD's state diagram (Appendix B), top to bottom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.caching import CacheLookup, keep, look_up
from spaniel.pipeline.fallback import is_unanswered, root_of
from spaniel.pipeline.outcome import Attempt, Outcome, write_log_line
from spaniel.pipeline.page_types import READABLE, explained, recognized, signals_of
from spaniel.pipeline.request import bad, checked
from spaniel.pipeline.retrieve import PageHops
from spaniel.pipeline.stale import STALE, STALE_COPY
from spaniel.pipeline.task import Attempts, FetchResult, FetchTask
from spaniel.pipeline.trace import Trace
from spaniel.reading.document import TEXT_CUT
from spaniel.reading.kinds import kind_of, text_part
from spaniel.url.parsing import parse, requested
from spaniel.url.questions import Web
from spaniel.url.value import split

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from spaniel.hosts import Politeness
    from spaniel.net.http import Page
    from spaniel.pipeline.profile import Fallback, Limits, Profile
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.retrieve import Hosts
    from spaniel.pipeline.services import Services
    from spaniel.reading import Document
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
        self._times = _Deadlines(profile.limits, services)

    def wait_before(self, fallback: Fallback) -> float | None:
        """Seconds to wait before a fallback; None if it is skipped, which is recorded."""
        state, services = self.state, self._services
        why = fallback.kind.skip_reason(state, services) or (
            STANDS_IN if fallback.kind.elsewhere and self._has_stale_copy() else ""
        )
        if why:
            state.skip(fallback.name, why)
            return None
        wait = fallback.kind.wait(state, services, fallback.options)
        why = self._times.against(wait, state.task.way.politeness.longest_wait)
        if not why or fallback.kind.local:
            return wait
        state.skip(fallback.name, why)
        if state.earlier_refusal is None and (asked := services.door.hosts.asked(state.task.url.origin)):
            state.earlier_refusal = asked.refusal()
        return None

    def _has_stale_copy(self) -> bool:
        """Whether a stale copy can be used: it is newer than an archive's, and costs no request."""
        stale, failure = self.state.task.stale, self.state.failure
        return stale is not None and stale.replaces(failure, self._services.clock.now())

    async def run(self, fallback: Fallback, wait: float) -> None:
        """Try each variant until one fetches a page."""
        if wait > 0:
            await self._wait(wait)
        for options in fallback.kind.variants(self.state.task, self._services, fallback.options):
            if self._times.is_over() and not fallback.kind.local:
                self.state.skip(fallback.name, self._times.against(0.0, 0.0))
                break
            if await self._try(fallback, options, wait):
                break
            wait = 0.0

    async def _wait(self, seconds: float) -> None:
        with self._trace.step("wait", self.state.task.url.redacted, len(self.state.attempts) + 1) as step:
            step.text = f"{seconds:.1f} s"
            await self._services.clock.sleep(seconds)
        self._times.waited(seconds)

    async def _try(self, fallback: Fallback, options: Mapping[str, object], waited: float) -> bool:
        """One attempt: records its page or its failure. Returns whether it succeeded."""
        state, clock = self.state, self._services.clock
        at, began, failure, deadline = clock.now(), clock.monotonic(), None, self._times.next()
        hops = PageHops(state.task.url, self._trace, len(state.attempts) + 1)
        try:
            state.best = await self._fetch(fallback, options, deadline, hops) or state.best
        except SpanielError as error:
            if is_unanswered(error, deadline.phase):
                self._services.door.hosts.unanswered(hops.url.origin, root_of(error), led=hops.is_led)
            failure = explained(error, hops.answer, bool(hops.chain)) if self._profile.page_types else error
            if state.best is not None and fallback.kind.failure_note is not None:
                note = fallback.kind.failure_note(error)
                state.best = state.best._replace(notes=(*state.best.notes, note))
        ms, chain = round((clock.monotonic() - began) * 1000, 3), hops.urls
        fields = (fallback.name, hops.url.href, failure, hops.status, chain, deadline.phase, ms)
        state.attempts.append(Attempt(*fields, waited, fallback.kind.elsewhere, at))
        return failure is None

    async def _fetch(
        self, fallback: Fallback, options: Mapping[str, object], deadline: Deadline, hops: PageHops
    ) -> FetchResult | None:
        """The fallback's page, read; None if it fetches none."""
        fetched = await fallback.kind.fetch(self.state, self._services, deadline, hops, options)
        if fetched is None:
            return None
        stale, method, fetched_at = self.state.task.stale, fallback.kind.rendering_method, self._services.clock.now()
        proof = stale.revalidated_by(fetched.page, method) if stale else None
        if proof:
            document, reader = proof.stale.document, proof.stale.page.reader
        else:
            document, reader = await self._read(fetched.page, deadline, hops)
        notes = tuple(dict.fromkeys((*fetched.notes, *document.notes)))
        result = FetchResult(fetched, document, fetched_at, method, notes, fallback.name, reader, proof=proof)
        return self._judged(result)

    def _judged(self, result: FetchResult) -> FetchResult:
        """Add the site's usage signals, and whether this is the requested page at all.

        A revalidated copy was judged when it was read; only the signals may be new.
        """
        profile, fetched, document = self._profile, result.fetched, result.document
        agent = profile.way.options.headers.user_agent
        signals = signals_of(document.signals, fetched.page.headers, fetched.content_signal, agent)
        types = profile.page_types and result.proof is None and result.reader in READABLE
        blocked = recognized(fetched, document, signals, types=types, respect=profile.respect)
        return result._replace(signals=signals, blocked=blocked)

    async def _read(self, page: Page, deadline: Deadline, hops: PageHops) -> tuple[Document, str]:
        """The document and the name of the reader."""
        declared, profile = page.headers.get("content-type"), self._profile
        with hops.step("content_type"):
            kind = kind_of(declared, page.body, profile.content)
            body = text_part(page.body, declared, kind.charset, profile.limits.text_bytes)
        with hops.step("extract"):
            document = await self._services.readers.read(
                *(body, declared, page.url.href, profile.content, deadline),
                walls=profile.page_types,
                parts=self.state.task.request.parts,
            )
        return document if body is page.body else document.noted(TEXT_CUT), kind.reader


class _Deadlines:
    """The deadlines of the fallbacks: one for all, or one each within a total.

    Waiting counts for the total but not for a deadline, since no request runs meanwhile.
    """

    def __init__(self, limits: Limits, services: Services) -> None:
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
        outcome = Outcome(_asked_for(request), refusal=error, steps=trace.steps)
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
        _flight(task, profile), lambda shared: _fetch_afresh(task, profile, services, shared), trace
    )
    fields = _outcome_of(task, known._replace(found=state.found), services, trace)
    tried, left_out = tuple(state.attempts), tuple(state.left_out)
    return fields._replace(refusal=state.refusal, attempts=tried, left_out=left_out)


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
        _require_class(request, profile, services)
        known = canonical_form(profile.policy, request.url, services.door.hosts)
    with trace.step("normalize"):
        url = parse(known.url)
        services.door.guard.check_page(url, request.domains)
    way = profile.way._replace(domains=request.domains, politeness=_politeness(request, profile))
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


def _politeness(request: Request, profile: Profile) -> Politeness:
    """The profile's politeness, with the request's own longest wait."""
    wait = profile.limits.max_wait_seconds if request.max_wait is None else request.max_wait
    return profile.way.politeness._replace(longest_wait=wait)


def _require_class(request: Request, profile: Profile, services: Services) -> None:
    if request.freshness_class is None:
        return
    if not profile.freshness or services.freshness is None:
        raise bad(
            "freshness_class", f"the profile '{profile.name}' has no freshness classes; use one with cache.freshness"
        )
    services.freshness.named(request.freshness_class)


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


def _flight(task: FetchTask, profile: Profile) -> Hashable:
    """What makes two fetches of a page two: those who want the same share one. A copy to ask about makes a difference,
    since a request with other validators may end differently."""
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


def _asked_for(request: Request) -> str:
    return requested(str(request.url))  # in Python, anything may be passed

"""Trying again: when, after how long, and how long at the most. Nothing here waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.fetch import _Deadlines as _Times
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import FetchLimits, from_data, load
from spaniel.pipeline.record import record_of
from spaniel.pipeline.request import Request, Trace
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, redirect, text
from tests.pipeline.fallback_profiles import RETRIES, WHOLE, client_with, left_out, profile_with, tried

RETRYING = ["http", *RETRIES]


def after(*failures: Reply, then: Reply | None = None) -> Page:
    """A page that fails so often, and is there then (or never)."""
    coming = list(failures)

    async def reply() -> Reply:
        return coming.pop(0) if coming else then or text("here at last")

    return reply


async def fetched(page: Page, cache: Path, clock: FakeClock, chance: float = 0.0) -> Outcome:
    async with (
        Site({"/a": page}) as site,
        client_with(site, cache=cache, profile=profile_with(RETRYING), clock=clock, chance=chance) as spaniel,
    ):
        return await spaniel.outcome(site.url("/a"))


@pytest.mark.req("FG-30", "FG-36")
@pytest.mark.parametrize("status", [500, 503])
async def test_transient_failure_is_retried_after_5_15_and_45_seconds(tmp_path: Path, status: int) -> None:
    clock, failure = FakeClock(), text("", status)
    outcome = await fetched(after(failure, failure, failure), tmp_path, clock)
    assert clock.slept == [5, 15, 45]
    assert [fallback for fallback, _ in tried(outcome)] == ["http", "retry", "retry", "retry"]
    assert [attempt.waited for attempt in outcome.attempts] == [0, 5, 15, 45]
    assert outcome.require().page.served_by == "retry"
    assert outcome.require().page.markdown == "here at last\n"


@pytest.mark.req("FG-30")
async def test_a_server_that_hangs_up_is_asked_again(tmp_path: Path) -> None:
    async def hang_up() -> Reply:
        raise ConnectionError

    clock = FakeClock()
    outcome = await fetched(hang_up, tmp_path, clock)
    assert tried(outcome) == [("http", "network")] + [("retry", "network")] * 3
    assert clock.slept == [5, 15, 45]


@pytest.mark.req("FG-30")
async def test_last_failure_is_reported_after_three_retries(tmp_path: Path) -> None:
    clock = FakeClock()
    outcome = await fetched(after(text("", 500), then=text("", 502)), tmp_path, clock)
    assert [attempt.status for attempt in outcome.attempts] == [500, 502, 502, 502]
    assert outcome.refusal is not None
    assert outcome.refusal.details["status"] == outcome.status == 502  # the site's last word


@pytest.mark.req("FG-30", "FG-36")
@pytest.mark.parametrize(("last", "verdict"), [(410, "dead"), (402, "blocked"), (403, "blocked")])
async def test_what_a_site_says_at_last_is_what_is_told(tmp_path: Path, last: int, verdict: str) -> None:
    outcome = await fetched(after(text("", 500), then=text("", last)), tmp_path, FakeClock())
    record = record_of(outcome)
    assert [attempt.status for attempt in outcome.attempts] == [500, last]
    assert (record.verdict, record.extraction.status) == (verdict, last)
    assert record.error is not None
    assert record.error["details"]["status"] == last


@pytest.mark.req("FG-30")
async def test_fetched_page_is_not_retried(tmp_path: Path) -> None:
    clock = FakeClock()
    outcome = await fetched(after(text("", 503)), tmp_path, clock)
    assert (clock.slept, tried(outcome)) == ([5], [("http", "http_5xx"), ("retry", "ok")])
    assert outcome.left_out == (("retry", "the page was fetched", 2),) * 2


@pytest.mark.req("FG-30")
@pytest.mark.parametrize(("chance", "waits"), [(0.0, [5, 15, 45]), (0.5, [5.5, 16.5, 49.5]), (1.0, [6, 18, 54])])
async def test_jitter_is_added_and_never_taken_away(tmp_path: Path, chance: float, waits: list[float]) -> None:
    clock = FakeClock()
    await fetched(after(then=text("", 500)), tmp_path, clock, chance)
    assert clock.slept == pytest.approx(waits)


@pytest.mark.req("FG-30")
async def test_the_dice_are_thrown_for_each_wait(tmp_path: Path) -> None:
    clock, thrown = FakeClock(), iter((0.0, 1.0, 0.5))
    async with (
        Site({"/a": text("", 500)}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(RETRYING), clock=clock) as spaniel,
    ):
        engine = spaniel._engine
        engine._services = engine.services._replace(chance=lambda: next(thrown))
        await spaniel.outcome(site.url("/a"))
    assert clock.slept == pytest.approx([5, 18, 49.5])


@pytest.mark.req("FG-30")
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 410, 451])
async def test_what_will_not_pass_is_not_tried_again(tmp_path: Path, status: int) -> None:
    clock = FakeClock()
    outcome = await fetched(text("", status), tmp_path, clock)
    assert (clock.slept, tried(outcome)) == ([], [("http", "http_4xx")])
    assert left_out(outcome) == {"retry": f"not after {status}"}


@pytest.mark.req("FG-30")
async def test_each_retry_has_its_own_deadline(tmp_path: Path) -> None:
    clock, calls = FakeClock(), 0

    async def slow_at_first() -> Reply:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.sleep(30)
        return text("x")

    async with (
        Site({"/a": slow_at_first}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(RETRYING, timeout_seconds=1), clock=clock) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert tried(outcome) == [("http", "timeout"), ("retry", "ok")]
    assert clock.slept == [5]


@pytest.mark.req("FG-30")
async def test_a_host_of_which_even_robots_txt_fails_is_tried_again(tmp_path: Path) -> None:
    clock = FakeClock()
    pages: dict[str, Page] = {"/robots.txt": text("", 503), "/a": text("x")}
    async with (
        Site(pages) as site,
        client_with(site, cache=tmp_path, profile=profile_with([*RETRYING, "archive"]), clock=clock) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert tried(outcome) == [("http", "robots_unavailable")] + [("retry", "robots_unavailable")] * 3
    assert left_out(outcome) == {"archive": "not after robots_unavailable"}
    assert clock.slept == [5, 15, 45]


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(
    ("said", "waits"),
    [
        (lambda now: "30", [30]),
        (lambda now: format_datetime(now + timedelta(seconds=40), usegmt=True), [40]),
        (lambda now: "2", [5]),  # never less than the backoff
        (lambda now: "soon", [5]),
        (None, [5]),
    ],
    ids=["seconds", "date", "short", "nonsense", "nothing"],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_says_how_long_to_wait_is_waited_for(
    tmp_path: Path, status: int, said: Callable[..., str] | None, waits: list[float]
) -> None:
    clock = FakeClock()
    headers = {"Retry-After": said(clock.now())} if said else {}
    outcome = await fetched(after(text("", status, headers)), tmp_path, clock)
    assert clock.slept == waits
    assert outcome.require().page.served_by == "retry"


@pytest.mark.req("FG-22", "FG-30")
async def test_too_long_a_wait_ends_the_fetch_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    outcome = await fetched(text("", 429, {"Retry-After": "3600"}), tmp_path, clock)
    assert (clock.slept, tried(outcome)) == ([], [("http", "http_4xx")])
    assert left_out(outcome) == {"retry": "would wait 3600 s, longer than 60 s"}
    assert outcome.refusal is not None
    assert outcome.refusal.retryable
    assert outcome.refusal.details["retry_after"] == "3600"


@pytest.mark.req("FG-22")
async def test_who_has_more_patience_says_so(tmp_path: Path) -> None:
    clock, profile = FakeClock(), profile_with(RETRYING, total_seconds=7200)
    busy = after(text("", 429, {"Retry-After": "3600"}))
    async with Site({"/a": busy}) as site, client_with(site, cache=tmp_path, profile=profile, clock=clock) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/a"), max_wait=3600))
    assert (clock.slept, tried(outcome)) == ([3600], [("http", "http_4xx"), ("retry", "ok")])


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 86_401])
async def test_patience_has_bounds(tmp_path: Path, wait: float) -> None:
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile_with(RETRYING)) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/a"), max_wait=wait))
    assert outcome.refusal is not None
    assert (outcome.refusal.code, outcome.refusal.details["field"]) == (Code.BAD_ARGS, "max_wait")


@pytest.mark.req("FG-22")
@pytest.mark.parametrize(("status", "code"), [(429, Code.HTTP_4XX), (503, Code.HTTP_5XX)])
async def test_retry_after_holds_for_all_fetches_of_the_host(tmp_path: Path, status: int, code: Code) -> None:
    clock = FakeClock()
    pages: dict[str, Page] = {"/busy": text("", status, {"Retry-After": "100"}), "/a": text("x")}
    async with (
        Site(pages) as site,
        client_with(site, cache=tmp_path, profile=profile_with([*WHOLE]), clock=clock, own={"archive": OFF}) as spaniel,
    ):
        await spaniel.outcome(site.url("/busy"))
        asked = site.requests.total()
        alone = await spaniel.outcome(site.url("/a"))
        assert site.requests.total() == asked  # nobody was asked for anything, not even for robots.txt
        assert (alone.attempts[:-1], alone.status) == ((), None)
        assert tried(alone) == [("queue", "ok")]
        assert left_out(alone)["http"] == left_out(alone)["retry"] == "would wait 100 s, longer than 60 s"
        assert alone.refusal is not None
        assert (alone.refusal.code, alone.refusal.details["status"]) == (code, status)
        assert alone.refusal.details["retry_after"] == "100"
        clock.advance(70)
        assert (await spaniel.outcome(site.url("/a"))).require().page.markdown == "x\n"
        assert clock.slept == [30]  # the rest is worth waiting for


OFF = {"available": "", "snapshot": ""}


@pytest.mark.req("FG-22")
async def test_a_profile_that_heeds_nothing_asks_all_the_same(tmp_path: Path) -> None:
    """The control: it is the profile's politeness, and no profile's name, that leave a host alone."""
    clock = FakeClock()
    pages: dict[str, Page] = {"/busy": text("", 429, {"Retry-After": "100"}), "/a": text("x")}
    async with (
        Site(pages) as site,
        client_with(site, cache=tmp_path, profile=profile_with(["http"], respect=False), clock=clock) as spaniel,
    ):
        await spaniel.outcome(site.url("/busy"))
        assert (await spaniel.outcome(site.url("/a"))).require().page.markdown == "x\n"
    assert clock.slept == []


@pytest.mark.req("FG-22")
async def test_no_redirect_leads_to_a_host_that_asked_to_be_left_alone(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Site({"/busy": text("", 503, {"Retry-After": "500"}), "/b": text("x")}) as other:
        pages: dict[str, Page] = {"/a": redirect(other.url("/b", "other.example"))}
        async with (
            Site(pages) as site,
            client_with(site, other, cache=tmp_path, profile=profile_with(["http"]), clock=clock) as spaniel,
        ):
            assert (await spaniel.outcome(site.url("/a"))).require().page.markdown == "x\n"  # the control
            await spaniel.outcome(other.url("/busy", "other.example"))
            asked = other.requests.total()
            outcome = await spaniel.outcome(Request(site.url("/a"), no_cache=True))
        assert other.requests.total() == asked
    assert outcome.refusal is not None
    assert (outcome.refusal.code, outcome.refusal.details["status"]) == (Code.HTTP_5XX, 503)
    assert outcome.chain == (site.url("/a"),)


@pytest.mark.req("FG-30")
async def test_fallbacks_stay_within_the_total_and_record_what_is_skipped(tmp_path: Path) -> None:
    clock, profile = FakeClock(), profile_with(RETRYING, total_seconds=30)
    began = clock.monotonic()
    async with (
        Site({"/a": text("", 500)}) as site,
        client_with(site, cache=tmp_path, profile=profile, clock=clock) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert clock.slept == [5, 15]
    assert left_out(outcome) == {"retry": "would wait 45 s, but only 10 s of the whole fetch are left"}
    assert clock.monotonic() - began <= 30


async def test_the_waits_are_steps_of_the_trace(tmp_path: Path) -> None:
    trace = Trace()
    async with (
        Site({"/a": after(text("", 500))}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(RETRYING)) as spaniel,
    ):
        await spaniel.outcome(Request(site.url("/a")), trace)
    assert [(s.outcome, s.attempt) for s in trace.steps if s.name == "wait"] == [("5.0 s", 2)]


async def test_waiting_does_not_count_for_the_shared_deadline(tmp_path: Path) -> None:
    clock, profile = FakeClock(), profile_with(RETRYING, total_seconds=0, timeout_seconds=10)
    async with (
        Site({"/a": after(text("", 500), text("", 500), text("", 500))}) as site,
        client_with(site, cache=tmp_path, profile=profile, clock=clock) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert (clock.slept, outcome.require().page.served_by) == ([5, 15, 45], "retry")


async def test_only_a_shared_deadline_moves_with_each_wait(tmp_path: Path) -> None:
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile_with(RETRYING)) as spaniel:
        shared, each = (
            _Times(FetchLimits(10), spaniel._engine.services),
            _Times(FetchLimits(10, 60), spaniel._engine.services),
        )
        for times, moved in ((shared, 45.0), (each, 0.0)):
            deadline = times.next()
            at = deadline.at
            times.waited(45.0)
            assert deadline.at - at == pytest.approx(moved)


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        ({"name": "retry"}, "after_seconds: is missing"),
        ({"name": "retry", "after_seconds": 5, "times": 3}, "times: unknown key"),
        ({"name": "retry", "after_seconds": "5"}, "must be a whole number"),
        ({"name": "retry", "after_seconds": 3601}, "3601 is more than 3600"),
        ({"name": "http", "after_seconds": 5}, "after_seconds: unknown key"),
    ],
)
def test_what_a_profile_says_wrongly_about_a_rung_is_told(fallback: dict[str, object], expected: str) -> None:
    with pytest.raises(SpanielError, match=expected):
        from_data({"name": "x", "version": "1", "fallbacks": [fallback]}, "test")


@pytest.mark.req("FG-30")
def test_the_longest_backoff_is_an_hour() -> None:
    fallback = profile_with(["http", {"name": "retry", "after_seconds": 3600}]).fallbacks[1]
    assert fallback.options == {"after_seconds": 3600}


@pytest.mark.req("FG-36", "FR-WF-12c")
async def test_web_fetch_says_why_it_did_not_use_its_browser(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": text("x"), "/shell": html("<div id=root></div>"), "/gone": text("", 410)}
    async with Site(pages) as site, client_with(site, cache=tmp_path, profile=load()) as spaniel:
        fields = [left_out(await spaniel.outcome(site.url(path))) for path in ("/a", "/shell", "/gone")]
        forced = await spaniel.outcome(Request(site.url("/a"), force_browser=True))
    assert fields[:2] == [{"browser": "off: the browser is switched off"}] * 2
    assert fields[2] == {"browser": "there is no page to render"}
    assert left_out(forced) == {"http": "the page is rendered from the start"}


async def test_names_that_are_not_found_are_not_tried_again(tmp_path: Path) -> None:
    clock, resolver = FakeClock(), FakeResolver(elsewhere=None)
    async with (
        Site({}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(RETRYING), clock=clock, resolver=resolver) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert (tried(outcome), clock.slept) == ([("http", "dns_failed")], [])

"""When a fallback applies, what the browser is requested to do, and what becomes of its page. No Chromium is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.browser.rendering import DocumentHead, RenderedPage, RenderRequest
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.profile import Profile, from_data, load
from spaniel.pipeline.request import Request, Trace
from spaniel.testing import FakeResolver, Page, Reply, Site, html, settings_for, text
from spaniel.url import parse

SHELL = html("<title>App</title><div id=root>0123456789</div>")
PAINTED = RenderedPage(parse("http://x/"), DocumentHead(200), "text/html", b"<p>painted</p>", (), ())


class Stage:
    """A browser that shows what it is told to, after asking whether it may go on to some paths."""

    def __init__(self, shows: RenderedPage | SpanielError = PAINTED, *goes_to: str) -> None:
        self._shows, self._goes_to = shows, goes_to
        self.asked: list[RenderRequest] = []
        self.fields: list[str | None] = []

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        self.asked.append(wanted)
        for path in self._goes_to:
            self.fields.append(await wanted.gate(wanted.url._replace(path=path), wanted.target))
        if isinstance(self._shows, SpanielError):
            raise self._shows
        return self._shows if self._shows.url.host != "x" else self._shows._replace(url=wanted.url)


@asynccontextmanager
async def opened(
    site: Site, cache: Path, stage: Stage | None, profile: Profile | None = None, **webfetch: Any
) -> AsyncIterator[Spaniel]:
    if stage is None:
        webfetch["browser"] = {"enabled": False}
    async with (
        Engine(settings_for(site, cache=cache, **webfetch), FakeResolver(), renderer=stage) as engine,
        Spaniel(engine=engine, profile=profile or load()) as spaniel,
    ):
        yield spaniel


def fallback_names(outcome: Outcome) -> list[tuple[str, str]]:
    return [(attempt.fallback, attempt.outcome) for attempt in outcome.attempts]


@pytest.mark.req("FR-WF-12c")
@pytest.mark.parametrize(("least", "asked"), [(10, 0), (11, 1)])
async def test_page_is_rendered_below_min_extracted_chars(tmp_path: Path, least: int, asked: int) -> None:
    stage = Stage()
    async with (
        Site({"/": SHELL}) as site,
        opened(site, tmp_path, stage, rendering={"min_extracted_chars": least}) as spaniel,
    ):
        await spaniel.fetch(site.url("/"))
    assert len(stage.asked) == asked


@pytest.mark.req("FR-WF-12c")
async def test_what_was_refused_over_http_is_not_tried_in_the_browser(tmp_path: Path) -> None:
    stage = Stage()
    pages: dict[str, Page] = {"/gone": html(SHELL[2].decode(), 410)}
    async with Site(pages) as site, opened(site, tmp_path, stage) as spaniel:
        assert fallback_names(await spaniel.outcome(Request(site.url("/gone")))) == [("http", "http_4xx")]
    assert stage.asked == []


@pytest.mark.req("FR-WF-12a")
async def test_failed_forced_rendering_is_not_retried_over_http(tmp_path: Path) -> None:
    stage = Stage(SpanielError(Code.BROWSER_CRASHED, error="x"))
    async with Site({"/": SHELL}) as site, opened(site, tmp_path, stage) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"), force_browser=True))
        assert fallback_names(outcome) == [("browser", "browser_crashed")]
    assert site.requests["/"] == 0


async def test_fallbacks_without_http_begin_with_the_browser(tmp_path: Path) -> None:
    stage, usual = Stage(), load()
    profile = usual._replace(fallbacks=usual.fallbacks[1:], name="rendered")
    async with Site({"/": text("x")}) as site, opened(site, tmp_path, stage, profile) as spaniel:
        assert (await spaniel.fetch(site.url("/"))).markdown == "painted\n"
    assert len(stage.asked) == 1
    assert site.requests["/"] == 0


@pytest.mark.req("FG-20", "FG-31", "FG-36")
async def test_browser_renders_a_page_fetched_by_a_retry(tmp_path: Path) -> None:
    answers = [text("", 500), SHELL]

    async def shell() -> Reply:
        return answers.pop(0)

    fallbacks = ["http", {"name": "retry", "after_seconds": 0}, "browser", "queue"]
    profile = from_data({"name": "own", "version": "1", "fallbacks": fallbacks}, "test")
    async with Site({"/": shell}) as site, opened(site, tmp_path, Stage(), profile) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/")))
    assert fallback_names(outcome) == [("http", "http_5xx"), ("retry", "ok"), ("browser", "ok")]
    assert (outcome.require().page.served_by, outcome.require().page.markdown) == ("browser", "painted\n")
    assert outcome.left_out == (("queue", "the page was fetched", 3),)


@pytest.mark.req("FR-WF-11", "FR-WF-11b")
async def test_the_browser_is_asked_for_the_page_as_the_profile_wants_it(tmp_path: Path) -> None:
    stage = Stage()
    limits: dict[str, Any] = {"timeout_seconds": 50, "max_redirects": 3, "user_agent": "otter/1"}
    async with Site({}) as site, opened(site, tmp_path, stage, **limits) as spaniel:
        # As an engine completes it: a profile that is given ready is not touched by settings.
        view = spaniel.with_profile("web_fetch")
        await view.outcome(Request(site.url("/a?b"), force_browser=True))
        await view.outcome(Request(site.url("/a"), picture=True))
    first, second = stage.asked
    assert first.url == parse(site.url("/a?b"))
    assert (first.target.host, first.target.port) == ("site.example", site.port)
    assert (first.max_redirects, first.user_agent) == (3, "otter/1")
    assert 0 < first.timeout_seconds <= 50
    assert (first.picture, second.picture) == (False, True)


@pytest.mark.req("FR-WF-08", "FR-WF-07e")
async def test_robots_is_asked_wherever_the_page_moves_on_to(tmp_path: Path) -> None:
    robots = text("User-agent: *\nDisallow: /no\n")
    for path, code in (("/yes", None), ("/no", Code.ROBOTS_DISALLOWED)):
        stage = Stage(PAINTED, path)
        async with Site({"/robots.txt": robots}) as site, opened(site, tmp_path / path[1:], stage) as spaniel:
            outcome = await spaniel.outcome(Request(site.url("/"), force_browser=True))
        assert (outcome.refusal.code if outcome.refusal else None) is code
        assert stage.fields == ([None] if code is None else [])


@pytest.mark.req("FR-WF-09a", "D2-05")
async def test_notes_of_robots_and_browser_are_joined_once(tmp_path: Path) -> None:
    note = "robots_unavailable_fail_open"
    stage = Stage(PAINTED._replace(notes=("of the browser", note)), "/on")
    unwell: dict[str, Page] = {"/robots.txt": text("", 503)}
    async with Site(unwell) as site, opened(site, tmp_path, stage, robots={"fail_open": True}) as spaniel:
        answer = await spaniel.fetch(site.url("/"), force_browser=True)
    assert stage.fields == [note]
    assert answer.notes == (note, "of the browser")


@pytest.mark.req("FR-WF-10a", "D2-25")
async def test_robots_check_of_a_navigation_has_the_time_left(tmp_path: Path) -> None:
    given: list[Deadline] = []
    stage = Stage(PAINTED, "/on")
    async with Site({}) as site, opened(site, tmp_path, stage, timeout_seconds=40) as spaniel:
        gate = spaniel._engine.robots
        ask = gate.require

        async def watched(*args: Any) -> object:
            given.append(args[2])
            if len(given) == 1:
                args[2].at -= 30  # as if the page itself had taken most of the time
            return await ask(*args)

        gate.require = watched  # type: ignore[method-assign, assignment]
        await spaniel.with_profile("web_fetch").fetch(site.url("/"), force_browser=True)
    assert given[0].seconds == 40
    assert 0 < given[1].seconds <= 10
    assert stage.asked[0].timeout_seconds <= 10


async def test_a_browser_that_is_switched_off_says_so(tmp_path: Path) -> None:
    async with Site({}) as site, opened(site, tmp_path, None) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"), force_browser=True))
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.BROWSER_UNAVAILABLE
    fields = {"chromium_path": "", "error": "it is disabled in the settings", "cause": "off"}
    assert outcome.refusal.details == fields
    assert outcome.attempts[0].phase == "browser"


@pytest.mark.req("FR-WF-03", "FR-WF-18b")
async def test_what_the_browser_brings_is_told_like_any_page(tmp_path: Path) -> None:
    head = DocumentHead(200, "Fine", {"content-type": "application/xhtml+xml", "x": "y"})
    moved = RenderedPage(
        parse("http://site.example/end?q"), head, "text/plain", b"*seen*", ("http://one/",), (), b"PNG"
    )
    trace = Trace()
    async with Site({}) as site, opened(site, tmp_path, Stage(moved)) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"), picture=True), trace)
    found = outcome.require()
    assert (found.rendering_method, found.picture, found.page.markdown) == ("browser", b"PNG", "*seen*\n")
    assert (found.page.content_type, found.page.status) == ("text/plain", 200)  # what is shown, not what was sent
    assert (found.page.final_url, found.page.chain) == ("http://site.example/end?q", ["http://one/"])
    attempt = outcome.attempts[0]
    assert (attempt.url, attempt.chain, attempt.status) == (found.page.final_url, ("http://one/",), 200)
    steps = [(step.name, step.outcome, step.url, step.hop) for step in trace.steps if step.attempt]
    assert steps == [
        *((name, "ok", site.url("/"), 0) for name in ("guard", "robots")),
        ("render", "200", site.url("/"), 0),
        *((name, "ok", "http://site.example/end", 1) for name in ("content_type", "extract")),
    ]


@pytest.mark.req("FR-WF-18b", "D2-27")
async def test_a_rendered_error_is_the_servers(tmp_path: Path) -> None:
    failing = PAINTED._replace(head=DocumentHead(503, "Busy", {"retry-after": "7"}))
    async with Site({}) as site, opened(site, tmp_path, Stage(failing)) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/"), force_browser=True))
        asked = spaniel._engine.services.door.hosts.asked("site.example")
    assert asked is not None  # whoever heeds it leaves the host alone
    assert (asked.status, 0 < asked.seconds <= 7) == (503, True)
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.HTTP_5XX
    assert outcome.refusal.details == {"status": 503, "status_text": "Busy", "retry_after": "7"}
    assert (outcome.status, outcome.attempts[0].fallback) == (503, "browser")


@pytest.mark.req("D2-03", "FR-WF-12b")
async def test_http_copy_is_not_served_for_a_forced_rendering(tmp_path: Path) -> None:
    stage = Stage()
    async with Site({"/": text("over http")}) as site:
        async with opened(site, tmp_path, stage) as spaniel:
            await spaniel.fetch(site.url("/"))
            forced = await spaniel.fetch(site.url("/"), force_browser=True)
            assert (forced.markdown, forced.note) == ("painted\n", None)
            assert (await spaniel.fetch(site.url("/"))).markdown == "over http\n"
            assert (await spaniel.fetch(site.url("/"), force_browser=True)).note == "cache_hit"
        async with opened(site, tmp_path, stage, rendering={"js_heavy_domains": ["site.example"]}) as heavy:
            answer = await heavy.fetch(site.url("/"))
            assert (answer.markdown, answer.note) == ("painted\n", "cache_hit")
    assert len(stage.asked) == 1

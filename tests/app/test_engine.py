"""One engine, many profiles: what they share, what each has of its own, and fallbacks made of TOML."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.pipeline.fallbacks import FALLBACKS, FallbackKind
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.request import Request, Trace
from spaniel.pipeline.retrieve import FetchedPage, PageHops, retrieve
from spaniel.pipeline.services import Services
from spaniel.pipeline.task import Attempts
from spaniel.testing import FakeClock, FakeResolver, Page, Site, html, redirect, settings_for, text
from tests.browser.harness import alive
from tests.loopback import engine_for

OWN = """
name = "own"
version = "1"
policy = "exact"
content = ["html", "text"]
[headers]
user_agent = "otterbot/2 (+https://otter.example)"
"""
MIRRORED = """
name = "mirrored"
version = "3"
[[fallbacks]]
name = "http"
[[fallbacks]]
name = "mirror"
prefix = "/copies"
[limits]
timeout_seconds = 5
total_seconds = 60
[cache]
enabled = false
"""


def profile(tmp_path: Path, toml: str) -> Path:
    file = tmp_path / "profile.toml"
    file.write_text(toml, encoding="utf-8")
    return file


def views(engine: Engine, tmp_path: Path) -> tuple[Spaniel, Spaniel]:
    return Spaniel(engine=engine), Spaniel(engine=engine, profile=profile(tmp_path, OWN))


async def test_two_profiles_share_connections_and_robots(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/robots.txt": text("User-agent: otterbot\nDisallow: /otters\n"), "/a": text("a")}
    connections = 0

    class Counting(Site):
        async def _serve(self, reader, writer) -> None:  # type: ignore[no-untyped-def]
            nonlocal connections
            connections += 1
            await super()._serve(reader, writer)

    async with Counting(pages) as site, engine_for(site, cache=tmp_path) as engine:
        usual, own = views(engine, tmp_path)
        async with usual, own:
            for spaniel in (usual, own, usual, own):
                await spaniel.fetch(site.url("/a"), no_cache=True)
            with pytest.raises(SpanielError) as refused:
                await own.fetch(site.url("/otters"))
            assert refused.value.code is Code.ROBOTS_DISALLOWED
            assert str((await usual.outcome(Request(site.url("/otters")))).refusal.code) == "http_4xx"  # type: ignore[union-attr]
    agents = [seen["user-agent"].partition("/")[0] for seen in site.seen]
    assert agents == ["forge-webfetch", "forge-webfetch", "otterbot", "forge-webfetch", "otterbot", "forge-webfetch"]
    assert site.requests["/robots.txt"] == 1
    assert connections == 1


async def test_a_view_leaves_the_engine_open_and_its_owner_closes_it(tmp_path: Path) -> None:
    async with Site({"/a": text("a")}) as site:
        async with Spaniel(engine_for(site, cache=tmp_path).settings, FakeResolver()) as spaniel:
            other = spaniel.with_profile(profile(tmp_path, OWN))
            await other.close()
            with pytest.raises(RuntimeError, match="not open"):
                await other.fetch(site.url("/a"))
            assert (await spaniel.fetch(site.url("/a"))).markdown == "a\n"
        with pytest.raises(RuntimeError, match="not open"):
            await spaniel.fetch(site.url("/a"))
    with pytest.raises(RuntimeError, match="not open"):
        Engine(settings_for(site, cache=tmp_path), FakeResolver()).profile()


async def test_two_profiles_share_one_chromium_and_each_says_who_it_is(tmp_path: Path) -> None:
    """The page, its worker and its frame: whatever asks, asks in the profile's name."""
    page = html(
        "<title>App</title><div id=root></div><iframe src=/frame></iframe><script type=module>"
        "root.textContent = `this page is shown to ${navigator.userAgent} and nobody else, as far as it knows`;"
        "new Worker('/worker.js')</script>"
    )
    pages: dict[str, Page] = {
        "/": page,
        "/worker.js": (200, {"Content-Type": "text/javascript"}, b"fetch('/from-worker')"),
        "/from-worker": text("x"),
        "/frame": html("<script>fetch('/from-frame')</script>"),
        "/from-frame": text("x"),
    }
    async with Site(pages) as site, engine_for(site, cache=tmp_path, timeout_seconds=120) as engine:
        usual, own = views(engine, tmp_path)
        async with usual, own:
            for spaniel, agent in ((usual, "forge-webfetch/1.0"), (own, "otterbot/2 (+https://otter.example)")):
                site.seen.clear()
                answer = await spaniel.fetch(site.url("/"), force_browser=True)
                assert f"shown to {agent} and nobody else" in answer.markdown
                assert {seen["user-agent"] for seen in site.seen} == {agent}
            leaders = []
            for pid in alive():
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    leaders += [pid] if os.getsid(pid) == pid else []
            assert len(leaders) == 1
    assert site.requests["/from-worker"] == 2
    assert site.requests["/from-frame"] == 2


async def fetch_mirror(
    state: Attempts, services: Services, deadline: Deadline, hops: PageHops, options: Mapping[str, object]
) -> FetchedPage:
    task = state.task
    url = task.url._replace(path=f"{options['prefix']}{task.url.path}")
    return await retrieve(url, services.door, deadline, task.way, hops)


async def test_profile_from_toml_runs_its_own_fallbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = FallbackKind(
        lambda state, _: "" if state.best is None else "the page was fetched",
        fetch_mirror,
        lambda _, __: True,
        options=lambda table: {"prefix": table.text("prefix")},
    )
    monkeypatch.setitem(FALLBACKS, "mirror", mirror)
    pages: dict[str, Page] = {
        "/both": text("from the site"),
        "/gone": text("", 410),
        "/copies/gone": text("from the mirror"),
        "/lost": text("", 503),
    }
    async with (
        Site(pages) as site,
        engine_for(site, cache=tmp_path) as engine,
        Spaniel(engine=engine, profile=profile(tmp_path, MIRRORED)) as spaniel,
    ):
        trace = Trace()
        both, gone, lost = [
            await spaniel.outcome(Request(site.url(path)), trace) for path in ("/both", "/gone", "/lost")
        ]
    assert fields(both) == [("http", "ok", 200)]
    assert fields(gone) == [("http", "http_4xx", 410), ("mirror", "ok", 200)]
    assert gone.require().page.markdown == "from the mirror\n"
    assert gone.final_url == site.url("/copies/gone")
    assert fields(lost) == [("http", "http_5xx", 503), ("mirror", "http_4xx", 404)]
    assert lost.refusal is not None
    assert (lost.refusal.code, lost.found, lost.status) == (Code.HTTP_4XX, None, 404)  # the site's last word counts
    fetches = [(step.url, step.attempt) for step in trace.steps if step.name == "fetch"]
    assert fetches[1:3] == [(site.url("/gone"), 1), (site.url("/copies/gone"), 2)]


def fields(outcome: Outcome) -> list[tuple[str, str, int | None]]:
    return [(attempt.fallback, attempt.outcome, attempt.status) for attempt in outcome.attempts]


async def test_fallbacks_with_own_deadlines_have_a_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The total is measured by the clock: waits between fallbacks are part of it, and tests wait for nothing."""
    clock = FakeClock()
    seen: list[float] = []

    async def fetch_slowly(
        state: Attempts, services: Services, deadline: Deadline, hops: PageHops, options: Mapping[str, object]
    ) -> FetchedPage:
        seen.append(deadline.seconds)
        await services.clock.sleep(25)
        raise SpanielError(Code.NETWORK, error="not today")

    monkeypatch.setitem(FALLBACKS, "slow", FallbackKind(lambda _, __: "", fetch_slowly, lambda _, __: False))
    toml = 'name = "slow"\nversion = "1"\nfallbacks = ["slow","slow","slow","slow"]\n[limits]\ntimeout_seconds = 30\n'
    async with Site({}) as site:
        for total, expected in ((60, [30, 30, 10]), (0, [30, 30, 30, 30])):
            seen.clear()
            async with (
                Engine(settings_for(site, cache=tmp_path), FakeResolver(), clock) as engine,
                Spaniel(engine=engine, profile=profile(tmp_path, f"{toml}total_seconds = {total}\n")) as spaniel,
            ):
                outcome = await spaniel.outcome(Request(site.url("/")))
            assert seen == expected
            assert [attempt.ms for attempt in outcome.attempts] == [25_000.0] * len(expected)
            assert len(outcome.left_out) == 4 - len(expected)


async def test_an_outcome_knows_where_a_fetch_has_been(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": redirect("/b"), "/b": redirect("/c"), "/c": text("hello"), "/x": redirect("/gone")}
    async with Site(pages) as site, engine_for(site, cache=tmp_path) as engine, Spaniel(engine=engine) as spaniel:
        for hit in (False, True):
            found = await spaniel.outcome(Request(site.url("/a")))
            assert (found.cache_hit, found.status, found.final_url) == (hit, 200, site.url("/c"))
            assert found.chain == (site.url("/a"), site.url("/b"))
            assert found.content_hash == sha256(b"hello").hexdigest()
        lost = await spaniel.outcome(Request(site.url("/x")))
        assert (lost.status, lost.final_url, lost.chain) == (404, site.url("/gone"), (site.url("/x"),))
        assert lost.content_hash is None
        wrong = await spaniel.outcome(Request("http://user:pass@a b/"))
        assert (wrong.requested_url, wrong.canonical_url, wrong.attempts) == ("http://a b/", None, ())


@pytest.mark.req("FG-22")
async def test_requested_delays_are_shared_between_profiles(tmp_path: Path) -> None:
    """Crawl-delay comes from robots.txt and Retry-After from an answer, whoever's fetch brought them."""
    pages: dict[str, Page] = {
        "/robots.txt": text("User-agent: *\nCrawl-delay: 7\n"),
        "/a": text("a"),
        "/busy": text("", 429, {"Retry-After": "30"}),
    }
    patient = 'name = "patient"\nversion = "1"\n[hosts]\nrespect_delays = true\n[cache]\nenabled = false\n'
    clock = FakeClock()
    async with (
        Site(pages) as site,
        Engine(settings_for(site, cache=tmp_path), FakeResolver(), clock) as engine,
        Spaniel(engine=engine) as hasty,
        Spaniel(engine=engine, profile=profile(tmp_path, patient)) as waiting,
    ):
        for path in ("/a", "/busy", "/a"):
            await hasty.outcome(Request(site.url(path)))
        assert clock.slept == []
        await waiting.fetch(site.url("/a"))
        await waiting.fetch(site.url("/a"))
        assert clock.slept == [30, 7]


async def test_outcome_json_has_the_same_keys_for_page_and_refusal(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/a": redirect("/b"),
        "/b": html("<title>Otters</title><p>They swim.</p>"),
        "/c": text("", 410),
    }
    async with Site(pages) as site, engine_for(site, cache=tmp_path) as engine, Spaniel(engine=engine) as spaniel:
        outcomes = [await spaniel.outcome(Request(site.url(path))) for path in ("/a", "/a", "/c")]
    fresh, hit, gone = (json.loads(json.dumps(outcome.as_dict())) for outcome in outcomes)
    shared = {"requested_url", "canonical_url", "final_url", "status", "chain", "attempts", "notes", "served_at"}
    assert shared <= fresh.keys()
    assert gone.keys() == shared | {"error"}
    assert (fresh["final_url"], fresh["status"], fresh["chain"]) == (site.url("/b"), 200, [site.url("/a")])
    assert (fresh["served_at"], hit["notes"], hit["attempts"]) == (None, ["cache_hit"], [])
    assert fresh["markdown"] == hit["markdown"] == "They swim.\n"
    assert [attempt["outcome"] for attempt in fresh["attempts"] + gone["attempts"]] == ["ok", "http_4xx"]
    assert (gone["status"], gone["error"]["code"], bool(gone["error"]["hint"])) == (410, "http_4xx", True)

"""A search engine's copies, mirrors, and the queue at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.settings import from_data
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request
from spaniel.queue import Entry, Queue, QueueSettings
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, text
from tests.pipeline.fallback_profiles import WHOLE, client_with, left_out, profile_with, tried


@pytest.mark.req("FG-33")
async def test_the_search_cache_is_off_and_says_so(tmp_path: Path) -> None:
    async with (
        Site({}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(["http", "search_cache"])) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert left_out(outcome) == {"search_cache": "off: no template is set"}


@pytest.mark.req("FG-33", "FG-36")
async def test_a_search_cache_that_is_set_brings_what_is_gone(tmp_path: Path) -> None:
    class Cache(Site):
        def reply(self, path: str) -> Reply | None:
            return html("<p>It was <a href='here'>here</a>.</p>") if path.startswith("/q?") else None

    async with Cache({}) as engine, Site({"/no": text("", 403)}) as site:
        own = {"search_cache": {"template": engine.url("/q?cache={url}", "search.example")}}
        fallbacks = profile_with(["http", "search_cache"])
        async with client_with(site, engine, cache=tmp_path, profile=fallbacks, own=own) as spaniel:
            outcome = await spaniel.outcome(site.url("/a/b"))
            refused = await spaniel.outcome(site.url("/no"))
    page = outcome.require().page
    assert (page.served_by, outcome.caveats) == ("search_cache", ("from_search_cache",))
    assert page.markdown == f"It was [here]({site.url('/a/here')}).\n"
    assert page.archive_url == outcome.attempts[1].url != outcome.final_url == site.url("/a/b")
    assert left_out(refused) == {"search_cache": "not after 403"}


def mirrors(site: Site, *to: str, frm: str = "/docs/") -> dict[str, Any]:
    return {"mirrors": {"prefixes": [f"{site.url(frm)} {address}" for address in to]}}


@pytest.mark.req("FG-34", "FG-36")
async def test_mirrors_are_tried_in_order_and_each_is_told(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/two/a": text("from two"), "/three/a": text("from three")}
    async with Site({"/docs/a": text("", 500)}) as site, Site(pages) as other:
        at = [other.url(path, "mirror.example") for path in ("/one/", "/two/", "/three/")]
        async with client_with(
            site, other, cache=tmp_path, profile=profile_with(["http", "mirrors"]), own=mirrors(site, *at)
        ) as spaniel:
            outcome = await spaniel.outcome(site.url("/docs/a"))
    assert tried(outcome) == [("http", "http_5xx"), ("mirrors", "http_4xx"), ("mirrors", "ok")]
    assert [attempt.url for attempt in outcome.attempts[1:]] == [f"{at[0]}a", f"{at[1]}a"]
    page = outcome.require().page
    assert (page.markdown, page.served_by, outcome.caveats) == ("from two\n", "mirrors", ("from_mirror",))
    assert outcome.final_url == f"{at[1]}a"
    assert other.requests["/three/a"] == 0


@pytest.mark.req("FG-34")
async def test_only_what_lies_below_a_prefix_has_a_mirror(tmp_path: Path) -> None:
    async with Site({}) as site, Site({"/m/": text("root"), "/m/x?q=1": text("")}) as other:
        own = mirrors(site, other.url("/m/", "mirror.example"))
        async with client_with(
            site, other, cache=tmp_path, profile=profile_with(["http", "mirrors"]), own=own
        ) as spaniel:
            outcomes = [await spaniel.outcome(site.url(path)) for path in ("/docsx/a", "/", "/docs", "/docs/x?q=1")]
            bare = await spaniel.outcome(site.url("/docs/").replace("site.", "a.site."))
    fields = [left_out(outcome).get("mirrors") for outcome in (*outcomes, bare)]
    none = "no mirror is set for this address"
    assert fields == [none, none, None, None, none]
    assert outcomes[2].require().page.markdown == "root\n"  # the policy drops the last slash
    assert outcomes[3].attempts[1].url == other.url("/m/x?q=1", "mirror.example")


@pytest.mark.req("FG-34", "FG-05")
async def test_mirror_is_guarded_and_used_only_if_the_page_is_gone(tmp_path: Path) -> None:
    async with Site({"/docs/no": text("", 403)}) as site, Site({"/docs/a": text("x")}) as other:
        own = mirrors(site, other.url("/docs/", "mirror.example"))
        profile, resolver = profile_with(["http", "mirrors"]), FakeResolver({"mirror.example": "10.0.0.1"})
        async with client_with(site, other, cache=tmp_path, profile=profile, own=own, resolver=resolver) as spaniel:
            blocked = await spaniel.outcome(site.url("/docs/a"))
            refused = await spaniel.outcome(site.url("/docs/no"))
        assert other.requests.total() == 0
        async with client_with(site, other, cache=tmp_path, profile=profile, own=own) as spaniel:
            assert (await spaniel.outcome(site.url("/docs/a"))).found is not None  # the control
    assert tried(blocked) == [("http", "http_4xx"), ("mirrors", "ssrf_blocked")]
    assert left_out(refused) == {"mirrors": "not after 403"}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"mirrors": {"prefixes": ["https://a.example/"]}}, "two addresses"),
        ({"mirrors": {"prefixes": ["https://a.example https://b.example/"]}}, "ending with a slash"),
        ({"mirrors": {"prefixes": ["ftp://a.example/ https://b.example/"]}}, "scheme"),
        ({"search_cache": {"template": "https://a.example/"}}, "{url}"),
        ({"search_cache": {"template": "https://a.example/{url}/{url}"}}, "once"),
        ({"search_cache": {"template": "https://a.example/{url}{0.__class__}"}}, "nothing else in braces"),
        ({"archive": {"snapshot": "file:///{url}"}}, "scheme"),
        ({"archive": {"available": "https://a b/{url}"}}, "Not a URL"),
    ],
)
def test_an_address_that_is_none_is_told_when_it_is_read(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(SpanielError, match=expected):
        from_data({"spaniel": table}, "test")


def waiting(cache: Path) -> list[Entry]:
    queue = Queue(QueueSettings(str(cache / "queue")))
    try:
        return queue.entries()
    finally:
        queue.close()


@pytest.mark.req("FG-35", "FG-36", "FG-30")
async def test_failed_page_is_queued_with_its_attempts(tmp_path: Path) -> None:
    clock = FakeClock()
    own = {"archive": {"available": "http://archive.example:1/?u={url}"}}
    async with (
        Site({"/a": text("", 503)}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(WHOLE), clock=clock, own=own) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a?utm_source=x&b=1"))
        [entry] = waiting(tmp_path)
        await spaniel.outcome(site.url("/a?b=1"))
        [again] = waiting(tmp_path)
    fallbacks = [("http", "http_5xx"), *[("retry", "http_5xx")] * 3, ("archive", "port_blocked"), ("queue", "ok")]
    assert tried(outcome) == fallbacks
    assert left_out(outcome) == {
        "plain_http": "the canonical URL is already http",
        "browser": "there is no page to render",
        "search_cache": "off: no template is set",
        "mirrors": "off: no mirror is set",
    }
    assert outcome.refusal is not None
    assert (outcome.refusal.details["status"], outcome.status) == (503, 503)
    assert (entry.url, entry.requested_url) == (site.url("/a?b=1"), site.url("/a?utm_source=x&b=1"))
    assert (entry.profile, entry.profile_file, entry.code) == ("profile_with", "", "http_5xx")
    assert entry.message == outcome.refusal.message
    assert [(attempt["fallback"], attempt["outcome"]) for attempt in entry.attempts] == fallbacks[:-1]
    assert [attempt["waited"] for attempt in entry.attempts] == [0, 5, 15, 45, 0]
    assert (entry.times, again.times, again.id) == (1, 2, entry.id)
    assert again.tried > again.added == entry.added


@pytest.mark.req("FG-35", "FG-03")
async def test_queue_has_no_credentials(tmp_path: Path) -> None:
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile_with(["http", "queue"])) as spaniel:
        outcome = await spaniel.outcome(site.url("/a").replace("//", "//user:geheim@"))
        assert (await spaniel.outcome(site.url("/a"))).warnings == ()
        assert not any("geheim" in str(seen) or "authorization" in seen for seen in site.seen)
    assert outcome.warnings == ("credentials were removed from the URL",)
    [entry] = waiting(tmp_path)
    assert entry.requested_url == site.url("/a")
    written = b"".join(file.read_bytes() for file in (tmp_path / "queue").iterdir())
    assert b"geheim" not in written
    assert b"site.example" in written  # the control


@pytest.mark.req("FG-35")
@pytest.mark.parametrize(("status", "queued"), [(401, 1), (403, 1), (404, 1), (429, 1), (500, 1), (200, 0)])
async def test_what_a_person_may_get_is_queued_whoever_said_no(tmp_path: Path, status: int, queued: int) -> None:
    async with (
        Site({"/a": text("", status)}) as site,
        client_with(site, cache=tmp_path, profile=profile_with(["http", "queue"])) as spaniel,
    ):
        await spaniel.outcome(site.url("/a"))
    assert len(waiting(tmp_path)) == queued


@pytest.mark.req("FG-35", "FG-05")
async def test_what_our_own_guard_refuses_is_for_nobody_to_get(tmp_path: Path) -> None:
    profile, resolver = profile_with(["http", "queue"]), FakeResolver(elsewhere="10.0.0.1")
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile, resolver=resolver) as spaniel:
        outcome = await spaniel.outcome(site.url("/a"))
    assert left_out(outcome) == {"queue": "not after ssrf_blocked"}
    assert waiting(tmp_path) == []


@pytest.mark.req("FG-35")
async def test_a_page_is_queued_even_when_the_time_is_over(tmp_path: Path) -> None:
    clock = FakeClock()

    async def slow() -> Reply:
        clock.advance(31)
        return text("", 500)

    profile = profile_with(["http", "archive", "queue"], total_seconds=30)
    async with Site({"/a": slow}) as site, client_with(site, cache=tmp_path, profile=profile, clock=clock) as spaniel:
        outcome = await spaniel.outcome(site.url("/a"))
    assert tried(outcome) == [("http", "http_5xx"), ("queue", "ok")]
    assert left_out(outcome) == {"archive": "the 30 s of the whole fetch have passed"}
    assert len(waiting(tmp_path)) == 1


@pytest.mark.req("FG-35")
async def test_a_queue_that_is_full_says_so_and_loses_nothing(tmp_path: Path) -> None:
    own = {"queue": {"max_entries": 1}}
    profile = profile_with(["http", "queue"])
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile, own=own) as spaniel:
        first, second = [await spaniel.outcome(site.url(path)) for path in ("/a", "/b")]
        again = await spaniel.outcome(site.url("/a"))
    assert [outcome.attempts[-1].outcome for outcome in (first, second, again)] == ["ok", "bad_args", "ok"]
    error = second.attempts[-1].error
    assert error is not None
    assert "the queue is full (1 pages)" in error.message
    assert second.refusal is not None
    assert second.refusal.code is Code.HTTP_4XX
    assert [entry.url for entry in waiting(tmp_path)] == [site.url("/a")]


async def test_outcome_of_all_fallbacks_is_written_as_json(tmp_path: Path) -> None:
    async with Site({}) as site, client_with(site, cache=tmp_path, profile=profile_with(["http", "queue"])) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/a")))
    fields = json.loads(json.dumps(outcome.as_dict()))
    assert [attempt["fallback"] for attempt in fields["attempts"]] == ["http", "queue"]
    assert (fields["status"], fields["final_url"]) == (404, site.url("/a"))

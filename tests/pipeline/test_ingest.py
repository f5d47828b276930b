"""The ingest profile as it is shipped, against sites that play each type of page: what its records say."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Target
from spaniel.net.http import Http
from spaniel.pipeline.outcome import moment
from spaniel.pipeline.profile import Profile, load
from spaniel.pipeline.record import Record
from spaniel.pipeline.request import Request as PageRequest
from spaniel.queue import Queue, QueueSettings
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, redirect, settings_for
from spaniel.url import Url
from tests.pipeline.test_fallback_kinds import Stage

INGEST = load("ingest")
TEXT = "<p>" + "The river rose again in March, and the town was ready for it this time. " * 40 + "</p>"
WALL = '<div class="paywall"><p>Subscribe to continue reading.</p></div>'
NOT_FREE = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false}</script>'
SHELL = '<title>Shop</title><div id="root"></div>'


@asynccontextmanager
async def ingesting(
    pages: dict[str, Page], cache: Path, profile: Profile = INGEST, stage: Stage | None = None
) -> AsyncIterator[tuple[Spaniel, Site, FakeClock]]:
    clock = FakeClock()
    browser: dict[str, Any] = {} if stage else {"browser": {"enabled": False}}
    async with (
        Site(pages) as site,
        Engine(settings_for(site, cache=cache, **browser), FakeResolver(), clock, stage) as engine,
        Spaniel(engine=engine, profile=profile) as spaniel,
    ):
        yield spaniel, site, clock


def error(status: int, body: str, **headers: str) -> Reply:
    fields = {"Content-Type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return status, fields, body.encode()


def fallback_names(record: Record) -> dict[str, str]:
    return {fallback.fallback: fallback.why or fallback.outcome for fallback in record.fallbacks}


SIGNALLING = html(
    f'<meta name=robots content="noai">{TEXT}', headers={"X-Robots-Tag": "nosnippet", "tdm-reservation": "1"}
)
BLOCKED: list[tuple[str, Reply, str, str | None]] = [
    ("402", error(402, "<title>Pay</title><p>Pay first.</p>"), "paywall", "Pay"),
    ("401", error(401, "<title>Who are you?</title>"), "login", "Who are you?"),
    ("451", error(451, "<title>Unavailable</title>"), "geo_block", "Unavailable"),
    ("403", error(403, "<title>No</title><p>You shall not pass.</p>"), "forbidden", "No"),
    ("geo", error(403, "<title>No</title><p>Not available in your country.</p>"), "geo_block", "No"),
    ("challenge", error(503, "<title>Just a moment...</title>"), "challenge", "Just a moment..."),
    ("wall", html(f"<title>Otters</title>{NOT_FREE}{TEXT}{WALL}"), "paywall", "Otters"),
    ("robot", html("<title>Shop</title><div id=px-captcha></div><p>Press &amp; hold</p>"), "challenge", "Shop"),
]


@pytest.mark.req("FG-21", "FG-27", "FG-18")
@pytest.mark.parametrize(("name", "reply", "page_type", "title"), BLOCKED, ids=[row[0] for row in BLOCKED])
async def test_blocked_page_is_recorded_and_not_circumvented(
    name: str, reply: Reply, page_type: str, title: str | None, tmp_path: Path
) -> None:
    stage = Stage()
    async with ingesting({"/a": reply}, tmp_path, stage=stage) as (spaniel, site, clock):
        record = await spaniel.record(site.url("/a"))
        again = await spaniel.record(site.url("/a"))
    assert (record.page_type, record.title, record.verdict) == (page_type, title, "blocked")
    assert (record.extraction_method, record.markdown) == ("blocked", None)
    assert (record.extraction.fetched_at, record.extraction.status) == (moment(clock.now()), reply[0])
    assert "no_text" not in record.caveats  # which advises to try a browser
    assert record.final_url == site.url("/a")
    assert site.requests["/a"] == 2  # once for each: not retried, and not cached
    assert clock.slept == []
    assert not stage.asked  # a browser would not change it
    assert "archive" not in {fallback.fallback for fallback in record.fallbacks if not fallback.why}
    assert again.cache is None


@pytest.mark.req("FG-27")
async def test_the_region_is_noted_in_the_words_of_the_page(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": error(403, "<p>Sorry.</p><p>This film is not available in your country.</p>")}
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
    assert record.region == "This film is not available in your country."


@pytest.mark.req("FG-27")
@pytest.mark.parametrize(
    ("said", "region"),
    [
        ("<h1>Not available in your <b>country</b></h1>", "Not available in your country"),
        ("<ul><li>Not in your <a href=/map>region</a>: <i>*Spain*</i></ul>", "Not in your region: *Spain*"),
        ("<blockquote>Blocked in your country: <code>DE</code></blockquote>", "Blocked in your country: DE"),
    ],
)
async def test_the_region_has_no_markdown_in_it(said: str, region: str, tmp_path: Path) -> None:
    async with ingesting({"/a": error(403, f"<title>No</title>{said}")}, tmp_path) as (spaniel, site, _):
        assert (await spaniel.record(site.url("/a"))).region == region


@pytest.mark.req("FG-35")
@pytest.mark.parametrize("name", ["401", "402", "403", "login", "wall", "robot", "open"])
async def test_pages_that_are_not_given_out_are_queued_by_one_rule(name: str, tmp_path: Path) -> None:
    form = html("<title>Sign in</title><form><input type=password></form>")
    replies = {row[0]: row[1] for row in BLOCKED} | {"login": redirect("/login"), "open": html(TEXT)}
    async with ingesting({"/a": replies[name], "/login": form}, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
        queue = Queue(QueueSettings(str(tmp_path / "queue")))
        entries = queue.entries()
        queue.close()
    assert [entry.url for entry in entries] == ([] if name == "open" else [record.canonical_url])
    assert record.verdict == ("ok" if name == "open" else "blocked")


@pytest.mark.req("FG-21", "FG-23")
async def test_a_redirect_to_a_login_is_told_with_both_addresses(tmp_path: Path) -> None:
    form = "<title>Sign in</title><form><input type=password></form>"
    pages: dict[str, Page] = {"/a": redirect("/accounts/login?next=/a"), "/accounts/login": html(form)}
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
        asked_for = await spaniel.record(site.url("/accounts/login"))
    assert (record.page_type, record.verdict) == ("login", "blocked")
    assert record.chain == [site.url("/a")]
    assert record.final_url == site.url("/accounts/login?next=/a")
    assert asked_for.page_type is None  # it is the page that was asked for


@pytest.mark.req("FG-20", "FG-31")
async def test_an_empty_shell_goes_to_the_browser_and_a_page_does_not(tmp_path: Path) -> None:
    stage = Stage()
    async with ingesting({"/shell": html(SHELL), "/a": html(TEXT)}, tmp_path, stage=stage) as (spaniel, site, _):
        shell = await spaniel.record(site.url("/shell"))
        page = await spaniel.record(site.url("/a"))
    assert (shell.extraction_method, shell.extraction.served_by) == ("browser", "browser")
    assert page.extraction_method == "html"
    assert fallback_names(page)["browser"] == "the page has its text"


@pytest.mark.req("FG-28", "FG-29")
async def test_robots_are_asked_first_and_a_known_title_is_told(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/a": html(f"<title>Otters</title>{TEXT}")}
    async with ingesting(pages, tmp_path) as (spaniel, site, clock):
        await spaniel.record(site.url("/a"))
        engine = spaniel._engine
        engine.robots._kept.clear()
        engine.robots._disk = None
        pages["/robots.txt"] = (200, {}, b"User-agent: ContextIngestion\nDisallow: /\n")
        clock.advance(8 * 24 * 3600)  # the copy's time is over, and not twice over
        record = await spaniel.record(site.url("/a"))
    assert (record.extraction_method, record.verdict, record.title) == ("robots_blocked", "blocked", "Otters")
    assert record.markdown is None
    assert site.requests["/a"] == 1


async def test_signals_are_recorded_and_refuse_nothing_by_default(tmp_path: Path) -> None:
    robots = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n"
    async with ingesting({"/a": SIGNALLING, "/robots.txt": (200, {}, robots)}, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
        again = await spaniel.record(site.url("/a"))
    assert record.signals == {
        "robots": ["noai", "nosnippet"],
        "content_signal": {"search": "yes", "ai-train": "no"},
        "tdm_reservation": "1",
    }
    assert record.verdict == "ok"
    assert again.signals == record.signals  # from the cache
    assert site.requests["/a"] == 1


@pytest.mark.parametrize("signal", ["noai", "ai-train", "tdm-reservation", "nosnippet"])
async def test_a_profile_says_which_signals_refuse_a_page(signal: str, tmp_path: Path) -> None:
    robots = b"User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n"
    profile = INGEST._replace(name="polite", respect=(signal,))
    pages: dict[str, Page] = {"/a": SIGNALLING, "/robots.txt": (200, {}, robots), "/b": html(TEXT)}
    if signal == "ai-train":
        del pages["/b"]
    async with ingesting(pages, tmp_path, profile) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
        other = await spaniel.record(site.url("/b")) if "/b" in pages else None
    assert (record.page_type, record.extraction_method, record.markdown) == ("site_signal", "blocked", None)
    assert record.caveats[:2] == ["site_signal", signal]
    assert other is None or other.verdict == "ok"


async def test_what_must_not_be_archived_is_not_kept(tmp_path: Path) -> None:
    pages: dict[str, Page] = {
        "/a": html(f'<meta name=robots content="noarchive">{TEXT}'),
        "/b": html(TEXT, headers={"Cache-Control": "private, no-store"}),
        "/c": html(TEXT),
    }
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        records = {path: await spaniel.record(site.url(path)) for path in (*pages, *pages)}
    assert {path: record.cache is None for path, record in records.items()} == {"/a": True, "/b": True, "/c": False}
    assert site.requests["/a"] == site.requests["/b"] == 2
    assert site.requests["/c"] == 1


async def test_error_with_endless_body_is_reported_by_status(tmp_path: Path) -> None:
    class Endless(Site):
        async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._open.add(writer)
            try:
                await self._answer((await reader.readline()).split()[1], writer)
            except ConnectionError:  # it was hung up on, as it should be
                pass
            finally:
                writer.close()

        async def _answer(self, path: bytes, writer: asyncio.StreamWriter) -> None:
            if path == b"/robots.txt":
                writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            writer.write(b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n")
            for _ in range(400):
                writer.write(b"5\r\n<p>a \r\n")
                await writer.drain()
                await asyncio.sleep(0.05)

    async with (
        Endless({}) as site,
        Engine(settings_for(site, cache=tmp_path, browser={"enabled": False}), FakeResolver(), FakeClock()) as engine,
        Spaniel(engine=engine, profile=INGEST) as spaniel,
    ):
        record = await spaniel.record(site.url("/a"))
    assert record.extraction.status == 403
    assert record.page_type == "forbidden"


@pytest.mark.req("FG-18")
@pytest.mark.parametrize("packed", [False, True])
async def test_how_a_page_was_got_is_recorded(tmp_path: Path, packed: bool) -> None:
    """The length is that of the body: decoded, in bytes, with all its markup."""
    body = f"<title>Otters</title><nav>Menu</nav><p>{'Otters swim in the river. Größe. ' * 9}</p>".encode()
    headers = {"Content-Type": "text/html; charset=utf-8"} | ({"Content-Encoding": "gzip"} if packed else {})
    pages: dict[str, Page] = {"/a": (203, headers, gzip.compress(body) if packed else body)}
    async with ingesting(pages, tmp_path) as (spaniel, site, clock):
        clock.advance(3600)
        record = (await spaniel.record(site.url("/a"))).as_dict()
        assert record["extraction"] == {
            "fetched_at": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "status": 203,
            "content_type": "text/html; charset=utf-8",
            "content_length": len(body),
            "extraction_method": "html",
            "served_by": "http",
        }


@pytest.mark.req("FG-23")
@pytest.mark.parametrize("hops", [1, 3, 5])
async def test_original_final_and_redirect_urls_are_recorded(tmp_path: Path, hops: int) -> None:
    pages: dict[str, Page] = {f"/{n}": redirect(f"/{n + 1}", 301) for n in range(hops)}
    pages[f"/{hops}"] = html(f"<p>{'Otters swim in the river. ' * 9}</p>")
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/0"))
    assert (record.requested_url, record.final_url) == (site.url("/0"), site.url(f"/{hops}"))
    assert record.chain == [site.url(f"/{n}") for n in range(hops)]


@pytest.mark.req("FG-19")
async def test_the_documents_headers_go_with_every_request(tmp_path: Path) -> None:
    """For robots.txt and after a redirect, too."""
    pages: dict[str, Page] = {"/a": redirect("/b"), "/b": html("<p>Otters swim in the river.</p>")}
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        await spaniel.record(site.url("/a"))
    assert set(site.requests) == {"/robots.txt", "/a", "/b"}
    for sent in site.seen:
        assert sent["user-agent"] == "ContextIngestion/1.0 (compatible)"
        assert sent["accept"] == "text/html,application/xhtml+xml"
        assert sent["accept-language"] == "en-US,en;q=0.9"
        assert sent["accept-encoding"] == "gzip, deflate"


@pytest.mark.req("FG-43")
@pytest.mark.parametrize(("profile", "seconds"), [("ingest", 30), ("web_fetch", 20)])
async def test_page_has_30_seconds_in_this_profile(
    profile: str, seconds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read off the deadline of the request: nothing is waited for here. Another profile has another time."""
    given: dict[str, float] = {}
    get = Http.get

    async def watched(http: Http, url: Url, target: Target, deadline: Deadline, *more: Any) -> object:
        given[url.path] = deadline.seconds
        return await get(http, url, target, deadline, *more)

    monkeypatch.setattr(Http, "get", watched)
    async with ingesting({"/a": html(TEXT)}, tmp_path, load(profile)) as (spaniel, site, _):
        await spaniel.outcome(PageRequest(site.url("/a")))
    assert given["/a"] == seconds


@pytest.mark.req("FG-25", "FG-19", "FG-43")
async def test_json_is_kept_as_data_in_one_line(tmp_path: Path) -> None:
    body = b'{\n  "otters": [1, 2.50, 12345678901234567890]\n}\n'
    pages: dict[str, Page] = {"/a": (200, {"Content-Type": "application/json"}, body)}
    async with ingesting(pages, tmp_path) as (spaniel, site, _):
        record = await spaniel.record(site.url("/a"))
    assert record.extraction_method == "json"
    assert b'"data":{"otters":[1,2.50,12345678901234567890]}' in record.as_json()
    assert b"\n" not in record.as_json()
    sent = site.seen[-1]
    assert sent["user-agent"] == "ContextIngestion/1.0 (compatible)"
    assert sent["accept"] == "text/html,application/xhtml+xml"
    assert sent["accept-language"] == "en-US,en;q=0.9"
    assert sent["accept-encoding"] == "gzip, deflate"
    assert INGEST.limits.timeout_seconds == 30

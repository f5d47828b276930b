"""The web archive as a stand-in on loopback: when it is asked, what is believed, and what it cannot do to us."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from spaniel.errors import Code, SpanielError
from spaniel.net.http import RequestHeaders, RequestOptions
from spaniel.pipeline.fallbacks import LARGEST_ANSWER, _asking, read_availability
from spaniel.pipeline.outcome import Outcome
from spaniel.pipeline.request import Request
from spaniel.pipeline.retrieve import FetchOptions
from spaniel.testing import FakeClock, FakeResolver, Page, Reply, Site, html, redirect, text
from tests.pipeline.fallback_profiles import RETRIES, client_with, left_out, profile_with, tried

FALLBACKS = ["http", "archive"]
TAKEN = "20260102030405"
COPY = html("<title>Otters</title><main><h1>Otters</h1><p>They swam. <a href='/more'>More</a></p></main>")
GONE = text("", 404)
ARCHIVE, INNER = "archive.example", "10.0.0.7"


class Archive(Site):
    """An availability API and snapshots; each answer may be exchanged for a lie."""

    def __init__(self, pages: dict[str, Page] | None = None) -> None:
        super().__init__(pages or {})
        self.says: Any = {"available": True, "status": "200", "timestamp": TAKEN, "url": "http://web.example/x"}
        self.body: bytes | None = None  # in place of what it says
        self.copy: Reply = COPY
        self.asked: list[str] = []

    def reply(self, path: str) -> Reply | None:
        if path.startswith("/available"):
            self.asked.append(path)
            body = json.dumps({"archived_snapshots": {"closest": self.says} if self.says else {}}).encode()
            return 200, {"Content-Type": "application/json"}, body if self.body is None else self.body
        if path.startswith("/web/"):
            self.asked.append(path)
            return self.copy
        return None

    def settings(self) -> dict[str, Any]:
        at = self.url("", ARCHIVE)
        return {
            "archive": {"available": f"{at}/available?url={{url}}", "snapshot": f"{at}/web/{{timestamp}}id_/{{url}}"}
        }


async def lost(archive: Archive, cache: Path, page: Page = GONE, **how: Any) -> tuple[Outcome, str]:
    """The fetch of a page that its site does not bring; and where it was."""
    resolver = how.pop("resolver", None) or FakeResolver()
    others: tuple[Site, ...] = how.pop("others", ())
    request, path = how.pop("request", {}), how.pop("path", "/a")
    profile = profile_with(how.pop("fallbacks", FALLBACKS), **how)
    async with (
        Site({"/a": page, "/robots.txt": text("User-agent: *\nDisallow: /no\n")}) as site,
        client_with(
            site, archive, *others, cache=cache, profile=profile, resolver=resolver, own=archive.settings()
        ) as spaniel,
    ):
        url = site.url(path)
        return await spaniel.outcome(Request(url, **request)), url


@pytest.mark.req("FG-32", "FG-36")
async def test_a_page_that_is_gone_comes_from_the_archive_and_says_so(tmp_path: Path) -> None:
    async with Archive() as archive:
        outcome, url = await lost(archive, tmp_path, path="/a?b=c&d")
    page = outcome.require().page
    assert archive.asked == [f"/available?url={quote(url, safe='')}", f"/web/{TAKEN}id_/{url}"]
    assert tried(outcome) == [("http", "http_4xx"), ("archive", "ok")]
    assert (page.served_by, page.archive_date) == ("archive", "2026-01-02T03:04:05Z")
    assert page.archive_url == archive.url(f"/web/{TAKEN}id_/{url}", ARCHIVE)
    assert outcome.caveats == ("from_archive",)
    assert outcome.attempts[1].url == page.archive_url
    assert (outcome.final_url, outcome.chain) == (url, ())  # it is that page, as it was
    assert archive.seen[-1]["accept"] != "application/json"
    assert "application/json" in [seen["accept"] for seen in archive.seen]


@pytest.mark.req("FG-32")
async def test_links_in_a_copy_lead_from_where_the_page_was(tmp_path: Path) -> None:
    async with Archive() as archive:
        outcome, url = await lost(archive, tmp_path)
    assert f"[More]({url.removesuffix('/a')}/more)" in outcome.require().page.markdown


@pytest.mark.req("FG-32")
async def test_a_copy_stands_in_and_is_not_kept(tmp_path: Path) -> None:
    back: list[Reply] = [text("", 404)]

    async def page() -> Reply:
        return back[-1]

    async with (
        Archive() as archive,
        Site({"/a": page}) as site,
        client_with(site, archive, cache=tmp_path, profile=profile_with(FALLBACKS), own=archive.settings()) as spaniel,
    ):
        first = await spaniel.outcome(site.url("/a"))
        back.append(text("back again"))
        second = await spaniel.outcome(site.url("/a"))
    assert first.caveats == ("from_archive",)
    assert (second.require().page.markdown, second.caveats) == ("back again\n", ())


async def hang_up() -> Reply:
    raise ConnectionError


@pytest.mark.req("FG-32", "FG-30")
@pytest.mark.parametrize("page", [text("", 404), text("", 410), text("", 500), text("", 503), hang_up])
async def test_it_is_asked_for_what_is_gone_or_down_after_the_retries(tmp_path: Path, page: Page) -> None:
    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, page, fallbacks=["http", *RETRIES, "archive"])
    assert outcome.attempts[-1].fallback == "archive"
    assert len(outcome.attempts) == (2 if page in (GONE, text("", 410)) else 5)
    assert outcome.caveats == ("from_archive",)


@pytest.mark.req("FG-32")
async def test_it_is_asked_for_a_host_that_has_no_name_any_more(tmp_path: Path) -> None:
    async with Archive() as archive:
        resolver = FakeResolver({ARCHIVE: "127.0.0.1"}, elsewhere=None)
        outcome, _ = await lost(archive, tmp_path, resolver=resolver)
    assert tried(outcome) == [("http", "dns_failed"), ("archive", "ok")]


@pytest.mark.req("FG-32")
async def test_it_is_asked_for_a_page_that_takes_too_long(tmp_path: Path) -> None:
    async def slow() -> Reply:
        await asyncio.sleep(30)
        return text("x")

    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, slow, timeout_seconds=1)
    assert tried(outcome) == [("http", "timeout"), ("archive", "ok")]


@pytest.mark.req("FG-32")
@pytest.mark.parametrize("status", [400, 401, 402, 403, 429, 451])
async def test_whoever_said_no_is_not_got_round(tmp_path: Path, status: int) -> None:
    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, text("", status))
    assert (archive.requests.total(), left_out(outcome)) == (0, {"archive": f"not after {status}"})


@pytest.mark.req("FG-32")
async def test_what_robots_txt_forbids_is_not_asked_of_the_archive(tmp_path: Path) -> None:
    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, path="/no")
    assert (archive.requests.total(), left_out(outcome)) == (0, {"archive": "not after robots_disallowed"})


@pytest.mark.req("FG-32")
async def test_the_sites_last_word_counts(tmp_path: Path) -> None:
    """It was down, and then it said no."""
    answers = [text("", 500), text("", 403)]

    async def page() -> Reply:
        return answers.pop(0)

    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, page, fallbacks=["http", RETRIES[0], "archive"])
    assert (archive.requests.total(), left_out(outcome)) == (0, {"archive": "not after 403"})


@pytest.mark.req("FG-32")
@pytest.mark.parametrize(
    ("says", "why"),
    [
        (None, "Not Found: the archive has no copy of this page"),
        ({"available": False, "timestamp": TAKEN}, "Not Found"),
        ({"available": True, "timestamp": TAKEN, "status": "404"}, "Not Found"),
        ({"available": True, "timestamp": "2026"}, "timestamp is invalid"),
        ({"available": True, "timestamp": "20269999999999"}, "timestamp is invalid"),
        ({"available": True, "timestamp": "00000000000000"}, "timestamp is invalid"),
        ({"available": True, "timestamp": "29990101000000"}, "timestamp is invalid"),  # in the future
        ({"available": True, "timestamp": "../../../etc/x"}, "timestamp is invalid"),
        ({"available": True, "timestamp": "２０２６０１０２０３０４０５"}, "timestamp is invalid"),
        ({"available": True, "timestamp": 20260102030405}, "not the expected JSON"),
        ({"available": "yes", "timestamp": TAKEN}, "not the expected JSON"),
        ("http://elsewhere.example/", "not the expected JSON"),
    ],
)
async def test_an_archive_that_has_nothing_or_says_nonsense_is_harmless(tmp_path: Path, says: Any, why: str) -> None:
    async with Archive() as archive:
        archive.says = says
        outcome, _ = await lost(archive, tmp_path)
        assert len(archive.asked) == 1  # no copy was asked for
    error = outcome.attempts[1].error
    assert error is not None
    assert why in error.message
    assert outcome.refusal is not None
    assert (outcome.refusal.details["status"], outcome.status) == (404, 404)  # the site's word is told


@pytest.mark.req("FG-32")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<!doctype html><title>Down for maintenance</title>", Code.NETWORK),
        (b"", Code.NETWORK),
        (b"[]", Code.NETWORK),
        (b"null", Code.NETWORK),
        (b"\xff\xfe{", Code.NETWORK),
        (b'{"archived_snapshots":' * 2500, Code.NETWORK),
        (b'{"x":' + b"[" * 60_000, Code.NETWORK),
        (b" " * 1_000_000 + b"{}", Code.RESPONSE_TOO_LARGE),
    ],
    ids=["html", "empty", "list", "null", "no text", "deep", "deeper", "huge"],
)
async def test_an_answer_that_is_no_answer_is_harmless(tmp_path: Path, body: bytes, code: Code) -> None:
    async with Archive() as archive:
        archive.body = body
        outcome, _ = await lost(archive, tmp_path)
    error = outcome.attempts[1].error
    assert error is not None
    assert (error.code, outcome.found) == (code, None)


@pytest.mark.req("FG-32", "FG-05")
async def test_the_address_in_its_answer_is_never_asked(tmp_path: Path) -> None:
    async with Site({"/secret": text("secret")}) as victim, Archive() as archive:
        archive.says["url"] = victim.url("/secret", "victim.example")
        outcome, _ = await lost(archive, tmp_path, others=(victim,))
        assert outcome.caveats == ("from_archive",)  # the control: the answer was read and used
        assert victim.requests.total() == 0


@pytest.mark.req("FG-32", "FG-05")
@pytest.mark.parametrize("at", [[INNER], ["169.254.169.254"], ["192.168.1.1"], ["127.0.0.1", INNER]])
async def test_an_archive_at_a_private_address_is_not_asked(tmp_path: Path, at: list[str]) -> None:
    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, resolver=FakeResolver({ARCHIVE: at}))
        assert archive.requests.total() == 0
        open_one, _ = await lost(archive, tmp_path)
        assert archive.requests.total() > 0  # the control
    assert tried(outcome) == [("http", "http_4xx"), ("archive", "ssrf_blocked")]
    assert open_one.found is not None


@pytest.mark.req("FG-32", "FG-05")
@pytest.mark.parametrize(
    ("host", "code"), [("inner.archive.example", Code.SSRF_BLOCKED), ("victim.example", Code.INVALID_HOST)]
)
@pytest.mark.parametrize("where", ["available", "web"])
async def test_archive_redirect_must_stay_in_the_archive(tmp_path: Path, host: str, code: Code, where: str) -> None:
    class Leading(Archive):
        leads_to = ""

        def reply(self, path: str) -> Reply | None:
            return redirect(self.leads_to) if path.startswith(f"/{where}") else super().reply(path)

    async with Site({"/secret": text("secret")}) as victim, Leading() as archive:
        archive.leads_to = victim.url("/secret", host)
        resolver = FakeResolver({"inner.archive.example": INNER})
        outcome, _ = await lost(archive, tmp_path, others=(victim,), resolver=resolver)
        assert victim.requests.total() == 0
        assert outcome.attempts[1].outcome == str(code)
        archive.leads_to = victim.url("/secret", "open.archive.example")
        await lost(archive, tmp_path, others=(victim,))
        assert victim.requests.total() > 0  # the control: a redirect of the archive is followed


@pytest.mark.req("FG-32")
async def test_the_moment_of_the_copy_that_came_is_told(tmp_path: Path) -> None:
    """The archive leads from the moment that was asked for to the nearest that it has (RFC 7089)."""
    async with Archive() as archive:
        for given, fields in (
            ("Fri, 02 Jan 2015 10:00:00 GMT", "2015-01-02T10:00:00Z"),
            ("at some time", "2026-01-02T03:04:05Z"),
        ):
            archive.copy = (COPY[0], {**COPY[1], "Memento-Datetime": given}, COPY[2])
            outcome, _ = await lost(archive, tmp_path)
            assert outcome.require().page.archive_date == fields


@pytest.mark.req("FG-32")
async def test_archive_redirects_belong_to_the_attempt_not_the_page(tmp_path: Path) -> None:
    class Moved(Archive):
        def reply(self, path: str) -> Reply | None:
            return redirect(path.replace(TAKEN, "20200101000000")) if TAKEN in path else super().reply(path)

    async with Moved() as archive:
        outcome, url = await lost(archive, tmp_path)
        [first] = outcome.attempts[1].chain
        assert first == archive.url(f"/web/{TAKEN}id_/{url}", ARCHIVE)
    assert outcome.require().page.archive_url == first.replace(TAKEN, "20200101000000")
    assert (outcome.chain, outcome.final_url) == ((), url)


def test_archive_answer_is_never_cut() -> None:
    assert _asking(FetchOptions(RequestOptions(cut=True))).options == RequestOptions(
        RequestHeaders(accept="application/json"), LARGEST_ANSWER, cut=False
    )


@pytest.mark.parametrize(("ahead", "fine"), [(timedelta(hours=23), True), (timedelta(hours=25), False)])
def test_a_clock_may_be_a_day_behind_the_archives(ahead: timedelta, fine: bool) -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    taken = (now + ahead).strftime("%Y%m%d%H%M%S")
    body = json.dumps({"archived_snapshots": {"closest": {"available": True, "timestamp": taken}}}).encode()
    if fine:
        assert read_availability(body, now) == taken
    else:
        with pytest.raises(SpanielError, match="timestamp is invalid"):
            read_availability(body, now)


@pytest.mark.req("FG-32")
@pytest.mark.parametrize("where", ["/available", "/web/"])
async def test_a_slow_archive_takes_no_longer_than_a_rung_may(tmp_path: Path, where: str) -> None:
    async def never() -> Reply:
        await asyncio.sleep(30)
        return text("x")

    class SlowPages(dict[str, Page]):
        def get(self, path: str, default: Any = None) -> Any:
            return never if path.startswith(where) else default

    class Slow(Archive):
        def reply(self, path: str) -> Reply | None:
            return None if path.startswith(where) else super().reply(path)

    async with Slow(SlowPages({"": never})) as archive:
        outcome, _ = await lost(archive, tmp_path, timeout_seconds=1)
    assert tried(outcome) == [("http", "http_4xx"), ("archive", "timeout")]


@pytest.mark.req("FG-32", "FG-28")
async def test_the_archives_own_robots_txt_is_obeyed(tmp_path: Path) -> None:
    async with Archive({"/robots.txt": text("User-agent: *\nDisallow: /web/\n")}) as archive:
        outcome, _ = await lost(archive, tmp_path)
    assert len(archive.asked) == 1
    assert tried(outcome) == [("http", "http_4xx"), ("archive", "robots_disallowed")]


@pytest.mark.req("FG-32")
async def test_allowed_domains_apply_to_the_archived_page(tmp_path: Path) -> None:
    async with Archive() as archive:
        outcome, _ = await lost(archive, tmp_path, request={"allowed_domains": ["site.example"]})
        assert (archive.requests.total(), outcome.attempts[1].outcome) == (0, "invalid_host")
        both = {"allowed_domains": ["site.example", ARCHIVE]}
        assert (await lost(archive, tmp_path, request=both))[0].found is not None


@pytest.mark.req("FG-32")
async def test_a_copy_of_a_kind_that_is_not_read_is_no_page(tmp_path: Path) -> None:
    async with Archive() as archive:
        archive.copy = 200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n"
        outcome, _ = await lost(archive, tmp_path)
    assert tried(outcome) == [("http", "http_4xx"), ("archive", "unsupported_content_type")]
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.HTTP_4XX


@pytest.mark.req("FG-32")
async def test_an_archive_that_is_not_set_is_off(tmp_path: Path) -> None:
    async with (
        Site({}) as site,
        client_with(
            site, cache=tmp_path, profile=profile_with(FALLBACKS), own={"archive": {"available": ""}}
        ) as spaniel,
    ):
        outcome = await spaniel.outcome(site.url("/a"))
    assert left_out(outcome) == {"archive": "off: no archive is set"}


@pytest.mark.req("FG-22", "FG-32")
async def test_an_archive_that_asks_for_time_is_left_alone_like_any_host(tmp_path: Path) -> None:
    clock = FakeClock()
    async with Archive() as archive, Site({}) as site:
        archive.copy = text("", 429, {"Retry-After": "900"})
        async with client_with(
            site, archive, cache=tmp_path, profile=profile_with(FALLBACKS), clock=clock, own=archive.settings()
        ) as spaniel:
            await spaniel.outcome(site.url("/a"))
            asked = archive.requests.total()
            outcome = await spaniel.outcome(site.url("/b"))
            assert archive.requests.total() == asked
    error = outcome.attempts[1].error
    assert error is not None
    assert (error.details["status"], error.details["retry_after"]) == (429, "900")
    assert clock.slept == []

"""`Spaniel.check`: whole checks over real sockets, on a clock that a test moves through weeks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from spaniel import Spaniel
from spaniel.app.engine import Engine
from spaniel.errors import Code, SpanielError
from spaniel.health import Checked, Expected, Link, Verdict
from spaniel.net.resolver import failed
from spaniel.pipeline.readers import Readers
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, html, redirect, settings_for, text
from spaniel.verdicts import DAY


class Web:
    """A site with any number of names, a client for it, a clock and a resolver that a test moves."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.clock, self.resolver = FakeClock(), FakeResolver()

    async def check(self, links: Iterable[str | Link], **how: Any) -> list[Checked]:
        settings = settings_for(self.site, cache=self.folder / "cache")
        async with Engine(settings, self.resolver, self.clock) as engine, Spaniel(engine=engine) as client:
            return [checked async for checked in client.check(links, history=self.folder / "past", **how)]

    async def verdict(self, path: str, host: str = "site.example") -> str:
        """Of one link, among others that are well."""
        others = [self.site.url("/", f"{n}.well.example") for n in range(3)]
        results = await self.check([self.site.url(path, host), *others])
        return next(str(checked.verdict) for checked in results if checked.link.url == self.site.url(path, host))


@asynccontextmanager
async def web(folder: Path, **pages: Any) -> AsyncIterator[Web]:
    async with Site({"/": text("well"), **{f"/{name}": page for name, page in pages.items()}}) as site:
        yield Web(site, folder)


@pytest.mark.req("LH-02")
async def test_a_link_is_dead_after_three_failures_three_days_apart_and_not_before(tmp_path: Path) -> None:
    async with web(tmp_path, page=text("here")) as place:
        reported = []
        for day in range(40):
            if day == 2:
                del place.site.pages["/page"]
            if day in (8, 9):
                place.site.pages["/page"] = text("for two days it is back")
            if day == 10:
                del place.site.pages["/page"]
            reported.append(await place.verdict("/page"))
            place.clock.advance(DAY)
        assert reported[:2] == ["ok", "ok"]
        assert reported[2:8] == ["failing"] * 6  # on the days 2 and 5; the third would be on day 8
        assert reported[8:10] == ["ok", "ok"]
        assert reported[10:16] == ["failing"] * 6  # it begins anew: days 10, 13
        assert reported[16:] == ["dead"] * 24


@pytest.mark.req("LH-02")
async def test_weekly_checks_make_a_link_dead_in_the_third_week_and_trouble_makes_none(tmp_path: Path) -> None:
    async with web(tmp_path, busy=text("", 500)) as place:
        gone, busy = [], []
        for _ in range(5):
            gone.append(await place.verdict("/gone"))
            busy.append(await place.verdict("/busy"))
            place.clock.advance(7 * DAY)
        assert gone == ["failing", "failing", "dead", "dead", "dead"]
        assert busy == ["unknown"] * 5


@pytest.mark.req("LH-02")
async def test_many_failures_in_a_day_are_one(tmp_path: Path) -> None:
    async with web(tmp_path) as place:
        for _ in range(10):
            assert await place.verdict("/gone") == "failing"
            place.clock.advance(3600)


@pytest.mark.req("LH-01")
async def test_weeks_without_network_make_nothing_dead(tmp_path: Path) -> None:
    async with web(tmp_path) as place:
        links = [place.site.url("/", f"{n}.example") for n in range(10)]
        assert {str(checked.verdict) for checked in await place.check(links)} == {"ok"}
        for _ in range(6):
            place.clock.advance(5 * DAY)
            place.resolver.elsewhere = failed("any.example", "no answer")  # no name server can be reached
            results = await place.check(links)
            assert {checked.verdict for checked in results} == {Verdict.UNKNOWN}
        place.resolver.elsewhere = "127.0.0.1"
        place.resolver.names["0.example"] = SpanielError(
            Code.DNS_FAILED, host="0.example", error="no", cause="nxdomain"
        )
        verdicts = [str(checked.verdict) for checked in await place.check(links)]
        assert sorted(set(verdicts)) == ["failing", "ok"]  # the first of three
        assert verdicts.count("failing") == 1


@pytest.mark.req("DB-09")
async def test_a_host_is_left_alone_between_requests_for_as_long_as_it_should(tmp_path: Path) -> None:
    """By the server's own log, on the clock that the run goes by."""
    came: list[float] = []

    async def page() -> Reply:
        came.append(place.clock.monotonic())
        return text("here")

    async with web(tmp_path, **{f"p{n}": page for n in range(8)}) as place:
        await place.check([place.site.url(f"/p{n}") for n in range(8)], delay=2.5)
        assert len(came) >= 8
        assert all(second - first >= 2.5 for first, second in pairwise(came))


@pytest.mark.req("DB-09")
async def test_crawl_delay_is_kept_where_robots_txt_is_heeded(tmp_path: Path) -> None:
    came: list[float] = []

    async def page() -> Reply:
        came.append(place.clock.monotonic())
        return text("here")

    robots = text("User-agent: *\nCrawl-delay: 9\nDisallow: /no\n")
    pages = {"robots.txt": robots, **{f"p{n}": page for n in range(4)}}
    async with web(tmp_path, **pages) as place:
        links = [place.site.url(f"/p{n}") for n in range(4)]
        results = await place.check([*links, place.site.url("/no")], delay=1, robots=True)
        assert {str(checked.verdict) for checked in results} == {"ok", "blocked"}
        assert all(second - first >= 9 for first, second in pairwise(came))
        came.clear()
        await place.check(links, delay=1)
        assert any(second - first < 9 for first, second in pairwise(came))  # the control


@pytest.mark.req("DB-09")
async def test_a_slow_host_and_a_waiting_one_stall_nobody(tmp_path: Path) -> None:
    release = asyncio.Event()
    asked = 0

    async def slow() -> Reply:
        await release.wait()
        return text("at last")

    async def busy() -> Reply:
        nonlocal asked
        asked += 1
        return text("", 429, {"Retry-After": "100"}) if asked == 1 else text("well")

    async with web(tmp_path, slow=slow, busy=busy) as place:
        settings = settings_for(place.site, cache=tmp_path / "cache")
        links = [place.site.url("/slow", "slow.example"), place.site.url("/busy", "busy.example")]
        links += [place.site.url("/", f"{n}.example") for n in range(30)]
        reported: list[str] = []
        async with (
            Engine(settings, place.resolver) as engine,
            Spaniel(engine=engine) as client,
            aclosing(client.check(links, jobs=2, delay=0, timeout=60)) as results,
        ):
            async for checked in results:
                reported.append(checked.link.url)
                if len(reported) == 30:
                    release.set()  # everybody else was reported while these two waited
                    break
        assert not {links[0], links[1]} & set(reported)


@pytest.mark.req("FG-22")
async def test_too_many_requests_is_waited_for_and_then_well(tmp_path: Path) -> None:
    answers = iter([text("", 429, {"Retry-After": "60"})])

    async def page() -> Reply:
        return next(answers, text("well"))

    async with web(tmp_path, page=page) as place:
        assert await place.verdict("/page") == "ok"
        assert sum(place.clock.slept) >= 60


@pytest.mark.req("FG-46")
async def test_an_hour_is_not_waited_for_and_the_next_run_does_not_ask_before(tmp_path: Path) -> None:
    async with web(tmp_path, page=text("", 429, {"Retry-After": "3600"})) as place:
        assert await place.verdict("/page", "busy.example") == "rate-limited"
        requests = place.site.requests["/page"]
        assert await place.verdict("/page", "busy.example") == "rate-limited"
        assert place.site.requests["/page"] == requests
        place.clock.advance(3601)
        place.site.pages["/page"] = text("well")
        assert await place.verdict("/page", "busy.example") == "ok"


@pytest.mark.req("DB-07")
async def test_content_is_compared_after_redirects(tmp_path: Path) -> None:
    async with web(tmp_path, old=redirect("/page", 301), page=text("twelve bytes")) as place:
        held = Link(place.site.url("/old"), expected=Expected(length=12, may_redirect=True))
        other = Link(place.site.url("/page"), expected=Expected(length=13))
        found = {checked.link.url: checked for checked in await place.check([held, other])}
        assert found[held.url].verdict is Verdict.OK
        assert found[other.url].verdict is Verdict.CHANGED
        assert [(each.what, each.old, each.new) for each in found[other.url].changes] == [("length", "13", "12")]


class Liar(Site):
    """Answers HEAD with 404, whatever there is, and remembers how it was asked."""

    methods: ClassVar[list[str]] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.methods.append(line.split()[0].decode())
            while (await reader.readline()).strip():
                pass
            body = b"" if line.startswith(b"HEAD") else b"here"
            status = "404 No" if line.startswith(b"HEAD") else "200 Yes"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\n".encode() + body)
        writer.close()


async def test_a_host_at_which_head_lied_is_asked_by_get_in_the_next_run(tmp_path: Path) -> None:
    async with Liar({}) as site:
        place = Web(site, tmp_path)
        for expected in (["HEAD", "GET"], ["GET"]):
            Liar.methods.clear()
            (checked,) = await place.check([site.url("/page")])
            assert (checked.verdict, Liar.methods) == (Verdict.OK, expected)


async def test_equal_urls_in_other_spellings_are_asked_once(tmp_path: Path) -> None:
    async with web(tmp_path) as place:
        port = place.site.port
        results = await place.check([f"http://site.example:{port}", f"HTTP://Site.Example:{port}/#part"], delay=0)
        assert len(results) == 1


async def test_a_page_that_takes_long_to_read_is_read_where_it_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the engine's readers, which put a long page into a process that can be ended."""
    processes: list[str] = []
    usual = Readers._hand_over

    async def watched(self: Readers, child: Any, job: dict[str, Any], body: bytes) -> Any:
        processes.append(job["url"])
        return await usual(self, child, job, body)

    monkeypatch.setattr(Readers, "_hand_over", watched)
    async with web(tmp_path, long=html("<p>" + "<i>a</i>" * 12_000), short=html("<p>a few words")) as place:
        links = [place.site.url("/long"), place.site.url("/short")]
        results = await place.check(links, soft_404=True)
        assert {str(checked.verdict) for checked in results} == {"ok"}
        assert processes == links[:1]

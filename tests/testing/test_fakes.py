"""What `spaniel.testing` gives to tests, by itself and as a whole."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel import SpanielError
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, html, redirect, settings_for, spaniel_for, text


async def asked(site: Site, request: str) -> bytes:
    """The answer to a request, byte for byte."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(request.replace("\n", "\r\n").encode())
    writer.write_eof()
    try:
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    assert clock.now() == clock.now() == datetime(2030, 1, 1, tzinfo=UTC)
    steady = clock.monotonic()
    clock.advance(90)
    assert clock.now() == datetime(2030, 1, 1, 0, 1, 30, tzinfo=UTC)
    assert clock.time() == clock.now().timestamp()
    assert clock.monotonic() == steady + 90
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


def test_setting_the_clock_on_the_wall_leaves_the_steady_one_alone() -> None:
    clock = FakeClock()
    steady = clock.monotonic()
    clock.set(clock.now() - timedelta(days=400))
    assert clock.monotonic() == steady
    clock.set(0.5)
    assert clock.time() == 0.5


async def test_a_wait_takes_no_time_and_is_remembered() -> None:
    clock = FakeClock()
    before = clock.monotonic()
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await asyncio.wait_for(clock.sleep(86_400), 60)
    assert clock.monotonic() == before + 86_400
    assert clock.slept == [86_400]
    assert ran.is_set()


@pytest.mark.req("T-WF-INFRA-02")
async def test_a_site_gives_the_same_answer_to_the_same_request_byte_for_byte() -> None:
    request = "GET /a HTTP/1.1\nHost: site.example\n\n"
    async with Site({"/a": html("<p>one</p>", headers={"ETag": '"x"'})}) as site:
        answers = {await asked(site, request) for _ in range(3)}
        assert len(answers) == 1
        assert site.requests == {"/a": 3}
        assert (await asked(site, request.replace("/a", "/b"))).startswith(b"HTTP/1.1 404 ")


async def test_a_resolver_answers_from_its_table_and_remembers_who_was_asked_for() -> None:
    resolver = FakeResolver({"a.example": ["10.0.0.1", "::1"], "none.example": [], "broken.example": OSError("no")})
    assert [str(address) for address in await resolver.resolve("a.example")] == ["10.0.0.1", "::1"]
    assert await resolver.resolve("none.example") == []
    assert [str(address) for address in await resolver.resolve("any.example")] == ["127.0.0.1"]
    with pytest.raises(OSError, match="no"):
        await resolver.resolve("broken.example")
    resolver.names["any.example"] = "10.0.0.9"
    assert [str(address) for address in await resolver.resolve("any.example")] == ["10.0.0.9"]
    assert resolver.asked == ["a.example", "none.example", "any.example", "broken.example", "any.example"]


async def test_a_name_that_is_nowhere_fails_as_a_real_one_does() -> None:
    with pytest.raises(SpanielError) as caught:
        await FakeResolver(elsewhere=None).resolve("a.example")
    assert caught.value.code == "dns_failed"
    assert caught.value.details["host"] == "a.example"


async def test_a_site_serves_its_table_and_counts() -> None:
    async with Site({"/a": text("hello"), "/b": redirect("/a", 308)}) as site:
        got = await asked(site, "GET /a?q=1 HTTP/1.1\nHost: x\nAccept: text/plain\n\n")
        assert got.startswith(b"HTTP/1.1 200 ")
        assert b"Content-Type: text/plain\r\n" in got
        assert got.endswith(b"\r\n\r\nhello")
        assert b"Location: /a" in await asked(site, "GET /b HTTP/1.1\n\n")
        assert (await asked(site, "GET /c HTTP/1.1\n\n")).startswith(b"HTTP/1.1 404 ")
        assert site.requests == {"/a?q=1": 1, "/b": 1, "/c": 1}
        assert site.seen[0] == {"host": "x", "accept": "text/plain"}


async def test_head_is_answered_without_the_body_and_nonsense_not_at_all() -> None:
    async with Site({"/a": html("<p>hello")}) as site:
        got = await asked(site, "HEAD /a HTTP/1.1\n\n")
        assert b"Content-Length: 8\r\n" in got
        assert got.endswith(b"\r\n\r\n")
        assert await asked(site, "nonsense\n\n") == b""


async def test_page_can_be_a_function_and_site_can_override_reply() -> None:
    async def gone() -> Reply:
        raise ConnectionError

    class Echo(Site):
        def reply(self, path: str) -> Reply | None:
            return text(path) if path.startswith("/echo") else None

    async with Echo({"/gone": gone}) as site:
        assert await asked(site, "GET /gone HTTP/1.1\n\n") == b""
        assert (await asked(site, "GET /echo/x HTTP/1.1\n\n")).endswith(b"/echo/x")


async def test_when_a_site_goes_so_do_its_connections() -> None:
    async with Site({"/a": text("hello")}) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(b"GET /a HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"hello")
    assert await asyncio.wait_for(reader.read(), 30) == b""
    writer.close()
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection("127.0.0.1", site.port)


async def test_a_spaniel_for_a_site_fetches_from_it_and_from_nowhere_else() -> None:
    async with Site({"/a": text("hello")}) as site, Site({}) as other, spaniel_for(site) as spaniel:
        answer = await spaniel.fetch(site.url("/a"))
        assert answer.markdown == "hello\n"
        assert (await spaniel.fetch(site.url("/a"))).note == "cache_hit"
        with pytest.raises(SpanielError) as caught:
            await spaniel.fetch(other.url("/a"))
        assert caught.value.code == "port_blocked"
        assert not other.requests


async def test_its_cache_is_the_tests_or_gone_afterwards(tmp_path: Path) -> None:
    async with Site({"/a": text("hello")}) as site:
        async with spaniel_for(site, cache=tmp_path / "mine") as spaniel:
            await spaniel.fetch(site.url("/a"))
        assert list((tmp_path / "mine").glob("*/*.json"))
        async with spaniel_for(site, cache=tmp_path / "mine") as spaniel:
            assert (await spaniel.fetch(site.url("/a"))).note == "cache_hit"
        async with spaniel_for(site) as spaniel:
            assert (await spaniel.fetch(site.url("/a"))).note is None
        assert site.requests["/a"] == 2


async def test_names_profile_and_settings_are_the_tests_to_choose(tmp_path: Path) -> None:
    names = FakeResolver({"here.example": "127.0.0.1"}, elsewhere=None)
    async with (
        Site({"/robots.txt": text("", 503), "/a": text("hello")}) as site,
        spaniel_for(site, resolver=names, robots={"fail_open": True}) as spaniel,
    ):
        answer = await spaniel.fetch(site.url("/a", host="here.example"))
        assert answer.note == "robots_unavailable_fail_open"
        with pytest.raises(SpanielError, match=r"there\.example"):
            await spaniel.fetch(site.url("/a", host="there.example"))
        settings = settings_for(site, cache=tmp_path, timeout_seconds=7)
    assert settings["tools.webfetch.timeout_seconds"] == 7
    assert settings["tools.webfetch.cache_dir"] == os.fspath(tmp_path)

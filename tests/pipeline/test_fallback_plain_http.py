"""Hosts without HTTPS: detected, reported, remembered. Portless URLs reach loopback through a proxy of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import from_data
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.http import Page
from spaniel.pipeline.fallbacks import FALLBACKS
from spaniel.pipeline.fetch import prepare
from spaniel.pipeline.outcome import Attempt
from spaniel.pipeline.request import Request, Trace
from spaniel.pipeline.retrieve import FetchedPage, PageHops
from spaniel.pipeline.task import Attempts
from spaniel.testing import FakeClock, FakeResolver, Reply, Site, redirect, text
from spaniel.url import parse
from tests.pipeline.fallback_profiles import RETRIES, left_out, profile_with, tried

FALLBACKS_IN_ORDER = ["http", "plain_http"]


class FetchOptions(Site):
    """A forward proxy for plain HTTP, which has the pages of all sites itself."""

    def reply(self, path: str) -> Reply | None:
        page = self.pages.get(path.removeprefix("http://127.0.0.1"))
        return page if isinstance(page, tuple) else None


@contextmanager
def closed_port() -> Iterator[int]:
    """A port without a listener, reserved for this test."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@asynccontextmanager
async def without_https(
    way: FetchOptions, cache: Path, monkeypatch: pytest.MonkeyPatch, clock: FakeClock | None = None
) -> AsyncIterator[Spaniel]:
    """HTTPS leads to a closed port, HTTP to the pages."""
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    webfetch = {
        "cache_dir": str(cache),
        "http": {"use_system_proxy": True},
        "security": {"block_loopback": False, "allow_insecure_overrides": True},
        "browser": {"enabled": False},
    }
    settings = from_data({"tools": {"webfetch": webfetch}}, "test")
    with closed_port() as port:
        monkeypatch.setenv("HTTP_PROXY", way.url("", "127.0.0.1"))
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        async with (
            Engine(settings, FakeResolver(), clock or FakeClock(datetime.now(UTC))) as engine,
            Spaniel(engine=engine, profile=profile_with(FALLBACKS_IN_ORDER)) as spaniel,
        ):
            yield spaniel


@pytest.mark.req("FG-13", "FG-36")
async def test_host_without_https_is_fetched_over_http_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FetchOptions({"/a": text("plain"), "/b": text("again")}) as way:
        async with without_https(way, tmp_path, monkeypatch) as spaniel:
            first = await spaniel.outcome("http://old.example/a")
            second = await spaniel.outcome("http://old.example/b")
        async with without_https(way, tmp_path, monkeypatch) as later:  # as another process would
            third = await later.outcome("HTTP://OLD.example/b?utm_source=x")
    assert first.canonical_url == "https://old.example/a"
    assert tried(first) == [("http", "network"), ("plain_http", "ok")]
    assert (first.final_url, first.caveats) == ("http://old.example/a", ("http_only_host",))
    assert first.require().page.served_by == "plain_http"
    for outcome in (second, third):
        assert outcome.canonical_url == outcome.final_url == "http://old.example/b"
        assert outcome.require().page.markdown == "again\n"
    assert (tried(second), third.cache_hit) == ([("http", "ok")], True)


@pytest.mark.req("FG-13")
async def test_what_came_over_http_is_for_nobody_who_asks_for_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from the cache nor by sharing the flight."""
    async with FetchOptions({"/a": text("plain")}) as way, without_https(way, tmp_path, monkeypatch) as spaniel:
        plain, secure = await asyncio.gather(*(spaniel.outcome(f"{scheme}://old.example/a") for scheme in SCHEMES))
        later = await spaniel.outcome("https://old.example/a")
    assert plain.require().page.markdown == "plain\n"
    for outcome in (secure, later):
        assert (outcome.found, tried(outcome)) == (None, [("http", "network")])


SCHEMES = ("http", "https")


@pytest.mark.req("FG-13")
async def test_after_a_week_the_host_is_asked_for_https_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    async with FetchOptions({"/a": text("plain")}) as way, without_https(way, tmp_path, monkeypatch, clock) as spaniel:
        await spaniel.outcome("http://old.example/a")
        clock.advance(7 * 86_400 - 1)
        assert (await spaniel.outcome("http://old.example/a")).canonical_url == "http://old.example/a"
        clock.advance(2)
        assert (await spaniel.outcome("http://old.example/a")).canonical_url == "https://old.example/a"


@pytest.mark.req("FG-13")
async def test_who_asked_for_https_gets_no_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FetchOptions({"/a": text("plain")}) as way, without_https(way, tmp_path, monkeypatch) as spaniel:
        outcome = await spaniel.outcome("https://old.example/a")
        bare = await spaniel.outcome("old.example/a")
    assert left_out(outcome) == left_out(bare) == {"plain_http": "the requested URL was not http"}
    assert way.requests.total() == 0


@pytest.mark.req("FG-13")
async def test_a_host_that_leads_back_to_https_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = {"/a": redirect("https://new.example/a"), "/b": redirect("http://new.example/c"), "/c": text("x")}
    async with FetchOptions({**pages}) as way, without_https(way, tmp_path, monkeypatch) as spaniel:
        outcome = await spaniel.outcome("http://new.example/a")
        assert tried(outcome) == [("http", "network"), ("plain_http", "network")]
        assert not spaniel._engine.services.door.hosts.is_http_only("new.example")
        assert (await spaniel.outcome("http://new.example/b")).require().page.markdown == "x\n"
        assert spaniel._engine.services.door.hosts.is_http_only("new.example")  # the control


@pytest.mark.req("FG-13")
@pytest.mark.parametrize(
    ("hops", "learnt"), [(("http", "https"), False), (("https", "http"), False), (("http",), True)]
)
async def test_a_host_whose_https_works_after_all_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hops: tuple[str, ...], learnt: bool
) -> None:
    """HTTPS that fails for a moment cannot be had on loopback without a port of its own: the answer is put in."""
    urls = [f"{scheme}://a.example/" for scheme in hops]

    async def found(*_: object) -> FetchedPage:
        return FetchedPage(Page(parse(urls[-1]), 200, "", {}, b""), tuple(urls[:-1]), ())

    monkeypatch.setattr("spaniel.pipeline.fallbacks.retrieve", found)
    settings = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
    async with Engine(settings, FakeResolver()) as engine:
        services = engine.services
        state = Attempts(prepare(Request("http://a.example/"), profile_with(FALLBACKS_IN_ORDER), services, Trace()))
        await FALLBACKS["plain_http"].fetch(state, services, Deadline(9), PageHops(state.task.url), {})
        assert services.door.hosts.is_http_only("a.example") is learnt


@pytest.mark.req("FG-13")
@pytest.mark.parametrize(
    ("error", "url", "why"),
    [
        (SpanielError(Code.NETWORK, error="x", cause="connect"), "", ""),
        (SpanielError(Code.NETWORK, error="x", cause="tls"), "", ""),
        (SpanielError(Code.NETWORK, error="x", cause="certificate"), "", ""),
        (SpanielError(Code.TIMEOUT, timeout_ms=1, phase="connect"), "", ""),
        (SpanielError(Code.TIMEOUT, timeout_ms=1, phase="body"), "", "HTTPS works on this host"),
        (SpanielError(Code.NETWORK, error="the body ended too early"), "", "HTTPS works on this host"),
        (SpanielError(Code.HTTP_5XX, status=503), "", "HTTPS works on this host"),
        (SpanielError(Code.DNS_FAILED, host="h", error="x"), "", "HTTPS works on this host"),
        (
            SpanielError(Code.NETWORK, error="x", cause="tls"),
            "https://elsewhere.example/",
            "HTTPS has not failed on this host",
        ),
    ],
    ids=str,
)
async def test_it_is_tried_only_where_no_connection_over_tls_came_about(
    tmp_path: Path, error: SpanielError, url: str, why: str
) -> None:
    settings = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
    async with Engine(settings, FakeResolver()) as engine:
        profile = profile_with(["http", *RETRIES, "plain_http"])
        task = prepare(Request("http://a.example/"), profile, engine.services, Trace())
        state = Attempts(task)
        assert FALLBACKS["plain_http"].skip_reason(state, engine.services) == "HTTPS has not failed on this host"
        state.attempts.append(Attempt("http", url or task.url.href, error, None, (), "", 1.0))
        assert FALLBACKS["plain_http"].skip_reason(state, engine.services) == why


@pytest.mark.req("FG-13")
@pytest.mark.parametrize(
    ("url", "upgraded"), [("http://a.example:80/", True), (" HTTP://a.example", True), ("https://a.example/", False)]
)
async def test_what_was_upgraded_is_known(tmp_path: Path, url: str, upgraded: bool) -> None:
    settings = from_data({"tools": {"webfetch": {"cache_dir": str(tmp_path)}}}, "test")
    async with Engine(settings, FakeResolver()) as engine:
        assert prepare(Request(url), profile_with(FALLBACKS_IN_ORDER), engine.services, Trace()).is_upgraded is upgraded

"""What is remembered of hosts: per origin, not by another site's redirect, and to be seen and forgotten."""

from __future__ import annotations

import asyncio
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.app.settings import from_data
from spaniel.testing import FakeClock, FakeResolver, Page, Site, redirect, text
from tests.programs import spaniel

BUSY = text("not now", 429, {"Retry-After": "86400"})
WAITS = "the host asked to be left alone; it was not asked again"


def engine_at(folder: Path, clock: FakeClock, *sites: Site) -> Engine:
    ports = [site.port for site in sites]
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": ports}
    webfetch = {"cache_dir": str(folder / "cache"), "security": security, "browser": {"enabled": False}}
    given = from_data({"tools": {"webfetch": webfetch}, "spaniel": {"archive": {"available": ""}}}, "test")
    return Engine(given, FakeResolver(), clock)


async def fetched(folder: Path, clock: FakeClock, urls: list[str], *sites: Site) -> list[str]:
    """How each fetch ended, one after the other in a process of their own: `ok`, a status, or `not asked`."""
    ends = []
    async with engine_at(folder, clock, *sites) as engine, Spaniel(engine=engine, profile="ingest") as client:
        for url in urls:
            refusal = (await client.outcome(url)).refusal
            details = refusal.details if refusal else {}
            asked = "not asked" if details.get("reason") == WAITS else str(details.get("status"))
            ends.append(asked if refusal else "ok")
    return ends


@pytest.mark.req("FG-22")
async def test_redirect_from_another_site_blocks_a_host_for_five_minutes_at_most(tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC))
    pages: dict[str, Page] = {"/trap": BUSY, "/page": text("here")}
    async with Site(pages) as victim, Site({}) as attacker:
        attacker.pages["/"] = redirect(victim.url("/trap", "victim.example"))
        attacker.pages["/robots.txt"] = text("")
        lure, page = attacker.url("/", "attacker.example"), victim.url("/page", "victim.example")
        assert await fetched(tmp_path, clock, [lure, page], victim, attacker) == ["429", "not asked"]
        clock.advance(301)
        assert await fetched(tmp_path, clock, [page], victim, attacker) == ["ok"]


@pytest.mark.req("FG-22")
async def test_hosts_own_retry_after_is_respected_in_full(tmp_path: Path) -> None:
    """The positive control; a redirect within the site is its own word."""
    clock = FakeClock(datetime.now(UTC))
    pages: dict[str, Page] = {"/trap": BUSY, "/page": text("here")}
    async with Site(pages) as site:
        site.pages["/"] = redirect(site.url("/trap", "www.victim.example"))
        start, page = site.url("/", "victim.example"), site.url("/page", "www.victim.example")
        assert await fetched(tmp_path, clock, [start], site) == ["429"]
        clock.advance(86_000)
        assert await fetched(tmp_path, clock, [page], site) == ["not asked"]
        clock.advance(401)
        assert await fetched(tmp_path, clock, [page], site) == ["ok"]


@pytest.mark.req("FG-22")
async def test_wait_belongs_to_one_port(tmp_path: Path) -> None:
    clock = FakeClock(datetime.now(UTC))
    async with Site({"/": BUSY}) as busy, Site({"/": text("here")}) as other:
        urls = [busy.url("/"), busy.url("/"), other.url("/")]
        assert await fetched(tmp_path, clock, urls, busy, other) == ["429", "not asked", "ok"]
        assert await fetched(tmp_path, clock, urls[1:], busy, other) == ["not asked", "ok"]


def config(folder: Path, *sites: Site) -> str:
    path = folder / "open.toml"
    ports = [site.port for site in sites] or [80]
    path.write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.security]\nallowed_ports = {ports}\n'
        'block_loopback = false\nallow_insecure_overrides = true\n[spaniel.archive]\navailable = ""\n'
    )
    return str(path)


async def command(*args: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(spaniel, *args)


@pytest.mark.req("FG-22")
async def test_remembered_hosts_are_listed_and_forgotten(tmp_path: Path) -> None:
    async with Site({"/": BUSY}) as one, Site({"/": BUSY}) as two:
        given = config(tmp_path, one, two)
        urls = [site.url("/", "127.0.0.1") for site in (one, two)]
        fetch = ("fetch", "-q", "--profile", "ingest", "--config", given)
        await command(*fetch, *urls)
        listed = await command("hosts", "ls", "--json", "--config", given)
        plain = await command("hosts", "ls", "--config", given)
        gone = await command("hosts", "forget", urls[0], "--config", given)
        left = await command("hosts", "ls", "--json", "--config", given)
        site_pages: dict[str, Page] = {"/": text("here")}
        one.pages, two.pages = site_pages, site_pages
        again = [await command(*fetch, url) for url in urls]
        rest = await command("hosts", "forget", "--all", "--json", "--config", given)
        none = await command("hosts", "ls", "--config", given)
    entries = [json.loads(line) for line in listed.stdout.splitlines()]
    assert sorted(entry["host"] for entry in entries) == sorted(url.removesuffix("/") for url in urls)
    assert {entry["status"] for entry in entries} == {429}
    assert all(entry["not_before"].endswith("Z") and entry["http_only_until"] is None for entry in entries)
    assert plain.stdout.count("asked us to wait (429)") == 2
    assert (gone.returncode, gone.stdout) == (0, "forgotten: 1\n")
    assert [json.loads(line)["host"] for line in left.stdout.splitlines()] == [urls[1].removesuffix("/")]
    assert [found.returncode for found in again] == [0, 5]
    assert [json.loads(line)["host"] for line in rest.stdout.splitlines()] == [urls[1].removesuffix("/")]
    assert (none.returncode, none.stdout) == (0, "")


@pytest.mark.req("FG-22")
def test_forgetting_needs_a_name_that_is_remembered(tmp_path: Path) -> None:
    given = config(tmp_path)
    unknown = spaniel("hosts", "forget", "www.example.com", "--config", given)
    assert (unknown.returncode, "nothing is remembered about www.example.com" in unknown.stderr) == (1, True)
    nothing = spaniel("hosts", "forget", "--config", given)
    assert (nothing.returncode, "name the hosts to forget" in nothing.stderr) == (2, True)
    assert spaniel("hosts", "forget", "--all", "--config", given).stdout == "forgotten: 0\n"
    assert not (tmp_path / "cache").exists()  # looking writes nothing

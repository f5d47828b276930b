"""Whole runs: workers are processes, pages come from a server on loopback."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import spaniel
from spaniel.app.batch_wiring import wiring
from spaniel.batch.local import BatchRun
from spaniel.batch.planning import InputShard
from spaniel.batch.supervisor import Pace, Processes
from spaniel.errors import SpanielError
from spaniel.hosts import GIVEN_UP
from spaniel.hosts.limits import HostLimits
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.testing import FakeResolver
from spaniel.testing.batching import open_fetcher
from tests.batch import crashing
from tests.batch.digests import digest
from tests.batch.harness import FAST, Served, batch, order, records, serving, settings, written


def by_ordinal(folder: Path) -> dict[int, dict[str, Any]]:
    return {record["ordinal"]: record for record in records(folder)}


@pytest.mark.req("FG-03")
def test_each_url_has_a_record_and_equal_ones_are_fetched_once(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [
            served.url("www.a.example", "/ok1"),
            served.url("www.b.example", "/gone"),
            served.url("WWW.A.EXAMPLE", "/ok1"),  # another spelling
            "mailto:nobody@example.com",
            served.url("www.a.example", "/ok1"),
            served.url("user:secret@www.c.example", "/ok2"),
            served.url("www.c.example", "/ok2"),
        ]
        progress, whole = batch(served, tmp_path, urls, Pace(2, 8, FAST))
        asked = [request.path for request in served.requests() if request.host == "www.a.example"]
    found = by_ordinal(tmp_path)
    assert whole
    assert asked == ["/robots.txt", "/ok1"]
    assert [found[n]["extraction"]["status"] for n in range(7)] == [200, 404, 200, None, 200, 200, 200]
    assert [found[n]["requested_url"] for n in (0, 2)] == [urls[0], urls[2]]
    assert found[0]["markdown"] == found[2]["markdown"] == found[4]["markdown"] != ""
    assert found[3]["error"]["code"] == "invalid_scheme"
    assert found[3]["canonical_url"] is None
    assert "secret" not in (tmp_path / "out.jsonl").read_text()
    warned = {n for n in found if "credentials_dropped" in found[n]["caveats"]}
    assert warned == {n for n in found if "credentials were removed from the URL" in found[n]["warnings"]} == {5}
    assert (progress.pages, dict(progress.failed)) == (5, {"http_4xx": 1, "invalid_scheme": 1})


def test_a_page_without_text_does_not_pass_for_a_page(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("www.a.example", "/ok"), served.url("www.a.example", "/shell")]
        progress, _ = batch(served, tmp_path, urls, Pace(1, 8, FAST))
    found = by_ordinal(tmp_path)
    assert (found[1]["markdown"], found[1]["caveats"], found[1]["error"]) == (None, ["no_text"], None)
    assert (progress.pages, dict(progress.failed)) == (1, {"no_text": 1})


def test_the_same_records_come_from_any_number_of_workers_and_from_shards(tmp_path: Path) -> None:
    digests = set()
    with serving(tmp_path) as served:
        paths = ["/ok", "/gone", f"/to?{served.url('www.site1.example', '/ok-there')}", "/ok?b=1"]
        urls = [served.url(f"www.site{n % 7}.example", f"{paths[n % 4]}{n}") for n in range(60)]
        for workers in (1, 3):
            folder = tmp_path / str(workers)
            folder.mkdir()
            batch(served, folder, urls, Pace(workers, 8, FAST))
            digests.add(digest(records(folder)))
        shards = []
        for place in range(3):
            folder = tmp_path / f"shard{place}"
            folder.mkdir()
            batch(served, folder, urls, Pace(1, 8, FAST), shard=InputShard(place, 3))
            shards += records(folder)
        assert sorted(record["ordinal"] for record in shards) == list(range(60))
        digests.add(digest(shards))
    assert len(digests) == 1


def test_a_host_that_is_dead_is_given_up_and_its_pages_say_so(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        dead = served._replace(port=1)  # nothing listens there
        urls = [dead.url("dead.example", f"/ok{n}") for n in range(40)]
        urls += [served.url(f"www.site{n % 3}.example", f"/ok{n}") for n in range(9)]
        patience = HostLimits(failures=3, pause=0.3)
        options = wiring(settings(served.port, tmp_path, security=_ports(served.port, 1)), "web_fetch")
        with BatchRun(str(tmp_path / "out.jsonl")) as run:
            run.begin(order(written(tmp_path, urls)))
            pace = Pace(1, 4, FAST, patience)
            progress, _ = run.fetch(Processes("spaniel.testing.batching:open_fetcher", options), pace)
    found = by_ordinal(tmp_path)
    assert progress.pages == 9
    errors = [found[n]["error"] for n in range(40)]
    assert {error["code"] for error in errors} == {"network"}
    not_tried = [error for error in errors if error["details"].get("cause") == GIVEN_UP]
    assert len(not_tried) == 40 - 4  # three failures, and one more try after the pause
    assert "not tried" in not_tried[0]["message"]


def _ports(*ports: int) -> dict[str, Any]:
    return {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": list(ports)}


def test_a_host_that_comes_back_within_its_pause_is_fetched() -> None:
    """The breaker is closed again by one answer; what fails during the pause began before it."""
    from spaniel.hosts.limits import Breaker

    breaker = Breaker(HostLimits(3, 30))
    assert [breaker.failed("a.example", 0, led=False) for _ in range(4)] == [None, None, 30, None]
    breaker.answered("a.example", led=False)
    assert [breaker.failed("a.example", 40, led=False) for _ in range(3)] == [None, None, 30]
    assert breaker.failed("a.example", 70, led=False) == float("inf")


def crashing_run(served: Served, folder: Path, urls: list[str], where: str = crashing.WHERE) -> tuple[Any, bool]:
    options = wiring(settings(served.port, folder), "web_fetch")
    with BatchRun(str(folder / "out.jsonl")) as run:
        run.begin(order(written(folder, urls)))
        return run.fetch(Processes(where, options), Pace(2, 8, FAST))


def test_a_worker_that_dies_is_replaced_and_only_the_page_that_killed_it_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.05) as served:
        urls = [served.url(f"www.site{n % 5}.example", f"/ok{n}") for n in range(40)]
        urls[13] = served.url("www.site3.example", "/kill")
        urls[14] = served.url("www.site4.example", "/bug")
        progress, whole = crashing_run(served, tmp_path, urls)
    found = by_ordinal(tmp_path)
    assert whole
    assert sorted(found) == list(range(40))
    assert progress.workers_lost == 2  # once with the others, once alone
    assert found[13]["error"]["code"] == "internal"
    assert "ended, twice" in found[13]["error"]["message"]
    assert "LookupError" in found[14]["error"]["message"]
    assert all(found[n]["extraction"]["status"] == 200 for n in range(40) if n not in (13, 14))


def test_workers_that_cannot_start_end_the_run_with_a_reason(tmp_path: Path) -> None:
    with serving(tmp_path) as served, pytest.raises(SpanielError, match="cannot be started"):
        crashing_run(served, tmp_path, [served.url("a.example", "/")], crashing.NOWHERE)


async def test_a_program_gets_records_as_they_come(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url(f"www.site{n % 3}.example", f"/ok{n}") for n in range(12)] + ["no url"]
        found: dict[int, Any] = {}
        given = settings(served.port, tmp_path)
        async for record in spaniel.batch(urls, settings=given, delay=0, fetcher=open_fetcher):
            found[int(str(record["ordinal"]))] = record
    assert sorted(found) == list(range(13))
    assert all(found[n]["extraction"]["status"] == 200 for n in range(12))
    assert found[12]["error"]["code"] == "invalid_url"


async def test_a_program_that_stops_reading_stops_the_run(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("www.site.example", f"/ok{n}") for n in range(200)]
        given = settings(served.port, tmp_path)
        async with aclosing(spaniel.batch(urls, settings=given, delay=0.01, fetcher=open_fetcher)) as stream:
            async for _ in stream:
                break
        asked = len(served.requests())
        await asyncio.sleep(0.3)
        assert len(served.requests()) <= asked + 1
        assert asked < 200
    assert len(asyncio.all_tasks()) == 1


async def test_names_are_looked_up_once_in_a_while(tmp_path: Path) -> None:
    from spaniel.app import batching

    resolver = FakeResolver()
    with serving(tmp_path) as served:
        urls = [served.url(f"www.site{n % 2}.example", f"/ok{n}") for n in range(20)]
        stream = spaniel.batch(
            urls,
            settings=settings(served.port, tmp_path),
            delay=0,
            fetcher=lambda options, hosts: batching.open_fetcher(options, hosts, resolver),
        )
        assert len([record async for record in stream]) == 20
    assert sorted(resolver.asked) == ["www.site0.example", "www.site1.example"]


def test_a_slow_host_does_not_stall_the_rest(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("slow.example", f"/slow{n}") for n in range(3)]
        urls += [served.url(f"www.site{n % 10}.example", f"/ok{n}") for n in range(40)]
        batch(served, tmp_path, urls, Pace(1, 2, HostRules(HostRule(1, 0.0))))
        others = max(request.gone for request in served.requests() if request.host != "slow.example")
        slow = max(request.gone for request in served.requests() if request.host == "slow.example")
    assert others < slow


def test_a_limit_takes_the_first(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("www.site.example", f"/ok{n}") for n in range(9)]
        batch(served, tmp_path, urls, Pace(1, 8, FAST), limit=4)
    assert sorted(by_ordinal(tmp_path)) == [0, 1, 2, 3]


def test_a_bug_in_the_supervisor_ends_the_run_and_does_not_hang_it(tmp_path: Path, monkeypatch: Any) -> None:
    def broken(*_: object) -> None:
        raise LookupError("a bug of ours")

    monkeypatch.setattr("spaniel.batch.supervisor.Supervisor._status", broken)
    with serving(tmp_path) as served, pytest.raises(SpanielError, match="a bug of ours"):
        batch(served, tmp_path, [served.url("www.a.example", "/ok")], Pace(1, 4, FAST))


@pytest.mark.parametrize(
    ("urls", "jobs", "message"),
    [
        ("https://a.example/", 1, "urls: is a single text"),
        ([b"https://a.example/"], 1, "urls\\[0\\]: is of type bytes"),
        (["https://a.example/"], 0, "jobs: must be 1 to 512"),
    ],
)
async def test_call_with_bad_arguments_is_refused(urls: Any, jobs: int, message: str) -> None:
    """Letter by letter, a URL would be as many pages that fail; and without places a run would never end."""
    async with asyncio.timeout(30):
        with pytest.raises(SpanielError, match=message):
            _ = [record async for record in spaniel.batch(urls, jobs=jobs)]

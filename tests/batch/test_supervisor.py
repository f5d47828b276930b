"""Workers that die, hosts of other workers, hosts that are spread over workers: from the log of a server."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from spaniel.app.batch_wiring import wiring
from spaniel.batch.local import BatchRun
from spaniel.batch.planning import shard_of, shards_for
from spaniel.batch.progress import Progress
from spaniel.batch.supervisor import Pace, Processes, Supervisor
from spaniel.batch.worker import ForeignHosts, Lender, RunHosts, close_writer
from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError
from spaniel.hosts import Hosts
from spaniel.hosts.limits import HostLimits
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.runs.parts import Collector, PartWriter
from spaniel.testing.batching import WHERE
from tests.batch.harness import FAST, Served, order, records, serving, settings, written
from tests.batch.test_politely import gaps

BRIEF = {"owned": [0], "shard_count": 1, "workers": 2, "is_spread": False}
BRIEF |= {"rules": ((1, 0.0), {}), "limits": tuple(HostLimits())}


def run(served: Served, folder: Path, urls: list[str], pace: Pace, workers: Any = None, **more: Any) -> Any:
    with BatchRun(str(folder / "out.jsonl")) as batch:
        batch.begin(order(written(folder, urls), **more))
        options = wiring(settings(served.port, folder), "web_fetch")
        return batch.fetch(workers or Processes(WHERE, options), pace)


def overlapping(served: Served, host: str) -> int:
    """The most requests that were under way at a host at one time."""
    moments = [(each.came, 1) for each in served.by_host()[host]] + [(each.gone, -1) for each in served.by_host()[host]]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


class Killed(Processes):
    """Workers of which one is killed when some pages have been asked for."""

    def kill(self, served: Served, after: int) -> None:
        while len(served.requests()) < after:
            time.sleep(0.01)
        process = self._processes[0]
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.req("FG-28")
def test_worker_that_is_killed_costs_no_record_and_no_lease(tmp_path: Path) -> None:
    """All pages redirect to one host, which the killed worker or another one owns."""
    with serving(tmp_path, pause=0.01) as served:
        target = served.url("www.shared.example", "/ok-target")
        urls = [served.url(f"www.site{n % 12}.example", f"/to?{target}{n}") for n in range(60)]
        workers = Killed(WHERE, wiring(settings(served.port, tmp_path), "web_fetch"))
        threading.Thread(target=workers.kill, args=(served, 40), daemon=True).start()
        progress, whole = run(served, tmp_path, urls, Pace(3, 16, FAST), workers)
    assert (whole, progress.workers_lost) == (True, 1)
    found = records(tmp_path)
    assert sorted(record["ordinal"] for record in found) == list(range(60))
    assert [record["extraction"]["status"] for record in found] == [200] * 60


def test_one_site_without_delays_is_fetched_by_all_workers(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.02) as served:
        urls = [served.url("www.site.example", f"/ok{n}") for n in range(80)]
        _, whole = run(served, tmp_path, urls, Pace(2, 16, HostRules(HostRule(4, 0.0))), is_spread=True)
        assert whole
        assert overlapping(served, "www.site.example") in (3, 4)  # as many as may be, and not more
        asked = Counter(request.path for request in served.requests())
    assert asked.pop("/robots.txt") <= 2  # each worker may read it
    assert sorted(asked.values()) == [1] * 80
    assert sorted(record["ordinal"] for record in records(tmp_path)) == list(range(80))


@pytest.mark.req("FG-28")
@pytest.mark.parametrize("host", ["www.site.example", "slow-robots.example"])
def test_host_in_several_shards_is_asked_politely_all_the_same(tmp_path: Path, host: str) -> None:
    """The plan was made without delays; the run has them, or robots.txt asks for them."""
    slow = host.startswith("slow")
    with serving(tmp_path) as served:
        urls = [served.url(host, f"/ok{n}") for n in range(5 if slow else 12)]
        rules = HostRules(HostRule(8, 0.0) if slow else HostRule(1, 0.2))
        _, whole = run(served, tmp_path, urls, Pace(2, 16, rules), is_spread=True)
        assert whole
        requests = [each for each in served.by_host()[host] if each.path != "/robots.txt"]
        if slow:  # what had begun before it was known does not count
            assert requests[-1].came - requests[0].came > 2.5
        else:
            assert not gaps(served, 0.2)
    assert sorted(record["ordinal"] for record in records(tmp_path)) == list(range(len(urls)))


async def test_lease_that_is_not_waited_for_any_more_is_given_back() -> None:
    import asyncio

    said: list[tuple[Any, ...]] = []
    hosts = Hosts(SystemClock(), rules=HostRules(HostRule(1, 0.0)), limits=HostLimits())
    lender = Lender(hosts, lambda *each: said.append(each))
    lender.take(1, 1, "a.example", False)
    lender.take(1, 2, "a.example", False)
    lender.take(2, 1, "a.example", True)
    await asyncio.sleep(0.01)
    assert said == [("granted", 1, 1)]
    lender.release(1, 2, False)  # its worker has died, or the fetch was cancelled
    lender.release(1, 1, True)
    await asyncio.sleep(0.01)
    assert said == [("granted", 1, 1), ("granted", 2, 1)]
    hosts.give_up("a.example", SpanielError(Code.NETWORK, host="a.example", error="dead"))
    lender.take(1, 3, "a.example", False)
    await asyncio.sleep(0.01)
    assert said[-1][:4] == ("denied", 1, 3, "network")
    await lender.close()


async def test_host_that_its_owner_has_given_up_is_refused() -> None:
    import asyncio

    said: list[tuple[Any, ...]] = []
    leases = ForeignHosts(lambda *each: said.append(each), lambda _: False)
    taking = asyncio.create_task(leases.take("a.example", led=True))
    await asyncio.sleep(0)
    leases.denied(1, "network", {"host": "a.example", "error": "dead"})
    with pytest.raises(SpanielError, match="dead"):
        await taking
    given_up = asyncio.create_task(leases.take("a.example", led=True))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    assert said == [("take", 1, "a.example", True), ("take", 2, "a.example", True), ("release", 2, False)]


@pytest.mark.req("FG-22")
def test_host_of_another_worker_that_asks_to_wait_is_waited_for(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        targets = [served.url(f"www.shared{n % 4}.example", f"/busy{n}") for n in range(8)]
        urls = [served.url(f"www.site{n}.example", f"/to?{target}") for n, target in enumerate(targets)]
        progress, whole = run(served, tmp_path, urls, Pace(3, 8, FAST))
        assert (whole, progress.workers_lost) == (True, 0)
        for host in (f"www.shared{n}.example" for n in range(4)):
            asked = served.by_host()[host]
            first = next(number for number, request in enumerate(asked) if request.path.startswith("/busy"))
            assert asked[first + 1].came - asked[first].gone >= 0.9  # Retry-After: 1, in whole seconds
    assert [record["extraction"]["status"] for record in records(tmp_path)] == [200] * 8


@pytest.mark.req("FG-46")
async def test_answers_to_other_workers_count_before_a_host_is_given_up() -> None:
    """Failures that redirects of other workers met count in a row, and an answer between them begins anew."""
    import asyncio

    hosts = RunHosts(BRIEF, lambda *_: None, SystemClock())
    for _ in range(4):
        for _ in range(4):
            hosts.learn("unanswered", ["https://a.example", "network"])
        hosts.lender.take(1, 1, "a.example", True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        hosts.lender.release(1, 1, True)
        await asyncio.sleep(0.01)
    assert hosts.given_up("a.example", led=True) is None
    assert hosts.ready_at("a.example") <= SystemClock().monotonic()


class FakeWorkers:
    """Workers that only listen."""

    is_remote = False

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    async def start(self, count: int, hear: Any, brief: Any) -> None: ...

    def send(self, worker: int, word: str, *values: Any) -> None:
        self.sent.append((worker, word, *values))

    async def close(self) -> None: ...


@pytest.mark.req("FG-28")
async def test_shard_is_assigned_when_no_turn_at_its_hosts_is_out(tmp_path: Path) -> None:
    """The turn is the supervisor's; what was learnt there goes to the new owner, and so do those that wait."""
    import asyncio

    workers = FakeWorkers()
    progress = Progress(0, {}, SystemClock().monotonic)
    pace = Pace(2, 8, HostRules(HostRule(1, 5.0)))
    supervisor = Supervisor(
        str(tmp_path), dict.fromkeys(range(4), 2000), 4, workers, Collector(str(tmp_path), {}), progress, pace, {}
    )
    hear = supervisor._receive
    host = next(f"www.site{n}.example" for n in range(99) if shard_of(f"www.site{n}.example", 4) == 0)
    hear(1, "take", 1, host, True)
    hear(1, "take", 2, host, True)
    await asyncio.sleep(0.01)
    assert workers.sent == [(1, "granted", 1)]
    hear(0, "want")
    hear(1, "want")
    await asyncio.sleep(0.01)
    assert workers.sent[1:] == [(1, "assign", [1], {}, [])]  # the other one waits for the turn
    hear(1, "release", 1, True)
    await asyncio.sleep(0.01)
    (_, word, shards, _, hosts), again = workers.sent[2:]
    assert (word, shards, [state.host for state in hosts]) == ("assign", [0], [host])
    assert -1 < hosts[0].ended <= 0
    assert again == (0, "take", 1, 2, host, True)
    hear(1, "take", 3, host, False)
    assert workers.sent[-1] == (0, "take", 1, 3, host, False) or not supervisor._members[0].is_ready
    for _ in range(2):
        hear(0, "want")
    hear(0, "want")
    assert workers.sent[-1] == (0, "no_more")


@pytest.mark.req("FG-28")
def test_run_planned_for_one_worker_is_resumed_with_three(tmp_path: Path) -> None:
    """The shards are divided anew; all three fetch, and hosts are asked as politely as before."""
    delay = 0.1
    with serving(tmp_path, pause=0.01) as served:
        target = served.url("www.shared.example", "/ok-target")
        urls = [served.url(f"www.site{n % 24}.example", f"/ok{n}") for n in range(96)]
        urls += [served.url(f"www.site{n % 24}.example", f"/to?{target}{n}") for n in range(24)]
        with BatchRun(str(tmp_path / "out.jsonl")) as batch:
            batch.begin(order(written(tmp_path, urls), shards=shards_for(1)))
        workers = Processes(WHERE, wiring(settings(served.port, tmp_path), "web_fetch"))
        with BatchRun(str(tmp_path / "out.jsonl")) as batch:
            batch.resume(order(written(tmp_path, urls)))
            seen: list[Any] = []

            @contextmanager
            def watch(supervisor: Supervisor, _: Progress) -> Iterator[None]:
                yield
                seen.extend(supervisor._given)

            _, whole = batch.fetch(workers, Pace(3, 16, HostRules(HostRule(1, delay))), watch)
        assert whole
        assert all(seen)
        assigned = [shard for shards in seen for shard in shards]
        assert len(set(assigned)) == len(assigned) > 3
        assert not gaps(served, delay)
    assert sorted(record["ordinal"] for record in records(tmp_path)) == list(range(120))


async def test_writer_is_closed_to_the_end_though_the_task_is_cancelled() -> None:
    """Else a worker that ends with its supervisor would unlock shards that are still written."""
    closing, may_end = threading.Event(), threading.Event()
    ended: list[bool] = []

    class SlowWriter:
        def close(self) -> None:
            closing.set()
            ended.append(may_end.wait(30))

    task = asyncio.create_task(close_writer(cast("PartWriter", SlowWriter())))
    await asyncio.to_thread(closing.wait)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]

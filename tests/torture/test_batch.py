"""The long forms of tests in tests/batch: kills, digests, politeness under load."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from spaniel.batch.supervisor import Pace
from spaniel.hosts.rules import HostRule, HostRules
from tests.batch.harness import batch, serving
from tests.batch.test_kills import torture
from tests.batch.test_politely import gaps
from tests.batch.test_ray import compared, require_the_same

pytestmark = pytest.mark.torture
DELAY = 0.2  # seconds
MB = 1 << 20


@pytest.mark.timeout(7200)
def test_five_hundred_kills_lose_nothing_and_write_nothing_twice(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=500), "of them in the midst of writing")


@pytest.mark.timeout(7200)
def test_a_thousand_kills_of_workers_and_supervisors(tmp_path: Path) -> None:
    print(torture(tmp_path, kills=1000, workers=2), "of them in the midst of writing")


@pytest.mark.timeout(7200)
def test_five_thousand_urls_have_the_same_records_in_every_mode() -> None:
    ways = ["local-1", "local-2", "local-4", "shards-3", "ray-2", "rayparts-2", "raydriver-2"]
    require_the_same(compared(5000, ways, 7000))


@pytest.mark.timeout(7200)
def test_hundred_thousand_urls_over_a_thousand_hosts(tmp_path: Path) -> None:
    load(tmp_path, 100_000, 1000)


def load(folder: Path, count: int, hosts: int) -> None:
    """No two requests to a host overlap or come too early, and memory stays flat. A tenth of the URLs redirect to
    hosts of which most belong to another worker."""
    with serving(folder) as served, weighed() as weights:

        def url(n: int) -> str:
            host, path = f"www.site{n % hosts}.example", f"/ok{n}"
            if n % 10 == 9:
                path = "/to?" + served.url(f"www.site{n * 7919 % (hosts // 4)}.example", f"/ok-led{n}")
            return served.url(host, path)

        pace = Pace(2, 64, HostRules(HostRule(1, DELAY)))
        progress, whole = batch(served, folder, [url(n) for n in range(count)], pace)
        requests = served.by_host()
        early = gaps(served, DELAY)
    middle = len(weights) // 2
    earlier, later = max(weights[middle // 4 : middle]), max(weights[middle:])
    print(f"memory of the workers: {earlier / MB:.0f} MB in the first half, {later / MB:.0f} MB in the second")
    assert whole
    assert progress.pages == count
    assert len(requests) == hosts
    asked = sum(map(len, requests.values()))
    paused = sum(later.came - one.gone < 2 * DELAY for each in requests.values() for one, later in pairwise(each))
    print(f"{asked:,} requests to {hosts:,} hosts in {progress.seconds:.0f} s; {paused:,} after less than two pauses")
    assert asked >= count + count // 10 + hosts  # pages, redirects, robots.txt; a busy machine makes some come twice
    assert paused > count // 100  # or the hosts were asked so seldom that this proves nothing
    assert not early
    assert (folder / "out.jsonl").read_bytes().count(b"\n") == count
    assert later < earlier * 1.1 + 10 * MB


@contextmanager
def weighed() -> Iterator[list[int]]:
    """The memory of the workers that this process has started, once a second, while there are two."""
    found: list[int] = []
    ended = threading.Event()

    def weigh() -> None:
        while not ended.wait(1):
            workers = [pid for pid in children() if b"spaniel.batch.worker" in read(pid, "cmdline")]
            if len(workers) == 2:
                found.append(sum(resident(pid) for pid in workers))

    thread = threading.Thread(target=weigh)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def children() -> list[str]:
    return [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def read(pid: str, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""


def resident(pid: str) -> int:
    fields = read(pid, "statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0

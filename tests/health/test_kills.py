"""A check that is killed at any moment and resumed: no result is lost, none that was reported is requested again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from spaniel.clock import SystemClock
from spaniel.health.history import History, HostReach
from spaniel.health.links import Checked, Link
from spaniel.health.run import CheckResult, Run, RunOptions, limits_of_checks
from spaniel.health.store import open_store
from spaniel.hosts import Hosts
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.verdicts import Evidence, Past, Verdict

HOSTS, EACH = 40, 50
LINKS = [f"http://{number % HOSTS}.example/{number}" for number in range(HOSTS * EACH)]


class Instant:
    """Answers at once, and writes down what was requested."""

    def __init__(self, log: int) -> None:
        self._log = log

    async def check(self, link: Link, past: Past, attempts: int) -> CheckResult:
        os.write(self._log, f"{link.url}\n".encode())
        await asyncio.sleep(0)
        verdict = Verdict.FAILING if link.url.endswith("7") else Verdict.OK
        return CheckResult(Checked(link, verdict, evidence=Evidence("GET", 200, attempts=1)), HostReach.ANSWER)


async def check_all(folder: Path, part: int) -> None:
    """A run, resumed if there is one; requests and reported links go to files of this part."""
    log, out = (
        os.open(folder / f"{name}-{part}", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("requested", "reported")
    )
    history = History(str(folder / "state"))
    store = open_store(lambda url: (url, url.split("/")[2]), history, "links", resume=True)
    store.take(map(Link, LINKS))
    (folder / f"remarks-{part}").write_text("".join(store.remarks))
    clock = SystemClock()
    hosts = Hosts(clock, rules=HostRules(HostRule(2, 0.0)), limits=limits_of_checks(120.0))
    run = Run(store, Instant(log), hosts, clock, RunOptions(at_once=16))
    async for checked in run.results():
        os.write(out, f"{checked.link.url} {checked.verdict}\n".encode())
    store.close()
    history.close()
    assert store.trouble == ""


def run_part(folder: Path, part: int, seconds: float) -> bool:
    """Whether it was killed: after so many seconds, if it has not finished before."""
    process = os.fork()
    if not process:
        try:
            asyncio.run(check_all(folder, part))
            os._exit(0)
        except BaseException as error:  # noqa: BLE001
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (ended := os.waitpid(process, os.WNOHANG))[0]:
            assert ended[1] == 0
            return False
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def lines(file: Path) -> list[str]:
    """Whole lines of a file."""
    return file.read_text().split("\n")[:-1] if file.exists() else []


def kill_and_resume(folder: Path, kills: int, seed: int) -> tuple[int, int, int]:
    """As often as that: how many runs finished meanwhile, links that were lost, links that were requested or reported
    twice."""
    chance = random.Random(seed)
    done = lost = twice = part = 0
    reported: set[str] = set()  # in this run, before it was killed last
    while kills > 0 or reported:
        part += 1
        seconds = chance.uniform(0.0, 1.0) if kills > 0 else 600.0
        was_killed = run_part(folder, part, seconds)
        kills -= was_killed
        remarks = folder / f"remarks-{part}"
        remark = remarks.read_text() if remarks.exists() else ""  # empty: killed before it was written
        if reported and remark and not remark.startswith("resuming"):
            lost += len(set(LINKS) - reported)  # it was killed after it had finished, and another one began
            done += 1
            reported = set()
        written = [line.split(" ")[0] for line in lines(folder / f"reported-{part}")]
        twice += sum(count - 1 for count in Counter(written).values())
        twice += len(reported & set(lines(folder / f"requested-{part}")))
        if was_killed:
            reported |= set(written)
            continue
        lost += len(set(LINKS) - set(written))
        done += 1
        reported = set()
        history = History(str(folder / "state"))
        observations = Counter({url: sum(row.checks for row in history.of(url)) for url in LINKS})
        lost += sum(count < done for count in observations.values())
        twice += sum(count > done for count in observations.values())
        history.close()
    return done, lost, twice


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_a_check_loses_nothing_and_requests_nothing_twice(tmp_path: Path) -> None:
    _, lost, twice = kill_and_resume(tmp_path, kills=8, seed=1)
    assert (lost, twice) == (0, 0)

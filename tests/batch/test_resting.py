"""Fallbacks that wait: a fetch that waits before a retry blocks neither its place nor its host."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from spaniel.app.batch_wiring import wiring
from spaniel.batch.local import BatchRun
from spaniel.batch.supervisor import Pace, Processes
from spaniel.hosts.limits import HostLimits
from spaniel.testing.batching import WHERE
from tests import programs
from tests.batch.command import command, environment
from tests.batch.harness import FAST, Served, order, records, serving, settings, written

FALLBACKS = '[[fallbacks]]\nname = "http"\n[[fallbacks]]\nname = "retry"\nafter_seconds = {}\n'


def profile(folder: Path, seconds: int) -> str:
    path = folder / "patient.toml"
    limits = "[limits]\ntotal_seconds = 300\nmax_wait_seconds = 100\n"
    path.write_text(f'name = "patient"\nversion = "1"\n{limits}{FALLBACKS.format(seconds)}')
    return str(path)


def run(served: Served, folder: Path, urls: list[str], jobs: int, seconds: int) -> Any:
    with BatchRun(str(folder / "out.jsonl")) as batch:
        batch.begin(order(written(folder, urls)))
        options = wiring(settings(served.port, folder), profile(folder, seconds))
        return batch.fetch(Processes(WHERE, options), Pace(1, jobs, FAST))


def test_others_are_fetched_while_a_page_waits_to_be_asked_for_again(tmp_path: Path) -> None:
    """There is one place, and one request at a time at the host: both are free while the page waits."""
    with serving(tmp_path) as served:
        urls = [served.url("www.a.example", path) for path in ("/fail", "/ok1", "/ok2", "/ok3")]
        urls += [served.url("www.b.example", "/ok1")]
        progress, whole = run(served, tmp_path, urls, jobs=1, seconds=4)
        asked = [(request.host, request.path) for request in sorted(served.requests(), key=lambda each: each.came)]
    failed = [number for number, (_, path) in enumerate(asked) if path == "/fail"]
    between = {host for host, path in asked[failed[0] : failed[-1]] if path.startswith("/ok")}
    assert (whole, len(failed)) == (True, 2)
    assert between == {"www.a.example", "www.b.example"}
    assert (progress.pages, dict(progress.failed)) == (4, {"http_5xx": 1})
    (tried,) = (record["fallbacks"] for record in records(tmp_path) if record["error"])
    assert [fallback["fallback"] for fallback in tried if fallback["url"]] == ["http", "retry"]
    assert tried[1]["waited"] >= 4


def test_all_that_rest_go_on_though_they_are_more_than_there_are_places(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("spaniel.hosts.scheduler.MOST_RESTING", 2)
    with serving(tmp_path) as served:
        urls = [served.url(f"www.site{n}.example", "/fail") for n in range(8)]
        progress, whole = run(served, tmp_path, urls, jobs=1, seconds=1)
        asked = [request.host for request in served.requests() if request.path == "/fail"]
    assert (whole, progress.records) == (True, 8)
    assert sorted(asked) == sorted([url.split("/")[2].split(":")[0] for url in urls] * 2)


def test_a_host_that_is_not_reached_is_given_up_by_its_attempts(tmp_path: Path) -> None:
    """So many in a row, whether they are of one page or of several, and one more after the pause."""
    with serving(tmp_path) as served:
        dead = served._replace(port=1)  # nothing listens there
        urls = [dead.url("dead.example", f"/ok{n}") for n in range(20)]
        with BatchRun(str(tmp_path / "out.jsonl")) as batch:
            batch.begin(order(written(tmp_path, urls)))
            security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [1]}
            options = wiring(settings(served.port, tmp_path, security=security), profile(tmp_path, 1))
            pace = Pace(1, 4, FAST, HostLimits(failures=3, pause=0.3))
            progress, whole = batch.fetch(Processes(WHERE, options), pace)
    tried = [record for record in records(tmp_path) if record["fallbacks"]]
    assert (whole, progress.records) == (True, 20)
    assert 0 < len(tried) <= 4


def test_a_run_that_is_stopped_does_not_wait_for_those_who_rest(tmp_path: Path) -> None:
    seconds = 80
    with serving(tmp_path) as served:
        written(tmp_path, [served.url("127.0.0.1", "/fail")])
        line = [*command(served, tmp_path), "--profile", profile(tmp_path, seconds)]
        with programs.Popen(line, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as batch:
            while not any(request.path == "/fail" for request in served.requests()):
                assert batch.poll() is None
                time.sleep(0.05)
            time.sleep(1)
            batch.send_signal(signal.SIGINT)
            _, stderr = batch.communicate(timeout=seconds / 2)
    assert batch.returncode == 130, stderr
    assert "0 of 1 URLs" in stderr

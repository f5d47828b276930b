"""The same URLs by one process and several, in shards, and by a Ray cluster whose actor or driver is killed midway.

`python -m tests.batch.digest_scenario COUNT WAY…`, run by tests/batch/test_ray.py in a network of its own, and with its
own processes: Ray listens at the machine's address, and whom to kill is looked for among all of them. Prints what came
of each way, as JSON. Ways are `local-N`, `shards-N`, `ray-N`, `rayparts-N` and `raydriver-N`, with N workers or shards.
In `rayparts`, actors write the records; in `raydriver`, the driver is killed and the run resumed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from spaniel.app.batch_wiring import wiring
from spaniel.batch.local import BatchRun
from spaniel.batch.outputs.merge import merge, merge_captures
from spaniel.batch.planning import WHOLE, InputShard
from spaniel.batch.progress import Progress
from spaniel.batch.ray_workers import RayWorkers
from spaniel.batch.supervisor import Pace, Processes, Workers
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.testing.batching import WHERE
from tests.batch.digests import captures_digest, digest
from tests.batch.harness import FAST, Served, order, records, serving, settings, written
from tests.batch.test_parts import found_in
from tests.net.namespace_scenario import raise_loopback

HOSTS = 40
SLOW = HostRules(HostRule(1, 1.0))  # a run that can be interrupted
PARTS, DRIVER, DRIVE = "rayparts", "raydriver", "drive"


def urls_at(served: Served, count: int) -> list[str]:
    there = served.url("www.site1.example", "/ok-there")
    paths = ["/ok", "/gone", f"/to?{there}", "/shell", "/cookies", "/ok?b=1&n="]
    return [served.url(f"www.site{n % HOSTS}.example", f"{paths[n % len(paths)]}{n}") for n in range(count)]


def main(count: int, ways: list[str]) -> None:
    raise_loopback()
    results = {}
    with tempfile.TemporaryDirectory() as name, serving(Path(name), pause=0.005) as served:
        urls = urls_at(served, count)
        for way in ways:
            folder = Path(name) / way
            folder.mkdir()
            began = time.monotonic()
            lost = fetched(way, served, folder, urls)
            found = found_in(folder) if way.startswith(PARTS) else records(folder)
            assert sorted(record["ordinal"] for record in found) == list(range(count))
            results[way] = {
                "records": digest(found),
                "captures": None if way.startswith(PARTS) else captures_digest(folder / "out.jsonl.warc.gz"),
                "lost": lost,
                "seconds": round(time.monotonic() - began, 1),
            }
    print(json.dumps(results))


def fetched(way: str, served: Served, folder: Path, urls: list[str]) -> int:
    """How many workers were lost."""
    kind, _, number = way.partition("-")
    if kind == DRIVER:
        return resumed(int(number), served, folder, urls)
    if kind != "shards":
        return run(kind, int(number), served, folder, urls)
    outs = []
    for place in range(int(number)):
        inner = folder / str(place)
        inner.mkdir()
        run("local", 1, served, inner, urls, InputShard(place, int(number)))
        outs.append(str(inner / "out.jsonl"))
    merge(outs, str(folder / "out.jsonl"))
    merge_captures(outs, str(folder / "out.jsonl"))
    return 0


def run(kind: str, workers: int, served: Served, folder: Path, urls: list[str], shard: InputShard = WHOLE) -> int:
    parts = str(folder / "parts") if kind == PARTS else ""
    options = wiring(settings(served.port, folder), "web_fetch", captures=not parts)
    crew: Workers = Processes(WHERE, options) if kind == "local" else RayWorkers(WHERE, options)
    if kind != "local":
        threading.Thread(target=kill_one, args=(served, len(served.requests()), len(urls)), daemon=True).start()
    with BatchRun(str(folder / "out.jsonl")) as batch:
        batch.begin(order(written(folder, urls), shard=shard, warc="" if parts else "a test", parts=parts))
        progress, whole = batch.fetch(crew, Pace(workers, 16, FAST))
    assert whole
    return progress.workers_lost


def resumed(workers: int, served: Served, folder: Path, urls: list[str]) -> int:
    """A run whose driver is killed, and another one that resumes it."""
    written(folder, urls)
    out = folder / "out.jsonl"
    line = [sys.executable, "-W", "ignore", "-m", "tests.batch.digest_scenario", DRIVE, str(folder)]
    with subprocess.Popen([*line, str(served.port), str(workers)]) as driver:
        while not (out.exists() and out.stat().st_size):
            assert driver.poll() is None
            time.sleep(0.05)
        driver.kill()
    progress = drive(folder, served.port, workers)
    assert 0 < progress.before < len(urls)  # it has continued, and had to
    return 1


def drive(folder: Path, port: int, workers: int) -> Progress:
    crew = RayWorkers(WHERE, wiring(settings(port, folder), "web_fetch", captures=True))
    with BatchRun(str(folder / "out.jsonl")) as batch:
        batch.resume(order(folder / "urls.txt", warc="a test"))
        progress, whole = batch.fetch(crew, Pace(workers, 16, SLOW))
    assert whole
    return progress


def kill_one(served: Served, before: int, count: int) -> None:
    """The process of an actor, once a third of the pages has been asked for."""
    while served.log.read_bytes().count(b"\n") < before + count // 3:
        time.sleep(0.05)
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        if process.read_bytes().startswith(b"ray::WorkerActor"):
            os.kill(int(process.parent.name), signal.SIGKILL)
            return


if __name__ == "__main__":
    if sys.argv[1] == DRIVE:
        drive(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        main(int(sys.argv[1]), sys.argv[2:])

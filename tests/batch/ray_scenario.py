"""The same URLs by processes and by actors of a Ray cluster, one of which is killed midway: the same records.

It needs `ray`, and a network of its own, since Ray listens at the machine's address:
`unshare -rn sh -c 'ip link set lo up && python -m tests.batch.ray_scenario 500'`
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from spaniel.app.batching import wiring
from spaniel.batch.coordinator import Pace
from spaniel.batch.crew import Crew, Processes
from spaniel.batch.local import Run
from spaniel.batch.ray_crew import RayCrew
from spaniel.testing.batching import WHERE
from tests.batch.harness import FAST, Served, order, records, serving, settings, written
from tests.batch.test_runs import digest


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name, serving(Path(name), pause=0.02) as served:
        urls = [served.url(f"www.site{n % 40}.example", f"/{('ok', 'gone')[n % 9 == 8]}{n}") for n in range(count)]
        found = {}
        for who in ("processes", "actors"):
            folder = Path(name) / who
            folder.mkdir()
            found[who] = fetched(who, served, folder, urls)
        print(found)
        assert len(set(found.values())) == 1


def fetched(who: str, served: Served, folder: Path, urls: list[str]) -> str:
    told = wiring(settings(served.port, folder), "web_fetch")
    crew: Crew = Processes(2, WHERE, told) if who == "processes" else RayCrew(2, WHERE, told)
    if who == "actors":
        threading.Thread(target=kill_one, args=(folder / "out.jsonl",), daemon=True).start()
    began = time.monotonic()
    with Run(str(folder / "out.jsonl")) as run:
        run.begin(order(written(folder, urls)))
        progress, whole = run.fetch(crew, Pace(2, 16, FAST))
    assert whole
    assert sorted(record["ordinal"] for record in records(folder)) == list(range(len(urls)))
    print(who, progress.as_dict(), f"{time.monotonic() - began:.1f} s")
    assert progress.workers_lost == (who == "actors")
    return digest(records(folder))


def kill_one(output: Path) -> None:
    """The process of an actor, once records have come."""
    while not output.exists() or output.stat().st_size < 50_000:
        time.sleep(0.05)
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        if process.read_bytes().startswith(b"ray::WorkerActor"):
            os.kill(int(process.parent.name), signal.SIGKILL)
            return


if __name__ == "__main__":
    main(int(sys.argv[1]))

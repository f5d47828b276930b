"""Exactly once: supervisors and workers are killed again and again, and every URL has one whole record in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator

from spaniel.files import locked
from tests import programs
from tests.batch import kill_scenario
from tests.batch.command import command, environment, spaniel, urls_at
from tests.batch.harness import Served, serving, written

FORKED = kill_scenario.FORKED  # a run is forked with its modules loaded: more kills a minute
FORKED.set_forkserver_preload([kill_scenario.__name__])


def wait_until_it_writes(is_alive: Callable[[], bool], folder: Path, rng: random.Random) -> None:
    """Until a run has written something new and a moment more; sometimes not so long."""
    before = size(folder)
    until = time.monotonic() + (rng.uniform(0, 0.5) if rng.random() < 0.2 else 60)
    while time.monotonic() < until and is_alive() and size(folder) == before:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.2))


class Kills(NamedTuple):
    supervisors: int = 0
    workers: int = 0
    torn: int = 0  # of the supervisors, those after which the ends of files were torn


def killed(folder: Path, urls: Path, rng: random.Random, workers: int) -> Kills:
    """Kill single workers, then the supervisor; the run may come to its end before that."""
    listed = folder / "workers"
    listed.unlink(missing_ok=True)
    run = FORKED.Process(target=kill_scenario.run, args=(str(urls), str(folder / "out.jsonl"), workers))
    run.start()
    died = 0
    while workers and rng.random() < 0.6:
        wait_until_it_writes(run.is_alive, folder, rng)
        died += kill_worker(listed, rng, workers)
    wait_until_it_writes(run.is_alive, folder, rng)
    run.kill()
    run.join()
    assert run.exitcode in (0, -signal.SIGKILL)
    if run.exitcode == 0:
        return Kills(0, died)
    with no_writers(folder):
        return Kills(1, died, int(rng.random() < 0.5 and tear(folder, rng) > 0))


def kill_worker(listed: Path, rng: random.Random, workers: int) -> int:
    """One of those that were started last; how many were killed."""
    started = [int(line) for line in listed.read_text().split()] if listed.exists() else []
    alive = [process for process in started[-workers:] if _lives(process)]
    if not alive:
        return 0
    with suppress(ProcessLookupError):
        os.kill(rng.choice(alive), signal.SIGKILL)
        return 1
    return 0


def tear(folder: Path, rng: random.Random) -> int:
    """What a power cut may do to the ends of files: lose what was not committed, or leave a torn record behind it.

    How many files have changed."""
    changed = 0
    for path, committed in committed_lengths(folder).items():
        if path.exists() and rng.random() < 0.5:
            with path.open("r+b") as file:
                file.truncate(rng.randint(committed, max(committed, path.stat().st_size)))
                file.seek(0, os.SEEK_END)
                file.write(b'{"ordinal": 7, "markdown": "footprints foo'[: rng.randrange(1, 40)])
            changed += 1
    return changed


def committed_lengths(folder: Path) -> dict[Path, int]:
    """Of the part files and of the output; none of a run that is done, after which nothing is written."""
    inner, endings = folder / "out.jsonl.batch", {"records": "jsonl", "captures": "warc.gz"}
    found: dict[Path, int] = {}
    if rows(inner / "run.sqlite3", "SELECT code FROM records"):
        return found
    for store in inner.glob("shard-*.sqlite3"):
        for kind, number, length in rows(store, "SELECT kind, number, bytes FROM parts"):
            found[inner / f"{store.stem}-{number:05}.{endings[kind]}"] = length
    outputs = {"records": folder / "out.jsonl", "captures": folder / "out.jsonl.warc.gz"}
    for kind, length in rows(inner / "run.sqlite3", "SELECT kind, bytes FROM outputs"):
        found[outputs[kind]] = length
    return found


def rows(store: Path, query: str) -> list[tuple[Any, ...]]:
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()
    return []


@contextmanager
def no_writers(folder: Path) -> Iterator[None]:
    """Workers end with their supervisor, as soon as they have committed what they have."""
    with ExitStack() as stack:
        for store in sorted((folder / "out.jsonl.batch").glob("shard-*.sqlite3")):  # in the order of workers
            stack.enter_context(locked(str(store.with_suffix(".writer")), wait=30))
        yield


def size(folder: Path) -> int:
    """Of the output, and of part files that are not collected."""
    total = 0
    for path in (folder / "out.jsonl", *folder.glob("out.jsonl.batch/shard-*.jsonl")):
        with suppress(OSError):
            total += path.stat().st_size
    return total


def require_each_once(folder: Path, urls: Sequence[str]) -> list[str]:
    """The URLs that were given up, since the worker was killed twice at them."""
    lines = (folder / "out.jsonl").read_bytes().splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    found = {record["ordinal"]: record for record in map(json.loads, lines)}
    assert len(lines) == len(found) == len(urls)
    assert all(found[ordinal]["requested_url"] == url for ordinal, url in enumerate(urls))
    blamed = [record["requested_url"] for record in found.values() if record["extraction"]["status"] != 200]
    assert all("ended, twice" in str(found[urls.index(url)]["error"]) for url in blamed)  # tried alone
    return blamed


def require_each_captured_once(folder: Path, urls: Sequence[str]) -> None:
    with (folder / "out.jsonl.warc.gz").open("rb") as file:
        found = [(record.rec_type, record.rec_headers["WARC-Target-URI"]) for record in ArchiveIterator(file)]
    assert found[0] == ("warcinfo", None)
    assert sorted(url for kind, url in found if kind == "response") == sorted(urls)
    assert len(found) == 1 + len(urls)


def torture(folder: Path, kills: int, count: int = 1500, seed: int = 7, workers: int = 0) -> int:
    """Kill runs, each anew until it is whole, until as many have been killed. How many had written something new.

    `workers`: processes, which are killed too; 0: the worker is in the process of the supervisor.
    """
    rng, died, sizes = random.Random(seed), Kills(), set()
    urls = [f"http://www.site{n % 50}.example/page{n}" for n in range(count)]
    listed = written(folder, urls)

    def is_enough() -> bool:
        """Kills of each kind, and ends of files both torn and clean."""
        is_mixed = 0 < died.torn < died.supervisors and bool(workers) == bool(died.workers)
        return is_mixed and died.supervisors + died.workers >= kills

    while not is_enough():
        for old in ("out.jsonl", "out.jsonl.warc.gz", "out.jsonl.batch/run.json"):
            (folder / old).unlink(missing_ok=True)
        while True:
            found = killed(folder, listed, rng, workers)
            died = Kills(*map(sum, zip(died, found, strict=True)))
            if not found.supervisors:
                break
            sizes.add(size(folder))
        blamed = require_each_once(folder, urls)
        require_each_captured_once(folder, [url for url in urls if url not in blamed])
        print(died, len(blamed), "blamed", flush=True)
    return len(sizes)


def test_every_url_has_one_record_however_often_a_run_is_killed(tmp_path: Path) -> None:
    assert torture(tmp_path, kills=25) > 5  # or the kills came too early to prove anything


def test_every_url_has_one_record_however_often_workers_are_killed(tmp_path: Path) -> None:
    assert torture(tmp_path, kills=20, workers=2) > 3


def test_command_continues_where_it_was_killed(tmp_path: Path) -> None:
    rng = random.Random(3)
    with serving(tmp_path) as served:
        urls = urls_at(served, 600)
        written(tmp_path, urls)
        for _ in range(3):
            line = command(served, tmp_path, "--resume", "-q")
            with programs.Popen(line, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as run:
                wait_until_it_writes(lambda: run.poll() is None, tmp_path, rng)
                run.kill()
                _, stderr = run.communicate()
            assert run.returncode in (0, -signal.SIGKILL), stderr
        done = spaniel(served, tmp_path, "--resume", "-q")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        require_each_once(tmp_path, urls)


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.5) as served:
        written(tmp_path, urls_at(served, 400))
        with programs.Popen(command(served, tmp_path, "-q"), env=environment(tmp_path)) as run:
            workers = _children(run.pid, served)
            run.kill()
        assert workers
        for _ in range(200):
            if not any(_lives(worker) for worker in workers):
                return
            time.sleep(0.1)
        pytest.fail("a worker has outlived its supervisor")


def _children(parent: int, served: Served) -> list[int]:
    """The workers of a run, once they have begun to fetch."""
    for _ in range(300):
        if served.requests():
            break
        time.sleep(0.1)
    return [int(name) for name in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _lives(process: int) -> bool:
    with suppress(OSError):
        os.kill(process, 0)
        return "(zombie)" not in Path(f"/proc/{process}/status").read_text()
    return False

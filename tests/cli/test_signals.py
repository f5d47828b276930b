"""`check` and `batch` are stopped by Ctrl-C, `kill` and a closed terminal alike, unless these were switched off."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.batch.command import command, environment
from tests.batch.harness import Served, serving, written

COMMANDS = ("batch", "check")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def line_of(name: str, served: Served, folder: Path, count: int, delay: float) -> list[str]:
    """A command that asks one host for so many pages, with a pause after each."""
    written(folder, [served.url("127.0.0.1", f"/ok{n}") for n in range(count)])
    batch = command(served, folder, "--delay", str(delay), "--per-host", "1", fast=False)
    if name == "batch":
        return batch
    config = batch[batch.index("--config") + 1]
    report = ("-f", "json", "-o", str(folder / "report.json"), "--delay", str(delay))
    return [*batch[:3], "check", str(folder / "urls.txt"), "--config", config, *report]


def wait_for(served: Served, process: subprocess.Popen[str], pages: int) -> None:
    end = time.monotonic() + 60
    while sum(request.path.startswith("/ok") for request in served.requests()) < pages:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def recorded(name: str, folder: Path) -> int:
    if name == "batch":
        return len((folder / "out.jsonl").read_text().splitlines())
    return len(json.loads((folder / "report.json").read_text())["results"])


def default() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def ignore() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("name", COMMANDS)
def test_signal_finishes_what_is_under_way(tmp_path: Path, name: str, number: signal.Signals) -> None:
    with serving(tmp_path) as served:
        line = line_of(name, served, tmp_path, 200, 0.5)
        with subprocess.Popen(
            line,
            env=environment(tmp_path) | {"XDG_STATE_HOME": str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default,  # noqa: PLW1509  no other thread starts processes here
        ) as process:
            wait_for(served, process, 2)
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number, told
    assert "finishing" in told
    assert "--resume" in told
    assert recorded(name, tmp_path) < 200


@pytest.mark.parametrize("name", COMMANDS)
def test_signals_that_were_ignored_at_the_start_stay_so(tmp_path: Path, name: str) -> None:
    """As under `nohup`, and for jobs that a script starts in the background."""
    with serving(tmp_path) as served:
        line = line_of(name, served, tmp_path, 4, 0.3)
        with subprocess.Popen(
            line,
            env=environment(tmp_path) | {"XDG_STATE_HOME": str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=ignore,  # noqa: PLW1509  no other thread starts processes here
        ) as process:
            for number in SIGNALS:
                wait_for(served, process, 1)
                process.send_signal(number)
            _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert recorded(name, tmp_path) == 4

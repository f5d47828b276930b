"""`spaniel serve` as a process: start, refusals, signals, workers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

START_SECONDS = 60.0


@contextmanager
def served(
    folder: Path, *options: str, environ: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and its address."""
    folders = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "c"), "XDG_STATE_HOME": str(folder / "s")}
    environ = {**os.environ, **folders}
    command = [sys.executable, "-m", "spaniel", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ, cwd=folder)
    try:
        yield process, address_of(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"serving on (http://\S+)/ ", line):
            return found[1]
    raise AssertionError("it did not start")


def get(address: str, **headers: str) -> tuple[int, bytes]:
    try:
        request = Request(address, headers=headers)  # noqa: S310  a server of ours
        with urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, error.read()


def run(folder: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spaniel", "serve", *options]
    given = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder), **environ}
    return subprocess.run(command, capture_output=True, text=True, env=given, cwd=folder, timeout=120, check=False)


def test_off_loopback_it_needs_a_token(tmp_path: Path) -> None:
    refused = run(tmp_path, "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert refused.returncode == 2
    assert "SPANIEL_SERVE_TOKEN" in refused.stderr
    assert "Traceback" not in refused.stderr
    short = run(tmp_path, "--host", "0.0.0.0", "--port", "0", SPANIEL_SERVE_TOKEN="short")  # noqa: S104
    assert short.returncode == 2
    assert "at least 16 characters" in short.stderr


def test_port_that_is_taken_and_wrong_options_are_explained(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = run(tmp_path, "--port", str(taken.getsockname()[1]))
    assert refused.returncode == 2
    assert "choose another with --port" in refused.stderr
    assert run(tmp_path, "--workers", "0").returncode == 2
    assert "cannot listen on" in run(tmp_path, "--host", "no-such-name.invalid", SPANIEL_SERVE_TOKEN="x" * 20).stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signal_stops_it_cleanly(tmp_path: Path, number: int, code: int) -> None:
    with served(tmp_path) as (process, address):
        assert get(f"{address}/healthz")[0] == 200
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_request_in_flight_is_finished_when_the_server_stops(tmp_path: Path) -> None:
    """`extract` of a large page takes a moment; its answer arrives although SIGTERM came first."""
    with served(tmp_path) as (process, address):
        html = "<article>" + "".join(f"<p>Paragraph {n} about otters and weirs.</p>" for n in range(20_000))
        answers: list[int] = []

        def ask() -> None:
            body = json.dumps({"html": html}).encode()
            request = Request(f"{address}/api/extract", body)  # noqa: S310
            with urlopen(request, timeout=60) as answer:  # noqa: S310
                answers.append(len(answer.read()))

        thread = threading.Thread(target=ask)
        thread.start()
        for _ in range(600):
            if b"spaniel_requests_open 2.0" in get(f"{address}/metrics")[1]:
                break
            if answers:
                break
        process.terminate()
        thread.join(60)
        assert answers
        assert process.wait(60) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="processes share a socket on POSIX")
def test_workers_share_the_port_and_one_that_dies_is_replaced(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2") as (process, address):
        until(lambda: get(f"{address}/readyz")[0] == 200)
        first = children(process.pid)
        until(lambda: len(children(process.pid)) == 2)
        os.kill(min(children(process.pid)), signal.SIGKILL)
        until(lambda: len(children(process.pid)) == 2 and children(process.pid) != first)
        until(lambda: all(get(f"{address}/healthz")[0] == 200 for _ in range(10)))
        assert b"spaniel_requests_total" in get(f"{address}/metrics")[1]
        process.terminate()
        assert process.wait(60) == 0


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def until(is_so: object) -> None:
    for _ in range(300):
        try:
            if is_so():  # type: ignore[operator]
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("it did not happen")


def test_profile_outside_the_allowed_ones_is_refused_at_the_start(tmp_path: Path) -> None:
    refused = run(tmp_path, SPANIEL_SERVE_PROFILE="ingest", SPANIEL_SERVE_PROFILES="reader")
    assert refused.returncode == 2
    assert "spaniel.serve.profiles" in refused.stderr


@pytest.mark.parametrize(("command", "missing"), [("serve", "starlette"), ("mcp", "mcp")])
def test_missing_packages_are_named_with_the_command_that_installs_them(
    tmp_path: Path, command: str, missing: str
) -> None:
    hidden = f"import sys; sys.modules[{missing!r}] = None; from spaniel.cli.main import run; run([{command!r}])"
    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr

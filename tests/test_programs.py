"""A program that `tests/programs.py` forks is what a fresh interpreter would have made of it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.programs import SPANIEL

PAGE = "<!doctype html><title>Té</title><h1>Té ☃</h1><p>The river carries more water in spring.</p>"
COMMANDS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "version": (("--version",), {}),
    "help": (("fetch", "--help"), {"COLUMNS": "70"}),
    "no-command": (("nonsense",), {}),
    "no-option": (("check", "--nope"), {}),
    "canon": (("canon", "--explain", "-"), {"input": b"HTTPS://Example.com/\xc3\xbc\nftp://b.example/\n\xff\n"}),
    "extract": (("extract", "--json", "page.html"), {}),
    "chunk": (("chunk", "-"), {"input": b"# \xc3\xa9\n\nwords\n" * 50}),
    "refused": (("fetch", "http://127.0.0.1:1/"), {}),
    "check": (("check", "page.html", "--no-history"), {}),
    "config": (("config", "show"), {"SPANIEL_TIMEOUT_SECONDS": "7", "TZ": "Asia/Tokyo"}),
    "db": (("db", "add", "--db", "urls", "http://a.example/"), {}),
    "batch": (("batch", "urls.txt", "-o", "out.jsonl", "--workers", "1", "-q"), {}),
    "mcp": (("mcp", "-q"), {}),
}
# What a program can see of itself.
SEEN = """
import json, os, signal, sys
streams = [(s.fileno(), s.name, s.mode, s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.isatty())
           for s in (sys.stdin, sys.stdout, sys.stderr) if s]
print(json.dumps({
    "arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ), "path": sys.path,
    "name": __name__, "package": __package__, "parent": os.getppid(), "streams": streams,
    "group": os.getpgrp() == os.getpid(), "session": os.getsid(0) == os.getpid(),
    "descriptors": [d for d in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{d}")],
    "signals": {n.name: str(signal.getsignal(n)) for n in signal.valid_signals() if isinstance(n, signal.Signals)},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), "threads": len(os.listdir("/proc/self/task")),
    "executable": sys.executable, "flags": str(sys.flags), "none": [sys.stdin is None, sys.stderr is None],
}))
"""


def is_forked(args: list[str], **environment: str) -> bool:
    return programs._can_fork(args, os.environ | environment)


@pytest.mark.parametrize("name", COMMANDS)
def test_output_files_and_exit_code_are_those_of_a_fresh_interpreter(name: str, tmp_path: Path) -> None:
    args, options = COMMANDS[name]
    given = options.get("input", b"")
    found = []
    for number, run in enumerate((programs.run, subprocess.run)):
        folder = tmp_path / str(number) / "here"
        folder.mkdir(parents=True)
        (folder / "page.html").write_text(PAGE, encoding="utf-8")
        (folder / "urls.txt").write_text("ftp://a.example/\n")
        home = {f"XDG_{kind}_HOME": str(folder) for kind in ("CACHE", "CONFIG", "STATE")}
        variables = {key: value for key, value in options.items() if key != "input"}
        done: subprocess.CompletedProcess[bytes] = run(
            [*SPANIEL, *args], input=given, capture_output=True, cwd=folder, env=os.environ | home | variables
        )  # type: ignore[operator]
        said = [text.replace(str(folder).encode(), b"FOLDER") for text in (done.stdout, done.stderr)]
        found.append((done.returncode, *said, sorted(path.name for path in folder.rglob("*"))))
    assert found[0] == found[1]
    assert is_forked([*SPANIEL, *args]) == bool(programs.CLONE)


@pytest.mark.skipif(not programs.CLONE, reason="programs are forked on Linux alone")
@pytest.mark.parametrize("form", ["-c", "-m"])
@pytest.mark.parametrize("kind", ["plain", "session", "group", "ignored", "closed", "terminal"])
def test_program_sees_what_a_fresh_one_sees(form: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "seen.py").write_text(SEEN)
    kinds: dict[str, dict[str, Any]] = {
        "session": {"start_new_session": True},
        "group": {"process_group": 0},
        "ignored": {"ignored": [signal.SIGINT, signal.SIGTERM]},
        "closed": {"closed": [0, 2]},
    }
    options = kinds.get(kind, {})
    seen = []
    for fresh in (False, True):
        ours, theirs = pty.openpty()
        if kind == "terminal":
            options = {"terminal": 2, "stdin": theirs, "stderr": theirs}
        args = [sys.executable, form, SEEN if form == "-c" else "seen", "a", "é"]
        more: dict[str, Any] = {"executable": sys.executable} if fresh else {}  # which is not forked
        done = programs.run(args, stdout=programs.PIPE, cwd=tmp_path, env={**os.environ, "A": "ü"}, **options, **more)
        os.close(ours)
        os.close(theirs)
        seen.append(json.loads(done.stdout))
    assert seen[0] == seen[1]
    assert seen[0]["parent"] == os.getpid()
    assert seen[0]["threads"] == 1


@pytest.mark.parametrize(
    ("args", "environment"),
    [
        (["-m", "spaniel"], {"PYTHONUTF8": "0"}),
        (["-m", "spaniel"], {"PYTHONHASHSEED": "1"}),
        (["-m", "spaniel"], {"LC_ALL": "C"}),
        (["-I", "-m", "spaniel"], {}),
        (["-X", "importtime", "-m", "spaniel"], {}),
        (["program.py"], {}),
    ],
)
def test_what_an_interpreter_reads_at_its_start_needs_a_fresh_one(args: list[str], environment: dict[str, str]) -> None:
    assert not is_forked([sys.executable, *args], **environment)


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("raise SystemExit('why')", 1, b"why\n"),
        ("raise SystemExit(True)", 1, b""),
        ("raise ValueError('why')", 1, b"ValueError: why\n"),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'last'); sys.exit(300)", 44, b"last"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, b""),
        ("raise KeyboardInterrupt", -signal.SIGINT, b"KeyboardInterrupt\n"),
        (
            "import sys, threading, time\ndef late():\n  time.sleep(0.1); sys.stderr.write('late')\n"
            "threading.Thread(target=late).start()",
            0,
            b"late",
        ),
        ("import sys; sys.stdout.reconfigure(write_through=False); print('x'); import os; os.close(1)", 120, b""),
    ],
)
def test_end_is_that_of_a_fresh_interpreter(code: str, status: int, said: bytes) -> None:
    for run in (programs.run, subprocess.run):
        done = run([sys.executable, "-c", code], capture_output=True)
        assert done.returncode == status
        assert done.stderr.endswith(said)


def test_signals_pipes_and_time_limits(tmp_path: Path) -> None:
    code = "import signal, sys; print('here', flush=True); signal.pause()"
    for number, status in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -15), (signal.SIGKILL, -9)):
        with programs.Popen([sys.executable, "-c", code], stdout=programs.PIPE, stderr=programs.DEVNULL) as process:
            assert process.stdout
            assert process.stdout.readline() == b"here\n"
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(60) == status
            assert process.stdout.read() == b""  # nothing else holds the pipe
    with pytest.raises(subprocess.TimeoutExpired):
        programs.run([sys.executable, "-c", code], stdout=programs.DEVNULL, timeout=0.2)
    with pytest.raises(FileNotFoundError):
        programs.run([sys.executable, "-c", code], cwd=tmp_path / "none")


def test_programs_share_no_state() -> None:
    code = "import random, sys, spaniel; print(random.random(), hasattr(spaniel, 'mark')); spaniel.mark = 1"
    said = {programs.run([sys.executable, "-c", code], stdout=programs.PIPE, text=True).stdout for _ in range(3)}
    assert len(said) == 3  # each has its own random numbers
    assert all(line.endswith(" False\n") for line in said)


@pytest.mark.parametrize(
    "line",
    [
        "spaniel canon - < urls.txt 2>&1 | head -2",
        "spaniel nonsense; echo $?",
        "spaniel fetch http://127.0.0.1:1/ 2>/dev/null; echo $?",
        "PYTHONUTF8=0 spaniel --version",
    ],
)
def test_shell_starts_what_a_fresh_interpreter_does(line: str, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("HTTP://A.example/ü\nftp://b.example/\nhttp://c.example/\n")
    said = []
    with programs.launcher(tmp_path) as launched:
        for folder in (launched, Path(sys.executable).parent):
            env = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
            said.append(subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, check=False))
    assert said[0].stdout == said[1].stdout != b""
    assert said[0].stderr == said[1].stderr

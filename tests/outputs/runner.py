"""Runs commands in forks of one process that has imported Spaniel already: real processes without the cold start.

Reads one JSON object per line, {"argv": [...], "cwd": ..., "env": {...}, "stdin": ...}, and answers with one.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys
import tempfile
from typing import Any

SECONDS = 120


def preload() -> None:
    for package in (
        "spaniel.cli",
        "spaniel.app",
        "spaniel.batch",
        "spaniel.health",
        "spaniel.registry",
        "spaniel.pipeline",
    ):
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if "ray" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def child(asked: dict[str, Any], streams: list[int]) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["spaniel", *asked["argv"]]
    from spaniel.cli.main import run

    code = 0
    try:
        run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    for written in (sys.stdout, sys.stderr):
        written.flush()
    os._exit(code)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(asked.get("stdin", "").encode())
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            try:
                signal.alarm(SECONDS)  # a command that hangs is killed
                child(asked, [given.fileno(), out.fileno(), err.fileno()])
            finally:
                os._exit(70)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return {"code": code, "out": out.read().decode(), "err": err.read().decode()}


if __name__ == "__main__":
    preload()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)

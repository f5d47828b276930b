"""Runs the commands of the pages below as a new user would, and writes what came out under them.

A block of `console` holds commands after `$` and their output. A block of `python NAME` or `toml NAME` is a file that
the commands find in their folder. The site is the one that comes with Spaniel (`spaniel demo --serve`). A test fails
when a page shows anything else than what comes out today; what differs from run to run (times, ports) is made the same.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PROGRAMS = Path(sys.executable).parent
PAGES = (
    "../README.md",
    "quickstart.md",
    "first-minutes.md",
    "guides/testing-locally.md",
    "guides/many-pages.md",
    "guides/ingest.md",
    "guides/python.md",
    "guides/registry.md",
    "guides/links.md",
    "guides/canonical-links.md",
)
PORT = "8000"  # as the pages have it
BLOCK = re.compile(r"^```(console|python|toml)(?: ([\w.-]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STEADY = (
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "2026-11-16T09:30:00Z"),
    (re.compile(r"^( +\w+ +\S+? +)[\d.]+(?=(?: +http\S+)?$)", re.MULTILINE), r"\g<1>1.0"),  # --explain: milliseconds
    (re.compile(r"^( +total +)[\d.]+$", re.MULTILINE), r"\g<1>9.0"),
    (re.compile(r'"ms": [\d.]+'), '"ms": 1.0'),
    (re.compile(r"\d\d:\d\d:\d\d\.\d\d\d (?=warning|info)"), "09:30:00.000 "),
)


def told_again(page: str, port: int, folder: Path, programs: Path = PROGRAMS) -> str:
    """The page with what its commands say today. `programs`: where `spaniel` is looked for first."""

    def run(found: re.Match[str]) -> str:
        kind, name, body = found.groups()
        if kind == "console":
            return f"```console\n{_run_all(body, port, folder, programs)}```"
        if name:
            (folder / name).write_text(_with_port(body, PORT, str(port)), encoding="utf-8")
        return found[0]

    return BLOCK.sub(run, page)


def _run_all(body: str, port: int, folder: Path, programs: Path) -> str:
    told = []
    for line in body.splitlines():
        if line.startswith("$ "):
            told.append(f"{line}\n{'' if '# not run' in line else _output_of(line[2:], port, folder, programs)}")
        elif told and "# not run" in told[-1]:
            told.append(f"{line}\n")
    return "".join(told)


def _with_port(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<![0-9A-Za-z]){old}(?![0-9A-Za-z])", new, text)


def _output_of(command: str, port: int, folder: Path, programs: Path) -> str:
    """What a terminal shows."""
    path = os.pathsep.join([str(programs), str(PROGRAMS), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPANIEL_", "XDG_"))}
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603  the commands are those of our own pages
        ["/bin/bash", "-c", _with_port(command, PORT, str(port))],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**kept, "PATH": path, "HOME": str(folder), "COLUMNS": "100", "NO_COLOR": "1"},
    ):
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    text = re.sub(r"[^\n]*\r\x1b\[K", "", shown.decode().replace("\r\n", "\n"))  # a line that was drawn over
    text = _with_port(text, str(port), PORT).replace(f"{folder}/", "").replace(str(folder), "~")
    for pattern, steady in STEADY:
        text = pattern.sub(steady, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # the other end is closed
        return b""


@contextmanager
def demo_site() -> Iterator[int]:
    """`spaniel demo --serve`, at a port that is free."""
    command = [sys.executable, "-m", "spaniel", "demo", "--serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout  # noqa: S101
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found  # noqa: S101
            yield int(found[1])
        finally:
            process.terminate()


def main() -> None:
    for name in PAGES:
        with demo_site() as port, tempfile.TemporaryDirectory() as folder:
            page = (HERE / name).read_text(encoding="utf-8")
            (HERE / name).write_text(told_again(page, port, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()

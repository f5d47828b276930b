"""Runs the commands that the pages show, as a reader would, and writes their output below them.

- A block of `console` holds commands after `$`, and their output. `export NAME=VALUE` holds for the rest of the page.
- A block with a title (```python title="agent.py") is a file that the commands find in their folder.
- The site is the one that comes with Spaniel (`spaniel demo --serve`).

A test fails if a page shows anything else than what the commands print today. What differs from run to run (times,
ports, folders) is replaced by fixed values.
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
PORT = "8000"  # as the pages have it
BLOCK = re.compile(r'^```(\w+)(?: title="([\w./-]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def _column(row: re.Match[str]) -> str:
    """A row of the table of --explain, whose milliseconds and so the width of their column differ from run to run."""
    return f"{row[1]:<23}{'ms' if row[2] == 'ms' else '1.0':>5}{row[3]}"


STEADY = (
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "2026-11-16T09:30:00Z"),
    (re.compile(r"^(  (?:step|\w+) {2,}[\w-]+) +(ms)(  url)$", re.MULTILINE), _column),  # the table of --explain
    (re.compile(r"^(  \w+(?: {2,}[\w-]+)?) {2,}(\d+\.\d+)(  http\S+|)$", re.MULTILINE), _column),
    (re.compile(r'"ms": [\d.]+'), '"ms": 1.0'),
    (re.compile(r"^( +time +)[\d.]+ s$", re.MULTILINE), r"\g<1>0.5 s"),  # the summary of a batch
    (re.compile(r"^( +records a second +)[\d.]+$", re.MULTILINE), r"\g<1>6.0"),
    (re.compile(r"^( +slowest: \S+ +)[\d.]+ s$", re.MULTILINE), r"\g<1>0.05 s"),
    (re.compile(r"\d\d:\d\d:\d\d\.\d\d\d (?=warning|info)"), "09:30:00.000 "),
)
# Each command that fetches from this machine prints it. One page shows it; the others say that it is left out.
PROTECTION_OFF = re.compile(r"^\S+ warning SSRF protection disabled for: block_loopback\n", re.MULTILINE)
SHOWN_ON = "howto/private-hosts.md"


def pages() -> list[str]:
    """The pages that show commands with their output, relative to this folder."""
    found = [HERE.parent / "README.md", *sorted(HERE.rglob("*.md"))]
    return [os.path.relpath(page, HERE) for page in found if "```console\n" in page.read_text(encoding="utf-8")]


def run_again(name: str, page: str, port: int, folder: Path, programs: Path = PROGRAMS) -> str:
    """The page with what its commands print today. `programs`: where `spaniel` is looked for first."""
    variables: dict[str, str] = {}

    def run(found: re.Match[str]) -> str:
        kind, title, body = found.groups()
        if kind == "console":
            return f"```console\n{_run_all(body, port, folder, programs, variables)}```"
        if title:
            (folder / title).parent.mkdir(parents=True, exist_ok=True)
            (folder / title).write_text(_with_port(body, PORT, str(port)), encoding="utf-8")
        return found[0]

    done = BLOCK.sub(run, page)
    return done if name == SHOWN_ON else PROTECTION_OFF.sub("", done)


def _run_all(body: str, port: int, folder: Path, programs: Path, variables: dict[str, str]) -> str:
    printed = []
    for line in body.splitlines():
        if line.startswith("$ export "):
            variables.update([line.removeprefix("$ export ").split("=", 1)])
            printed.append(f"{line}\n")
        elif line.startswith("$ "):
            printed.append(f"{line}\n{output_of(line[2:], port, folder, programs, variables)}")
    return "".join(printed)


def _with_port(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?:(?<![0-9A-Za-z])|(?<=%3A)){old}(?![0-9A-Za-z])", new, text)


def output_of(command: str, port: int, folder: Path, programs: Path, variables: dict[str, str]) -> str:
    """What a terminal shows."""
    path = os.pathsep.join([str(programs), str(PROGRAMS), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPANIEL_", "XDG_"))}
    usual = {"PATH": path, "HOME": str(folder), "COLUMNS": "100", "NO_COLOR": "1"}
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603  the commands are those of our own pages
        ["/bin/bash", "-c", _with_port(command, PORT, str(port))],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**kept, **usual, **variables},
    ):
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    text = _with_port(screen(shown.decode()), str(port), PORT).replace(f"{folder}/", "").replace(str(folder), "~")
    for pattern, steady in STEADY:
        text = pattern.sub(steady, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def screen(shown: str) -> str:
    """What is left on a terminal: a progress display draws over its own lines."""
    lines, line, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", shown):
        if piece == "\r":
            column = 0
        elif piece == "\n":
            line, column = line + 1, 0
            lines += [""] * (line == len(lines))
        elif piece[0] != "\x1b":
            lines[line] = lines[line][:column].ljust(column) + piece + lines[line][column + len(piece) :]
            column += len(piece)
        elif piece[-1] == "A":
            line -= int(piece[2:-1] or 1)
        elif piece[-1] == "K":
            lines[line] = lines[line][:column]
    return "\n".join(lines[: line + 1])


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
    for name in sys.argv[1:] or pages():
        with demo_site() as port, tempfile.TemporaryDirectory() as folder:
            page = (HERE / name).read_text(encoding="utf-8")
            (HERE / name).write_text(run_again(name, page, port, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()

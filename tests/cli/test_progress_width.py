"""Progress lines fit the terminal: real pseudo-terminals of 60, 80 and 200 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path
from select import select

import pytest
from rich.cells import cell_len

from spaniel.cli.progress import fitted
from tests.batch.command import command as batch_command
from tests.batch.command import environment as batch_environment
from tests.batch.command import urls_at
from tests.batch.harness import serving as batch_serving
from tests.batch.harness import written
from tests.health.command import serving

WIDTHS = (60, 80, 200)
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def drawn(line: list[str], environment: Mapping[str, str], columns: int, until: str) -> list[str]:
    """What a terminal of this width is shown, line by line, until a text has been seen a few times or the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    own = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    shown = b""
    with subprocess.Popen(line, env=own, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        try:
            while shown.count(until.encode()) < 3 and select([ours], [], [], 60)[0]:
                shown += os.read(ours, 65_536)
        except OSError:  # the other end is closed
            pass
        process.send_signal(signal.SIGKILL)
    os.close(ours)
    text = ESCAPES.sub("", shown.decode())
    return [each for each in re.split(r"[\r\n]+", text) if each and "SSRF protection" not in each]


@pytest.mark.req("DB-09")
@pytest.mark.parametrize("columns", WIDTHS)
def test_progress_of_a_check_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    """A host asks for a pause, so that the longest line is drawn: links, failures, and the host that is waited for."""
    with serving(tmp_path) as served:
        links = [served.url("/gone", 2), *(served.url(f"/busy{number}", 1) for number in range(1200))]
        document = tmp_path / "links.txt"
        document.write_text("\n".join(links))
        line = served.command("check", str(document), "--delay", "0")
        lines = drawn(line, served.environment, columns, "1 failing")
    bars = [each for each in lines if "of 1,201 links" in each]
    assert bars
    assert max(cell_len(each) for each in lines) < columns
    assert any("1 failing" in each for each in bars)
    if columns == 200:
        assert any("waiting" in each and each.startswith("[") for each in bars)


@pytest.mark.parametrize("columns", WIDTHS)
def test_progress_of_a_batch_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    with batch_serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 40))
        line = batch_command(served, tmp_path, "--delay", "600", fast=False)
        lines = drawn(line, batch_environment(tmp_path), columns, "of 40 done")
    assert any("of 40 done" in each for each in lines)
    assert max(cell_len(each) for each in lines) <= columns


@pytest.mark.parametrize(
    ("parts", "width", "line"),
    [
        (("1 of 9", ", 2 failing"), 17, "1 of 9, 2 failing"),
        (("1 of 9", ", 2 failing"), 16, "1 of 9"),
        (("1 of 9", "; 例え.jp"), 14, "1 of 9"),  # 15 columns in 13 characters
        (("例え例え",), 8, "例え例え"),
        (("例え例え",), 7, "例え例…"),
        (("例え例え",), 6, "例え…"),
        (("abc",), 1, "…"),
        ((), 5, ""),
    ],
)
def test_a_line_has_the_parts_that_fit(parts: tuple[str, ...], width: int, line: str) -> None:
    assert fitted(parts, width) == line
    assert cell_len(line) <= width

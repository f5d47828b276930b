"""All long commands show their progress and answer signals in the same way."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from spaniel.cli.long_run import fitted
from tests import programs
from tests.cli.long_commands import COMMANDS, OTHERS, RESUMABLE, SIGNALS, SILENT, World, running, wait_for
from tests.cli.long_commands import world as new_world

FROM_A_SHELL = ("fetch", "batch", "extract-2")  # a fresh interpreter; one that fetches, and two with workers
PROGRESS = re.compile(r"\d (of \d+ )?(done|links)")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with new_world(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("number", "columns"), [pytest.param(*each, id=each[0].name) for each in zip(SIGNALS, (60, 80, 200), strict=True)]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_first_signal_finishes_what_is_in_flight(world: World, name: str, number: signal.Signals, columns: int) -> None:
    with running(world, world.argv(name), columns) as run:
        run.wait_until_held(world)
        run.wait_for(lambda: bool(PROGRESS.search(run.text)))
        run.send(number)
        run.wait_for(lambda: "press Ctrl-C again" in run.text)
        world.release()
        code = run.end()
    assert code == 128 + number, run.text
    assert "hold0" in world.output()
    assert world.others_done() < OTHERS
    # The terminal itself echoes a Ctrl-C as ^C.
    progress = (line for line in run.lines if PROGRESS.search(line) and not line.startswith("spaniel: "))
    drawn = [line.removesuffix("^C") for line in progress]
    assert drawn
    assert max(map(cell_len, drawn)) < columns
    assert "stopped" in run.text
    assert ("--resume" in run.text) == (name in RESUMABLE)
    assert "Traceback" not in run.text


@pytest.mark.parametrize("name", COMMANDS)
def test_second_signal_stops_at_once(world: World, name: str) -> None:
    number = signal.SIGTERM if name in ("check", "fetch", "extract-2") else signal.SIGINT
    with running(world, world.argv(name)) as run:
        run.wait_until_held(world)
        run.send(number)
        run.wait_for(lambda: "press Ctrl-C again" in run.text)
        run.send(number)
        code = run.end()  # although nothing is released
    assert code == 128 + number, run.text
    assert "stopped" in run.text
    assert ("--resume" in run.text) == (name in RESUMABLE)
    assert "Traceback" not in run.text


@pytest.mark.parametrize("name", COMMANDS)
def test_ignored_signals_stay_ignored_and_standard_error_may_be_closed(world: World, name: str) -> None:
    shell = ["sh", "-c", """trap '' INT TERM HUP; exec "$@" 2>&- """, "sh"]
    with (world.folder / "stdout").open("wb") as out, (world.folder / "urls.txt").open("rb") as listed:
        process = programs.Popen(
            [*shell, *world.argv(name)] if name in FROM_A_SHELL else world.argv(name),
            cwd=world.folder, env=world.environment, stdin=listed, stdout=out,
            closed=[] if name in FROM_A_SHELL else [2], ignored=() if name in FROM_A_SHELL else SIGNALS,
        )  # fmt: skip
    try:
        wait_for(process, world.is_held)
        for number in SIGNALS:
            process.send_signal(number)
        world.release()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert name == "db-fix" or (world.others_done(), "hold0" in world.output()) == (OTHERS, True)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SILENT])
def test_closed_pipe_ends_the_run_without_an_error(world: World, name: str) -> None:
    """With -q, standard error stays empty."""
    with (
        (world.folder / "urls.txt").open("rb") as listed,
        (world.folder / "stderr").open("wb") as errors,
        programs.Popen(
            world.argv(name, "-q"), cwd=world.folder, env=world.environment,
            stdin=listed, stdout=subprocess.PIPE, stderr=errors,
        ) as process,
    ):  # fmt: skip
        assert process.stdout is not None
        process.stdout.close()
        try:
            wait_for(process, world.is_held)
            world.release()
            code = process.wait(40)
        finally:
            process.kill()
    output = (world.folder / "stderr").read_text()
    assert code == 0, output
    assert [line for line in output.splitlines() if "SSRF protection" not in line] == []


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
def test_line_has_the_parts_that_fit(parts: tuple[str, ...], width: int, line: str) -> None:
    assert fitted(parts, width) == line
    assert cell_len(line) <= width


def test_progress_lines_without_a_terminal(world: World) -> None:
    argv = world.argv("check")
    patched = "import sys; from spaniel.cli import long_run, main; long_run.LINE_SECONDS = 0.05; main.run(sys.argv[1:])"
    with (world.folder / "stderr").open("wb") as errors:
        process = programs.Popen(
            [argv[0], "-c", patched, *argv[3:]], cwd=world.folder, env=world.environment,
            stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
    try:
        wait_for(process, lambda: (world.folder / "stderr").read_text().count("spaniel: 0 of 30 links\n") > 1)
        world.release()
        assert process.wait(40) == 0
    finally:
        process.kill()
        process.wait()
    assert "\x1b" not in (world.folder / "stderr").read_text()


def test_closed_terminal_finishes_what_is_in_flight(world: World) -> None:
    """Standard output and error are gone with it; the exit code is still that of the signal."""
    with running(world, world.argv("fetch"), on_terminal=True) as run:
        run.wait_until_held(world)
        run.hang_up()
        time.sleep(0.2)
        world.release()
        assert run.end() == 128 + signal.SIGHUP

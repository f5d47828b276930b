"""Parts: appended, synced, cut, put together."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from spaniel.batch.outputs.files import finish
from spaniel.errors import SpanielError
from spaniel.runs.parts import Part
from tests import programs
from tests.batch import packing
from tests.batch.outputs.harness import as_line, parsed, record, write

ENDINGS = ("jsonl", "jsonl.zst")


def plain(path: Path) -> bytes:
    data = path.read_bytes()
    return packing.decompress(data) if path.suffix == ".zst" else data


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_appended_is_read_back_by_everybody(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"part.{ending}", map(record, range(100)))
    assert parsed(plain(path)) == [record(number) for number in range(100)]
    asked = "select ordinal, title, metadata.author from read_json(?) order by ordinal"
    rows = duckdb.execute(asked, [str(path)]).fetchall()
    assert rows == [(number, f"Page {number}", "An Author") for number in range(100)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_one_after_another_are_a_whole_file(tmp_path: Path, ending: str) -> None:
    parts = [write(tmp_path / f"{n}.{ending}", map(record, range(n * 50, n * 50 + 50))) for n in range(3)]
    finish([str(part) for part in parts], str(tmp_path / f"out.{ending}"))
    assert (tmp_path / f"out.{ending}").read_bytes() == b"".join(part.read_bytes() for part in parts)
    assert [found["ordinal"] for found in parsed(plain(tmp_path / f"out.{ending}"))] == list(range(150))


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_offset_is_where_a_whole_batch_ends(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"part.{ending}"
    with Part.create(str(path)) as part:
        first = part.append([as_line(record(0)), as_line(record(1))])
        assert part.append([]) == first
        second = part.append([as_line(record(2))])
        assert os.path.getsize(path) == second > first > 0
        part.truncate_to(first)
        assert parsed(plain(path)) == [record(0), record(1)]
        part.append([as_line(record(3))])
    assert parsed(plain(path)) == [record(0), record(1), record(3)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_torn_tail_is_cut_when_a_part_is_opened_again(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"part.{ending}"
    with Part.create(str(path)) as part:
        committed = part.append([as_line(record(0))])
        part.append([as_line(record(1))])
    os.truncate(path, os.path.getsize(path) - 7)
    with Part.reopen(str(path), committed) as part:
        part.append([as_line(record(2))])
    assert parsed(plain(path)) == [record(0), record(2)]


def test_a_part_with_less_than_was_committed_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "part.jsonl", [record(0)])
    with pytest.raises(SpanielError, match="cannot be resumed"):
        Part.reopen(str(path), os.path.getsize(path) + 1)
    assert parsed(plain(path)) == [record(0)]


def test_nothing_is_written_through_a_link_or_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("precious")
    (tmp_path / "part.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(SpanielError):
        Part.create(str(tmp_path / "part.jsonl"))
    with pytest.raises(SpanielError):
        Part.reopen(str(tmp_path / "part.jsonl"), 0)
    with pytest.raises(SpanielError, match="exists"):
        Part.create(str(tmp_path / "theirs"))
    assert (tmp_path / "theirs").read_text() == "precious"


def fill(path: str) -> None:
    """A file that may not grow over 20,000 bytes, as a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    with Part.create(path) as part:
        part.append([as_line(record(0))])
        try:
            part.append(as_line(record(number)) for number in range(1, 1000))
        except SpanielError as error:
            print(error.message)


def test_a_full_disk_leaves_the_part_as_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    script = f"from tests.batch.outputs.test_parts import fill; fill({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert "cannot be written: File too large" in done.stdout, done.stderr
    assert parsed(plain(path)) == [record(0)]


def append_for_ever(path: str, journal: str) -> None:
    """What an engine does: append, sync, commit the offset. It is killed meanwhile."""
    number = 0
    with Part.create(path) as part, open(journal, "ab", buffering=0) as log:
        while True:
            lines = [as_line(record(number + n)) for n in range(8)]
            offset = part.append(lines)
            part.sync()
            number += 8
            log.write(f"{offset} {number}\n".encode())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_writer_killed_at_any_moment_loses_nothing_that_was_committed(tmp_path: Path, ending: str) -> None:
    chance = random.Random(7)
    for attempt in range(4):
        path, journal = tmp_path / f"{attempt}.{ending}", tmp_path / f"{attempt}.log"
        script = f"from tests.batch.outputs.test_parts import append_for_ever as f; f({str(path)!r}, {str(journal)!r})"
        with programs.Popen([sys.executable, "-c", script]) as writer:
            while not journal.exists() or not journal.stat().st_size:
                assert writer.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(chance.random() * 0.05)
            writer.kill()
        *_, last = journal.read_bytes().rpartition(b"\n")[0].splitlines()
        offset, number = map(int, last.split())
        with Part.reopen(str(path), offset) as part:
            part.append([as_line(record(number))])
        assert [found["ordinal"] for found in parsed(plain(path))] == list(range(number + 1))

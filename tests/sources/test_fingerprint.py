"""Whether an input is still what it was."""

from __future__ import annotations

import os
from pathlib import Path

from spaniel.sources.files import WHOLE, Fingerprint, fingerprint


def taken(path: Path) -> Fingerprint:
    found = fingerprint(str(path))
    assert found is not None
    return found


def test_a_file_that_was_only_touched_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("https://a.example/\n")
    before = taken(path)
    os.utime(path, ns=(1, 1))
    assert before.difference(taken(path)) is None


def test_one_changed_byte_of_a_small_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("https://a.example/\n")
    before = taken(path)
    path.write_text("https://b.example/\n")
    os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
    assert before.difference(taken(path)) == "its content has changed"
    path.write_text("https://b.example/\nmore")
    assert before.difference(taken(path)) == "it had 19 bytes and has 23 now"


def test_a_large_file_is_known_by_its_ends_and_its_date(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"start")
    os.truncate(path, WHOLE + 1)
    before = taken(path)
    assert before.difference(taken(path)) is None
    with path.open("r+b") as file:
        file.seek(WHOLE // 2)
        file.write(b"x")
    os.utime(path, ns=(before.mtime_ns + 1, before.mtime_ns + 1))
    assert before.difference(taken(path)) == "it was written to since"
    with path.open("r+b") as file:
        file.seek(WHOLE)
        file.write(b"x")
    assert before.difference(taken(path)) == "its content has changed"


def test_a_pipe_has_none_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fingerprint(str(tmp_path / "pipe")) is None


def test_it_can_be_written_down_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("x")
    assert Fingerprint(**taken(path)._asdict()) == taken(path)

"""Fingerprints: whether an input file has changed."""

from __future__ import annotations

import os
from pathlib import Path

from spaniel.sources.files import WHOLE, Fingerprint, fingerprint


def required(path: Path) -> Fingerprint:
    found = fingerprint(str(path))
    assert found is not None
    return found


def test_touched_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("https://a.example/\n")
    before = required(path)
    os.utime(path, ns=(1, 1))
    assert before.difference(required(path)) is None


def test_changed_byte_of_a_small_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("https://a.example/\n")
    before = required(path)
    path.write_text("https://b.example/\n")
    os.utime(path, ns=(before.mtime_ns, before.mtime_ns))
    assert before.difference(required(path)) == "its content has changed"
    path.write_text("https://b.example/\nmore")
    assert before.difference(required(path)) == "it had 19 bytes and has 23 now"


def test_large_file_is_compared_by_its_ends_and_date(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"start")
    os.truncate(path, WHOLE + 1)
    before = required(path)
    assert before.difference(required(path)) is None
    with path.open("r+b") as file:
        file.seek(WHOLE // 2)
        file.write(b"x")
    os.utime(path, ns=(before.mtime_ns + 1, before.mtime_ns + 1))
    assert before.difference(required(path)) == "it was written to since"
    with path.open("r+b") as file:
        file.seek(WHOLE)
        file.write(b"x")
    assert before.difference(required(path)) == "its content has changed"


def test_pipe_has_no_fingerprint_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fingerprint(str(tmp_path / "pipe")) is None


def test_fingerprint_survives_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("x")
    assert Fingerprint(**required(path)._asdict()) == required(path)

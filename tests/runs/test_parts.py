"""Order of writing: append, sync, commit; and what is behind the committed offset is cut off."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spaniel import files
from spaniel.errors import SpanielError
from spaniel.runs import parts
from spaniel.runs.parts import RECORDS, Collector, Part, PartOutput, PartWriter, Result
from spaniel.runs.store import Shard, Shards

COUNT = 300


@pytest.fixture
def shards(tmp_path: Path) -> Iterator[Shards]:
    for number in range(2):
        shard = Shard.create(str(tmp_path), number)
        shard.add((n, "a.example", f"https://a.example/{n}", None, None, None) for n in range(number, COUNT, 2))
        shard.finish_planning()
        shard.close()
    opened = Shards(Shard.open(str(tmp_path), number) for number in range(2))
    yield opened
    opened.close()


def result(ordinal: int) -> Result:
    return Result(ordinal % 2, [b"line %d\n" % ordinal], [(ordinal, "")], [ordinal])


def write(shards: Shards, ordinals: range) -> PartWriter:
    writer = PartWriter(shards, {RECORDS: "jsonl"}, print)
    for ordinal in ordinals:
        writer.put(result(ordinal))
    writer.close()
    return writer


def test_offset_is_committed_after_the_part_is_on_the_disk(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded calls: each part file is written, then synced, and only then is its new length committed."""
    calls: list[tuple[str, str]] = []

    def name(descriptor: int) -> str:
        return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))

    def recorded(which: str, call: Any) -> Any:
        def wrapper(descriptor: int, *rest: Any) -> Any:
            calls.append((which, name(descriptor)))
            return call(descriptor, *rest)

        return wrapper

    commit = Shard.commit

    def committed(self: Shard, lengths: Any, done: Any, closed: Any) -> None:
        for (_, number), length in lengths.items():
            part = f"{self.name}-{number:05}.jsonl"
            assert calls[-2:] == [("write", part), ("sync", part)]
            assert (tmp_path / part).stat().st_size == length
        calls.append(("commit", self.name))
        commit(self, lengths, done, closed)

    monkeypatch.setattr(os, "write", recorded("write", os.write))
    monkeypatch.setattr(parts, "sync_data", recorded("sync", files.sync_data))
    monkeypatch.setattr(Shard, "commit", committed)
    write(shards, range(COUNT))
    assert [which for which, _ in calls].count("commit") > 2
    assert shards[0].left() == shards[1].left() == 0


def test_output_is_on_the_disk_before_its_length_is_committed(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recorded calls, as above: of what the collector appends to the output."""
    write(shards, range(COUNT))
    collector, calls = collected(tmp_path), []

    def recorded(which: str, call: Any) -> Any:
        def wrapper(*values: Any) -> Any:
            calls.append(which)
            return call(*values)

        return wrapper

    monkeypatch.setattr(os, "write", recorded("write", os.write))
    monkeypatch.setattr(parts, "sync_data", recorded("sync", files.sync_data))
    monkeypatch.setattr(collector._database, "transaction", recorded("commit", collector._database.transaction))
    collector.collect(lengths(shards))
    collector.close()
    assert calls == ["write", "write", "sync", "commit"]


def test_commits_are_durable(shards: Shards) -> None:
    """The output takes records over once they are committed: a power cut must not take the commit back."""
    with shards[0]._database.transaction() as tx:
        assert tx.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


@pytest.mark.parametrize("tail", [b"line 9", b"line 9\n" * 1000])
def test_what_was_not_committed_is_cut_off(shards: Shards, tmp_path: Path, tail: bytes) -> None:
    write(shards, range(10))
    with (tmp_path / "shard-0000-00000.jsonl").open("ab") as file:
        file.write(tail)
    (tmp_path / "shard-0000-00001.jsonl").write_bytes(tail)  # begun, and nothing of it was committed
    write(shards, range(10, 12))
    assert (tmp_path / "shard-0000-00000.jsonl").read_bytes() == b"".join(b"line %d\n" % n for n in range(0, 12, 2))
    assert not (tmp_path / "shard-0000-00001.jsonl").exists()


def test_part_that_was_cut_or_removed_is_refused(shards: Shards, tmp_path: Path) -> None:
    write(shards, range(10))
    os.truncate(tmp_path / "shard-0000-00000.jsonl", 3)
    assert "has 3 bytes where" in str(write(shards, range(10, 12)).error)
    os.remove(tmp_path / "shard-0000-00000.jsonl")
    assert "No such file" in str(write(shards, range(10, 12)).error)


def test_writer_that_cannot_write_commits_nothing_and_says_so(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parts, "sync_data", full)
    failed: list[Exception] = []
    writer = PartWriter(shards, {RECORDS: "jsonl"}, failed.append)
    writer.put(result(0))
    writer.close()
    assert ["No space left" in str(error) for error in failed] == [True]
    assert (shards[0].recorded(), shards[0].parts(), writer.committed) == ({}, {}, {})


def collected(folder: Path) -> Collector:
    collector = Collector(str(folder), {RECORDS: PartOutput("jsonl", lambda _: str(folder / "out.jsonl"))})
    collector.open()
    return collector


def lengths(shards: Shards) -> dict[tuple[int, str, int], int]:
    return {(shard.number, *part): size for shard in shards for part, size in shard.parts().items()}


def test_output_has_each_record_once_wherever_collecting_ended(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 100)
    for start in range(0, COUNT, 60):
        write(shards, range(start, start + 60))
        collector = collected(tmp_path)
        collector.collect(lengths(shards))
        collector.collect(lengths(shards))
        collector.close()
        with (tmp_path / "out.jsonl").open("ab") as file:
            file.write(b"line of a run that was killed before it committed\n")
    collected(tmp_path).close()
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert sorted(lines) == sorted(b"line %d" % n for n in range(COUNT))
    left = sorted(path.name for path in tmp_path.glob("shard-*.jsonl"))
    assert len(left) <= 4  # parts that were collected are gone, but for the last of each shard


def test_collecting_twice_at_one_time_takes_each_record_once(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is stopped collects what is left while a thread may still be at it."""
    write(shards, range(COUNT))
    append = Part.append_raw

    def slow(self: Part, data: bytes) -> None:
        append(self, data)
        time.sleep(0.1)

    monkeypatch.setattr(Part, "append_raw", slow)
    collector, known = collected(tmp_path), lengths(shards)
    threads = [threading.Thread(target=collector.collect, args=(known,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    collector.close()
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == COUNT


def test_collecting_that_fails_leaves_the_output_as_it_was(
    shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shards, range(10))
    collector = collected(tmp_path)
    collector.collect(lengths(shards))
    before = (tmp_path / "out.jsonl").read_bytes()
    write(shards, range(10, COUNT))

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    known = lengths(shards)
    with monkeypatch.context() as patched:
        patched.setattr(collector._database, "transaction", full)
        with pytest.raises(SpanielError, match="disk is full"):
            collector.collect(known)
    assert (tmp_path / "out.jsonl").read_bytes() == before
    collector.collect(lengths(shards))
    collector.close()
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == COUNT


def test_output_in_several_files_begins_each_with_its_head(shards: Shards, tmp_path: Path) -> None:
    write(shards, range(COUNT))
    output = PartOutput("jsonl", lambda n: str(tmp_path / f"out-{n}"), 500, lambda path: f"{path[-1]}\n".encode())
    collector = Collector(str(tmp_path), {RECORDS: output})
    collector.open()
    collector.collect(lengths(shards))
    number, length = collector.length(RECORDS)
    collector.close()
    assert (number, length) == (0, (tmp_path / "out-0").stat().st_size)
    assert [(tmp_path / f"out-{n}").read_bytes()[:2] for n in range(2)] == [b"0\n", b"1\n"]

"""Laws of the journal: what it says is true of the part, wherever it is cut, and whatever stands behind."""

from __future__ import annotations

import io
import json
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.batch.journal import MAGIC, Journal, entries, packed
from spaniel.batch.outputs.lines_part import LinesPart
from spaniel.batch.ports import Item
from spaniel.batch.records import tail_of
from spaniel.batch.writer import Writer

batches = st.lists(st.lists(st.integers(0, 5000), min_size=1, max_size=20), max_size=8)


def believed(data: bytes) -> tuple[int, list[list[int]]]:
    """The length that the part is cut to, and the commits that are believed."""
    found = [entry for entry, _ in entries(io.BytesIO(data))]
    return (found[-1].length if found else 0), [list(entry.ordinals) for entry in found]


def journal(committed: list[list[int]]) -> tuple[bytes, list[int]]:
    """A journal of these commits, and where each of them ends."""
    parts = [packed(100 * number, ordinals) for number, ordinals in enumerate(committed, 1)]
    ends = [len(MAGIC) + sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    return MAGIC + b"".join(parts), ends


@given(batches, st.data())
def test_a_journal_cut_anywhere_tells_the_commits_that_are_whole(
    committed: list[list[int]], data: st.DataObject
) -> None:
    whole, ends = journal(committed)
    at = data.draw(st.integers(0, len(whole)))
    survived = sum(end <= at for end in ends)
    assert believed(whole[:at]) == (100 * survived, committed[:survived])


@given(batches.filter(bool), st.data())
def test_a_flipped_bit_ends_what_is_believed(committed: list[list[int]], data: st.DataObject) -> None:
    whole, ends = journal(committed)
    at = data.draw(st.integers(len(MAGIC), len(whole) - 1))
    damaged = bytearray(whole)
    damaged[at] ^= 1 << data.draw(st.integers(0, 7))
    before = sum(end <= at for end in ends)
    assert believed(bytes(damaged)) == (100 * before, committed[:before])


def test_a_damaged_journal_is_repaired_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(MAGIC + packed(10, [1, 2]) + packed(20, [3])[:-1])
    for _ in range(2):
        opened = Journal(str(path))
        opened.close()
        assert (opened.length, [number for number in range(9) if number in opened.done]) == (10, [1, 2])
    assert path.read_bytes() == MAGIC + packed(10, [1, 2])


@pytest.mark.parametrize("moment", ["after the records", "in the midst of a record", "in the midst of the commit"])
def test_what_was_written_and_not_committed_is_cut_off(tmp_path: Path, moment: str) -> None:
    out, log = tmp_path / "out.jsonl", tmp_path / "journal"
    write(out, log, range(100))
    length = out.stat().st_size
    with out.open("ab") as file:
        file.write(b'{"ordinal":100}\n' if moment != "in the midst of a record" else b'{"ordi')
    if moment == "in the midst of the commit":
        with log.open("ab") as file:
            file.write(packed(length + 16, [100])[:-3])
    write(out, log, range(100, 103))
    assert [json.loads(line)["ordinal"] for line in out.read_bytes().splitlines()] == list(range(103))


def write(out: Path, log: Path, ordinals: range) -> None:
    journal = Journal(str(log))
    writer = Writer(LinesPart(str(out), journal.length), journal, print)
    tail = tail_of({"status": 200})
    for ordinal in ordinals:
        writer.put(Item(ordinal, f"http://a.example/{ordinal}"), tail)
    writer.close()
    journal.close()


def test_the_journal_is_never_ahead_of_the_part(tmp_path: Path) -> None:
    """The part is brought to the disk first: else a power cut leaves ordinals without their records."""
    order: list[str] = []

    class Watched(LinesPart):
        def sync(self) -> int:
            order.append("part")
            return super().sync()

    class WatchedJournal(Journal):
        def commit(self, length: int, ordinals: object, beside: int = 0, failed: object = None) -> None:
            order.append("journal")
            assert (tmp_path / "out.jsonl").stat().st_size >= length

    journal = WatchedJournal(str(tmp_path / "journal"))
    writer = Writer(Watched(str(tmp_path / "out.jsonl"), 0), journal, print)
    for ordinal in range(200):
        writer.put(Item(ordinal, "http://a.example/"), b'{"status":200}')
    writer.close()
    assert order
    assert order == ["part", "journal"] * (len(order) // 2)


def test_what_failed_is_known_to_whoever_goes_on(tmp_path: Path) -> None:
    for first, codes in ((0, ["", "http_4xx", "http_4xx"]), (3, ["timeout", ""])):
        journal = Journal(str(tmp_path / "journal"))
        writer = Writer(LinesPart(str(tmp_path / "out.jsonl"), journal.length), journal, print)
        for ordinal, code in enumerate(codes, first):
            writer.put(Item(ordinal, "http://a.example/"), b'{"status":200}', failed=code)
        writer.close()
        journal.close()
    opened = Journal(str(tmp_path / "journal"))
    opened.close()
    assert (opened.done.count, opened.failed) == (5, {"http_4xx": 2, "timeout": 1})


def test_a_writer_that_cannot_write_says_so_and_commits_nothing_more(tmp_path: Path) -> None:
    class Full(LinesPart):
        def sync(self) -> int:
            raise OSError(28, "No space left on device")

    told: list[Exception] = []
    journal = Journal(str(tmp_path / "journal"))
    writer = Writer(Full(str(tmp_path / "out.jsonl"), 0), journal, told.append)
    writer.put(Item(0, "http://a.example/"), b'{"status":200}')
    writer.close()
    journal.close()
    assert [getattr(error, "errno", None) for error in told] == [28]
    assert (tmp_path / "journal").read_bytes() == MAGIC


@pytest.mark.parametrize("told", [b"[1]", b"{", b'{"a": "b"}', b'{"a": true}', b"[" * 100_000])
def test_an_entry_that_tells_nonsense_of_failures_is_damage_whatever_its_checksum_says(told: bytes) -> None:
    whole = bytearray(packed(10, [1], failed={"x": 1}))
    head = len(whole) - 8 - len(b'{"x": 1}')
    entry = bytearray(whole[: head - 4] + len(told).to_bytes(4, "little") + whole[head : head + 8] + told)
    entry[:4] = crc32(entry[4:]).to_bytes(4, "little")
    found = [one.failed for one, _ in entries(io.BytesIO(MAGIC + whole + entry + packed(20, [2])))]
    assert found == [{"x": 1}]

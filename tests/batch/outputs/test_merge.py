"""Shards put together: each record once, in order if asked, what is missing reported."""

from __future__ import annotations

import json
import os
import random
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from spaniel.batch.outputs.files import finish
from spaniel.batch.outputs.merge import merge
from spaniel.errors import SpanielError
from tests.batch import packing
from tests.batch.outputs.harness import failure, parsed, record, write
from tests.batch.weigh import weigh

MB = 1 << 20


def shards(tmp_path: Path, count: int, ending: str = "jsonl") -> list[str]:
    """Three outputs with every third record each, in no order."""
    chance = random.Random(1)
    paths = []
    for shard in range(3):
        numbers = list(range(shard, count, 3))
        chance.shuffle(numbers)
        paths.append(str(write(tmp_path / f"{shard}.{ending}", map(record, numbers))))
    return paths


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.zst"])
@pytest.mark.parametrize("out", ["out.jsonl", "out.jsonl.zst", "out.parquet"])
def test_records_come_in_the_order_of_their_ordinals(tmp_path: Path, ending: str, out: str) -> None:
    merged = merge(shards(tmp_path, 200, ending), str(tmp_path / out), by_ordinal=True)
    assert merged == (200, 0, [])
    path = tmp_path / out
    if out == "out.parquet":
        found = parquet.read_table(path)["ordinal"].to_pylist()
    else:
        data = path.read_bytes()
        found = [one["ordinal"] for one in parsed(packing.decompress(data) if out.endswith("zst") else data)]
    assert found == list(range(200))
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".spaniel")]


def test_without_order_they_are_as_they_come(tmp_path: Path) -> None:
    paths = shards(tmp_path, 30)
    merge(paths, str(tmp_path / "out.jsonl"))
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(Path(path).read_bytes() for path in paths)


def test_shards_in_parquet_are_put_together_too(tmp_path: Path) -> None:
    outs = []
    for path in shards(tmp_path, 30):
        outs.append(path.replace(".jsonl", ".parquet"))
        finish([path], outs[-1])
    assert merge(outs, str(tmp_path / "out.jsonl"), by_ordinal=True).records == 30
    assert parsed((tmp_path / "out.jsonl").read_text()) == [record(number) for number in range(30)]


@pytest.mark.parametrize("by_ordinal", [True, False])
def test_an_ordinal_that_is_there_twice_is_refused_and_nothing_is_written(tmp_path: Path, by_ordinal: bool) -> None:
    one = str(write(tmp_path / "one.jsonl", [record(0), record(5)]))
    other = str(write(tmp_path / "other.jsonl", [failure(1), failure(5)]))
    with pytest.raises(SpanielError, match=r"ordinal 5 is there in .*one\.jsonl too"):
        merge([one, other], str(tmp_path / "out.jsonl"), by_ordinal=by_ordinal)
    twice = str(write(tmp_path / "twice.jsonl", [record(7), record(7)]))
    with pytest.raises(SpanielError, match="ordinal 7 is there twice"):
        merge([twice], str(tmp_path / "out.jsonl"), by_ordinal=by_ordinal)
    assert sorted(os.listdir(tmp_path)) == ["one.jsonl", "other.jsonl", "twice.jsonl"]


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = str(write(tmp_path / "one.jsonl", [record(0)]))
    for by_ordinal in (True, False):
        with pytest.raises(SpanielError, match="cannot be written"):
            merge([path], str(tmp_path / "none" / "out.jsonl"), by_ordinal=by_ordinal)


def test_gaps_are_reported(tmp_path: Path) -> None:
    path = str(write(tmp_path / "one.jsonl", map(record, [2, 3, 7, 100_000])))
    merged = merge([path], str(tmp_path / "out.jsonl"))
    assert merged.gaps == [(0, 1), (4, 6), (8, 99_999)]
    assert merged.missing == 100_001 - 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"ordinal": 0}\n{"ordinal": 1, "mark', "breaks off"),
        (b'{"ordinal": 0}\n{"ordinal": "x"}\n', "line 2 is not a record"),
        (b'{"url": "x"}\n', "line 1 is not a record"),
        (b"nonsense\n", "line 1 is not a record"),
        (b'{"ordinal": -1}\n', "-1 is not an ordinal"),
        (b'{"ordinal": 9223372036854775807}\n', "is not an ordinal"),
    ],
)
def test_file_that_is_not_a_batch_output_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    with pytest.raises(SpanielError, match=message):
        merge([str(tmp_path / "bad.jsonl")], str(tmp_path / "out.jsonl"), by_ordinal=True)
    assert os.listdir(tmp_path) == ["bad.jsonl"]


def test_a_torn_frame_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl.zst", map(record, range(50)))
    os.truncate(path, path.stat().st_size - 3)
    with pytest.raises(SpanielError, match="breaks off"):
        merge([str(path)], str(tmp_path / "out.jsonl"))


@settings(max_examples=25)
@given(st.sets(st.integers(0, 3_000), min_size=1, max_size=40))
def test_missing_ordinals_are_counted(numbers: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = b"".join(b'{"ordinal": %d}\n' % number for number in numbers)
        (Path(folder) / "one.jsonl").write_bytes(lines)
        merged = merge([f"{folder}/one.jsonl"], f"{folder}/out.jsonl")
    expected = [(a + 1, b - 1) for a, b in pairwise([-1, *sorted(numbers)]) if b - a > 1]
    assert (merged.records, merged.missing, merged.gaps) == (
        len(numbers),
        max(numbers) + 1 - len(numbers),
        expected[:10],
    )


def merge_many(folder: str) -> int:
    paths = [f"{folder}/{shard}.jsonl" for shard in range(3)]
    return merge(paths, f"{folder}/out.jsonl", by_ordinal=True).records


def test_memory_does_not_follow_the_size_of_the_shards(tmp_path: Path) -> None:
    for shard in range(3):
        with (tmp_path / f"{shard}.jsonl").open("w") as file:
            for ordinal in range(shard, 30_000, 3):
                file.write(json.dumps({"ordinal": ordinal, "markdown": f"{ordinal} word " * 500}) + "\n")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    records, grew = weigh("tests.batch.outputs.test_merge:merge_many", tmp_path)
    assert records == 30_000
    assert size > 150 * MB
    assert grew < 90 * MB, f"{grew / MB:.0f} of {size / MB:.0f} MB"

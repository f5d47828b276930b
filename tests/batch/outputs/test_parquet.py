"""Parquet from finished parts, read back by others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import duckdb
import pytest
from pyarrow import parquet

from spaniel.batch.outputs.files import finish
from spaniel.batch.outputs.merge import merge
from spaniel.batch.outputs.parquet import GROUP_ROWS, write_parquet, write_parquet_folder
from spaniel.errors import SpanielError
from tests.batch.outputs.harness import failure, parsed, record, write
from tests.batch.weigh import weigh

MB = 1 << 20


def made(tmp_path: Path, *records: dict[str, object], out: str = "out.parquet") -> Path:
    finish([str(write(tmp_path / "part.jsonl.zst", records))], str(tmp_path / out))
    return tmp_path / out


def test_text_id_and_url_come_first_and_scalars_are_columns(tmp_path: Path) -> None:
    table = parquet.read_table(made(tmp_path, record(0), record(1, extraction={"status": 301}), failure(2)))
    assert table.column_names[:5] == ["id", "text", "url", "ordinal", "status"]
    rows = table.to_pylist()
    assert [row["id"] for row in rows] == ["0", "1", "2"]
    assert [row["status"] for row in rows] == [200, 301, 404]
    assert rows[0]["text"] == record(0)["markdown"]
    assert rows[0]["url"] == "https://a.example/page/0"
    assert (rows[2]["text"], rows[2]["url"]) == (None, "https://b.example/2")
    assert json.loads(rows[0]["metadata"]) == {"author": "An Author", "published": "2026-01-02"}
    assert json.loads(rows[2]["error"])["code"] == "http_4xx"


def test_what_is_nested_can_be_asked_for_in_sql(tmp_path: Path) -> None:
    path = made(tmp_path, *map(record, range(50)), failure(50))
    asked = "select count(*), any_value(metadata->>'author'), max(error->>'code') from read_parquet(?)"
    assert duckdb.execute(asked, [str(path)]).fetchall() == [(51, "An Author", "http_4xx")]


def test_the_schema_is_the_same_whatever_the_records_hold(tmp_path: Path) -> None:
    one = parquet.read_schema(made(tmp_path, record(0)))
    (tmp_path / "part.jsonl.zst").unlink()
    other = parquet.read_schema(made(tmp_path, {"ordinal": 1}, out="other.parquet"))
    assert one == other


def test_what_has_no_column_or_does_not_fit_it_is_kept_in_extra(tmp_path: Path) -> None:
    odd = record(1 << 70, extraction={"status": "two hundred"}, mood={"x": [1]}, title=7)
    [row] = parquet.read_table(made(tmp_path, odd)).to_pylist()
    assert row["status"] is None  # it stays where it was
    assert json.loads(row["extraction"]) == {"status": "two hundred"}
    kept = json.loads(row["extra"])
    assert kept == {"mood": {"x": [1]}, "title": 7, "ordinal": 1 << 70}


@pytest.mark.parametrize("odd", ["null", "7", '"x"', "[]", '{"status": true}', '{"status": 36893488147419103232}'])
def test_what_cannot_be_lifted_is_left_where_it_is(tmp_path: Path, odd: str) -> None:
    [row] = parquet.read_table(made(tmp_path, record(0, extraction=json.loads(odd)))).to_pylist()
    assert row["status"] is None
    assert json.loads(row["extraction"] or "null") == json.loads(odd)


def test_parquet_becomes_records_again(tmp_path: Path) -> None:
    path = made(tmp_path, record(0, mood=[1]), failure(1))
    merge([str(path)], str(tmp_path / "again.jsonl"))
    assert parsed((tmp_path / "again.jsonl").read_text()) == [record(0, mood=[1]), failure(1)]


def test_a_folder_has_files_of_bounded_size_and_appears_whole(tmp_path: Path) -> None:
    lines = [json.dumps(record(number)).encode() + b"\n" for number in range(100)]
    assert write_parquet_folder(lines, f"{tmp_path}/out.parquet/", file_bytes=20_000) == 100
    names = sorted(os.listdir(tmp_path / "out.parquet"))
    assert names[0] == "part-00000.parquet"
    assert len(names) > 2
    asked = "select id from read_parquet(?) order by ordinal"
    found = duckdb.execute(asked, [f"{tmp_path}/out.parquet/*.parquet"]).fetchall()
    assert found == [(str(number),) for number in range(100)]
    with pytest.raises(SpanielError, match="cannot be written"):
        write_parquet_folder(lines, f"{tmp_path}/out.parquet")
    assert sorted(os.listdir(tmp_path)) == ["out.parquet"]


def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path: Path) -> None:
    path = made(tmp_path, record(0))
    before = path.read_bytes()

    def lines() -> object:
        yield json.dumps(record(1)).encode() + b"\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(lines(), str(path))  # type: ignore[arg-type]
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["out.parquet", "part.jsonl.zst"]


def test_no_records_are_a_file_without_rows(tmp_path: Path) -> None:
    assert parquet.read_table(made(tmp_path)).num_rows == 0


def write_many(out: str) -> int:
    line = json.dumps(record(0, markdown="word " * 2000)).encode() + b"\n"
    return write_parquet((line for _ in range(15_000)), out)


def test_memory_is_that_of_a_row_group(tmp_path: Path) -> None:
    rows, grew = weigh("tests.batch.outputs.test_parquet:write_many", tmp_path / "out.parquet")
    assert rows == 15_000
    assert grew < 170 * MB, f"{grew / MB:.0f} MB"
    groups = parquet.ParquetFile(tmp_path / "out.parquet").metadata
    assert all(groups.row_group(n).num_rows <= GROUP_ROWS for n in range(groups.num_row_groups))
    assert groups.num_row_groups > 5

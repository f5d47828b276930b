"""CSV, TSV, JSON lines and Parquet: URLs and the values next to them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from spaniel.errors import SpanielError
from tests.sources.harness import read, urls


def rows(path: Path, text: str, **options: Any) -> list[tuple[str, dict[str, object]]]:
    path.write_text(text)
    return [(item.raw_url, item.columns) for item in read(path, **options)[0]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,url,note\n1,https://a.example/,one\n2,https://b.example/,two\n"),
        ("a.csv", "id;URL;note\n1;https://a.example/;one\n2;https://b.example/;two\n"),
        ("a.tsv", "id\turl\tnote\n1\thttps://a.example/\tone\n2\thttps://b.example/\ttwo\n"),
        ("a.csv", '"id","url","note"\n"1","https://a.example/","one"\n"2","https://b.example/","two"\n'),
        ("a.csv", "\ufeffid,url,note\r\n\r\n1,https://a.example/,one\r\n2,https://b.example/,two\r\n"),
    ],
)
def test_header_names_the_url_column_and_the_others(tmp_path: Path, name: str, text: str) -> None:
    found = rows(tmp_path / name, text)
    assert found == [
        ("https://a.example/", {"id": "1", "note": "one"}),
        ("https://b.example/", {"id": "2", "note": "two"}),
    ]


def test_columns_without_a_header_are_numbered(tmp_path: Path) -> None:
    found = rows(tmp_path / "a.csv", "1,https://a.example/\n2,example.com/x,more\n")
    assert found == [
        ("https://a.example/", {"column_1": "1"}),
        ("example.com/x", {"column_1": "2", "column_3": "more"}),
    ]


def test_error_names_the_file_without_the_column(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="not clear which column holds the URLs; there are: name, where") as clear:
        rows(tmp_path / "a.csv", "name,where\nx,y\n")
    assert clear.value.details["field"] == str(tmp_path / "a.csv")  # a pattern may match many files


def test_column_by_name_or_number(tmp_path: Path) -> None:
    text = "home,url\nhttps://home.example/,https://a.example/\n"
    assert rows(tmp_path / "a.csv", text, column="home")[0][0] == "https://home.example/"
    assert rows(tmp_path / "a.csv", text, column="1")[0][0] == "https://home.example/"
    assert rows(tmp_path / "a.csv", "https://x.example/,b\n", column="1") == [("https://x.example/", {"column_2": "b"})]


@pytest.mark.parametrize("column", ["none", "0", "3", "-1", "9" * 5000])
def test_missing_column_is_refused_with_the_existing_ones(tmp_path: Path, column: str) -> None:
    with pytest.raises(SpanielError, match="there are: home, url"):
        rows(tmp_path / "a.csv", "home,url\nx,y\n", column=column)


def test_quoted_cells_contain_separators_lines_and_quotes(tmp_path: Path) -> None:
    text = 'url,note\nhttps://a.example/,"one, ""two""\nthree"\nhttps://b.example/,5" disk\nhttps://c.example/,"x"\n'
    assert rows(tmp_path / "a.csv", text) == [
        ("https://a.example/", {"note": 'one, "two"\nthree'}),
        ("https://b.example/", {"note": '5" disk'}),
        ("https://c.example/", {"note": "x"}),
    ]


def test_unclosed_quote_affects_one_row(tmp_path: Path) -> None:
    lines = [f"https://a.example/{number},{'x' * 100}" for number in range(20_000)]
    lines[100] = 'https://a.example/100,"open'
    (tmp_path / "a.csv").write_text("url,note\n" + "\n".join(lines))
    found, problems = read(tmp_path / "a.csv")
    assert [item.raw_url for item in found] == [f"https://a.example/{number}" for number in range(20_000)]
    assert problems.count == 1
    assert "line 102: has a quote that does not end" in problems.first[0]


def test_rows_without_a_url_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,url\n1,https://a.example/\n2,\n3\n4,https://b.example/\n")
    found, problems = read(tmp_path / "a.csv")
    assert [item.ordinal for item in found] == [0, 1]
    assert [message.partition(", ")[2] for message in problems.first] == [
        "line 3: has nothing in column 2",
        "line 4: has nothing in column 2",
    ]


def test_columns_with_the_same_name_are_renamed(tmp_path: Path) -> None:
    found = rows(tmp_path / "a.csv", "url,x,x,\nhttps://a.example/,1,2,3\n")
    assert found == [("https://a.example/", {"x": "1", "x_3": "2", "column_4": "3"})]


def test_json_lines_include_other_fields(tmp_path: Path) -> None:
    text = '{"url": "https://a.example/", "n": 1, "more": {"x": [1, null]}}\n\n"https://b.example/"\n'
    assert rows(tmp_path / "a.jsonl", text) == [
        ("https://a.example/", {"n": 1, "more": {"x": [1, None]}}),
        ("https://b.example/", {}),
    ]


def test_field_is_a_name_or_a_path(tmp_path: Path) -> None:
    text = '{"page": {"url": "https://a.example/", "n": 1}}\n{"page.url": "https://b.example/"}\n'
    assert rows(tmp_path / "a.jsonl", text, fields=("page.url",)) == [
        ("https://a.example/", {"page": {"n": 1}}),
        ("https://b.example/", {}),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", "--field"),
        ('{"url": 7}', "no URL at 'url'"),
        ('{"url": "https://x.example/", "n": NaN}', "not JSON"),
        ('{"url": "https://x.example/", "n": 1e999}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"url": "https://x.example/", "n": ' + "[" * 500 + "]" * 500 + "}", "more than 64 levels"),
        ('{"a":' * 2_000_000, "line 2"),
    ],
)
def test_bad_json_line_is_reported_and_skipped(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"url": "https://a.example/"}}\n{line}\n{{"url": "https://b.example/"}}\n')
    found, problems = read(tmp_path / "a.jsonl")
    assert [item.raw_url for item in found] == ["https://a.example/", "https://b.example/"]
    assert problems.count == 1
    assert "line 2" in problems.first[0]
    assert message in problems.first[0]


def test_wide_json_is_not_deep(tmp_path: Path) -> None:
    line = '{"url": "https://a.example/", "n": [' + ",".join(["[]"] * 1000) + "]}"
    assert len(rows(tmp_path / "a.jsonl", line)) == 1


def test_parquet_column_across_row_groups(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": list(range(5000)),
            "url": [f"https://a.example/{number}" for number in range(5000)],
            "at": [datetime(2026, 1, 2, tzinfo=UTC)] * 5000,
            "price": [Decimal("1.50")] * 5000,
            "ratio": [float("nan")] * 5000,
            "tags": [["a", b"b".decode()]] * 5000,
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    found, problems = read(tmp_path / "a.parquet")
    assert [item.raw_url for item in found] == [f"https://a.example/{number}" for number in range(5000)]
    assert found[4999].columns == {
        "n": 4999,
        "at": "2026-01-02T00:00:00+00:00",
        "price": "1.50",
        "ratio": None,
        "tags": ["a", "b"],
    }
    assert not problems.count
    (tmp_path / "a.parquet").rename(tmp_path / "without ending")
    assert len(urls(tmp_path / "without ending", column="2")) == 5000


def test_parquet_rows_without_a_url_are_reported(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"url": ["https://a.example/", None, "", "x" * 70_000]}), tmp_path / "a.parquet")
    found, problems = read(tmp_path / "a.parquet")
    assert len(found) == 1
    assert problems.count == 3


@pytest.mark.parametrize("keep", [4, 100, 300])
def test_broken_parquet_is_a_problem(tmp_path: Path, keep: int) -> None:
    parquet.write_table(pa.table({"url": ["https://a.example/"]}), tmp_path / "whole.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:keep])
    (tmp_path / "b.txt").write_text("https://b.example/")
    found, problems = read(tmp_path / "a.parquet", tmp_path / "b.txt")
    assert [item.raw_url for item in found] == ["https://b.example/"]
    assert "a.parquet: is not a Parquet file that can be read" in problems.first[0]

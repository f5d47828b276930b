"""What came of a run."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from spaniel.batch.outputs import Form, form_of
from spaniel.batch.outputs.summary import Tally, summary_table, write_summary
from spaniel.errors import SpanielError
from tests.batch.outputs.harness import failure, record


def test_records_are_counted_by_how_they_ended(tmp_path: Path) -> None:
    tally = Tally()
    for found in (record(0, verdict="ok"), record(1, markdown=""), failure(2), failure(3)):
        tally.add(found)
    told = tally.as_dict()
    assert (told["records"], told["ok"], told["failed"], told["with_text"]) == (4, 2, 2, 1)
    assert told["failed_by_code"] == {"http_4xx": 2}
    assert told["by_status"] == {"200": 2, "404": 2}
    assert told["by_verdict"] == {"ok": 1}
    assert told["failing_hosts"] == {"b.example": 2}
    write_summary(str(tmp_path / "summary.json"), told)
    assert json.loads((tmp_path / "summary.json").read_text()) == told


def test_the_table_shows_it_and_foreign_text_is_only_text() -> None:
    console = Console(file=io.StringIO(), width=60)
    console.print(
        summary_table({"records": 12345, "pages_per_second": 3.25, "failed_by_code": {"[red]x": 2}, "none": {}})
    )
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "12,345" in told
    assert "pages per second" in told
    assert "[red]x" in told
    assert "none" not in told


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("out.jsonl", Form.JSONL),
        ("out.JSONL.zst", Form.JSONL_ZST),
        ("out.parquet", Form.PARQUET),
        ("out.parquet/", Form.PARQUET_FOLDER),
        ("pages/", Form.PAGES),
        ("out.warc.gz", Form.WARC),
    ],
)
def test_a_name_says_the_form(name: str, form: Form) -> None:
    assert form_of(name) == form


def test_a_folder_that_is_there_is_for_pages_and_other_names_are_refused(tmp_path: Path) -> None:
    assert form_of(str(tmp_path)) == Form.PAGES
    with pytest.raises(SpanielError, match="says no form of output"):
        form_of("out.xlsx")

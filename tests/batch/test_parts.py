"""`--parts`: workers write the records themselves, and the output lists what counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from spaniel.app.batch_wiring import wiring
from spaniel.batch.local import BatchRun
from spaniel.batch.outputs.files import raw_lines
from spaniel.batch.supervisor import Pace, Processes
from spaniel.errors import SpanielError
from spaniel.testing.batching import WHERE
from tests.batch import crashing
from tests.batch.command import spaniel, urls_at
from tests.batch.digests import steady
from tests.batch.harness import FAST, Served, batch, order, records, serving, settings, written


def listed(folder: Path) -> list[dict[str, Any]]:
    """The parts that the output names."""
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def found_in(folder: Path) -> list[dict[str, Any]]:
    """The records of all parts that count."""
    names = [part["part"].removeprefix("file://") for part in listed(folder)]
    return [json.loads(line) for line in raw_lines(names)]


def run(served: Served, folder: Path, urls: list[str], where: str = WHERE, place: str = "") -> Any:
    parts = place or str(folder / "parts")
    with BatchRun(str(folder / "out.jsonl")) as each:
        wanted = order(written(folder, urls), parts=parts)
        each.resume(wanted)
        options = wiring(settings(served.port, folder), "web_fetch")
        return each.fetch(Processes(where, options), Pace(2, 8, FAST))


def some(served: Served) -> list[str]:
    urls = [served.url(f"www.site{n % 7}.example", f"{('/ok', '/gone', '/shell')[n % 3]}{n}") for n in range(30)]
    return [*urls, urls[0], "mailto:nobody@example.com"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_parts_hold_the_records_that_one_output_would(tmp_path: Path, scheme: str) -> None:
    with serving(tmp_path) as served:
        urls = some(served)
        (tmp_path / "usual").mkdir()
        (tmp_path / "parts").mkdir()
        batch(served, tmp_path / "usual", urls, Pace(2, 8, FAST))
        progress, whole = run(served, tmp_path, urls, place=f"{scheme}{tmp_path}/parts")
    found = found_in(tmp_path)
    assert (whole, progress.records) == (True, len(urls))
    assert sorted(map(steady, found)) == sorted(map(steady, records(tmp_path / "usual")))
    assert sorted(record["ordinal"] for record in found) == list(range(len(urls)))
    for part in listed(tmp_path):
        assert os.path.getsize(part["part"].removeprefix("file://")) == part["bytes"]
    assert sum(part["records"] for part in listed(tmp_path)) == len(urls)


def test_what_a_worker_had_not_written_when_it_died_is_fetched_again(tmp_path: Path) -> None:
    """Its pages were done, and in its memory: the part would have come some seconds later."""
    with serving(tmp_path) as served:
        urls = [served.url("www.a.example", f"/ok{n}") for n in range(6)] + [served.url("www.a.example", "/z/kill")]
        progress, whole = run(served, tmp_path, urls, where=crashing.WHERE)
        asked = [request.path for request in served.requests() if request.path.startswith("/ok")]
    found = {record["ordinal"]: record for record in found_in(tmp_path)}
    assert (whole, progress.workers_lost) == (True, 2)
    assert len(found) == len(found_in(tmp_path)) == 7
    assert all(found[n]["extraction"]["status"] == 200 for n in range(6))
    assert found[6]["error"]["code"] == "internal"
    assert len(asked) > 6  # or the worker lost nothing, and nothing is proved


def test_a_run_that_has_its_parts_has_nothing_left_to_do(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = some(served)
        run(served, tmp_path, urls)
        before, count = (tmp_path / "out.jsonl").read_bytes(), len(served.requests())
        progress, whole = run(served, tmp_path, urls)
        assert (whole, progress.records, len(served.requests())) == (True, 0, count)
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_a_place_that_cannot_be_written_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "parts").write_text("not a folder")
    with serving(tmp_path) as served, pytest.raises(SpanielError, match="cannot be written") as refused:
        run(served, tmp_path, [served.url("www.a.example", "/ok")])
    assert (refused.value.code, refused.value.details["field"]) == ("bad_args", "--parts")
    assert "--resume" in refused.value.message


def test_the_command_says_what_parts_go_with(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 3))
        place = str(tmp_path / "parts")
        for more in (("--warc",), ("-o", "pages.parquet")):
            refused = spaniel(served, tmp_path, "--parts", place, *more)
            assert (refused.returncode, "--parts" in refused.stderr) == (2, True)
        assert spaniel(served, tmp_path, "--parts", place, "-q").returncode == 0
        other = spaniel(served, tmp_path, "--resume")
        assert (other.returncode, "begun with --parts" in other.stderr) == (2, True)
    assert sorted(record["ordinal"] for record in found_in(tmp_path)) == [0, 1, 2]

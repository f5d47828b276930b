"""The output of a run: there when it is done, refused early where it cannot be; a refusal leaves nothing behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from spaniel.app.batch_wiring import wiring
from spaniel.batch import supervisor
from spaniel.batch.local import BatchRun
from spaniel.batch.planning import WHOLE, InputShard, domain_number
from spaniel.batch.supervisor import Pace, Processes
from spaniel.errors import SpanielError
from spaniel.testing.batching import WHERE
from tests.batch.harness import FAST, order, settings, written
from tests.batch.kill_scenario import Inside

URLS = ["http://www.one.example/1", "http://www.one.example/2"]
EMPTY_SHARD = next(place for place in range(3) if not InputShard(place, 3).has(domain_number("www.one.example")))


def run(output: str, urls: Path, shard: InputShard = WHOLE, *, overwrite: bool = False, resume: bool = False) -> None:
    """From nowhere to an output that is done."""
    with BatchRun(output) as each:
        wanted = order(urls, shard=shard)
        each.resume(wanted) if resume else each.begin(wanted, overwrite=overwrite)
        _, whole = each.fetch(Inside(), Pace(1, 8, FAST))
        assert whole
        each.finish()


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst", "out.parquet", "out.parquet/"])
def test_a_shard_without_any_url_has_an_output_too(tmp_path: Path, name: str) -> None:
    run(f"{tmp_path}/{name}", written(tmp_path, URLS), InputShard(EMPTY_SHARD, 3))
    assert (tmp_path / name).exists()
    if "parquet" in name:
        assert pyarrow.parquet.read_table(tmp_path / name).num_rows == 0


def test_a_run_that_is_done_is_not_called_so_when_its_output_has_gone(tmp_path: Path) -> None:
    out, urls = tmp_path / "out.jsonl", written(tmp_path, URLS)
    run(str(out), urls)
    out.unlink()
    with pytest.raises(SpanielError, match="has 0 bytes, but"):
        run(str(out), urls, resume=True)


@pytest.mark.parametrize("resume", [True, False], ids=["resume", "overwrite"])
def test_a_folder_of_parquet_files_is_made_again(tmp_path: Path, resume: bool) -> None:
    out, urls = f"{tmp_path}/out.parquet/", written(tmp_path, URLS)
    run(out, urls)
    run(out, urls, resume=resume, overwrite=not resume)
    assert pyarrow.parquet.read_table(out).num_rows == 2


def test_a_folder_with_something_of_yours_in_it_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    mine = tmp_path / "out.parquet/mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    with BatchRun(f"{tmp_path}/out.parquet/") as each, pytest.raises(SpanielError, match="'mine"):
        each.begin(order(written(tmp_path, URLS)), overwrite=True)
    assert mine.read_text() == "mine"


def test_what_cannot_become_the_output_is_refused_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpanielError, match="--warc"):
        BatchRun(f"{tmp_path}/out.warc.gz")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SpanielError, match="not installed"):
        BatchRun(f"{tmp_path}/out.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_sources_without_urls_cost_no_earlier_output_and_leave_nothing_behind(tmp_path: Path, text: str) -> None:
    out, urls = tmp_path / "out.jsonl", tmp_path / "urls.txt"
    urls.write_text(text)
    out.write_text("of an earlier run\n")
    with BatchRun(str(out)) as each, pytest.raises(SpanielError, match="no URL"):
        each.begin(order(urls), overwrite=True)
    assert out.read_text() == "of an earlier run\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "urls.txt"]


def test_a_refusal_leaves_a_run_that_is_there_alone(tmp_path: Path) -> None:
    out, urls = str(tmp_path / "out.jsonl"), written(tmp_path, URLS)
    run(out, urls)
    with BatchRun(out) as each, pytest.raises(SpanielError, match="is there already"):
        each.begin(order(urls))
    run(out, urls, resume=True)


@pytest.mark.timeout(120)
def test_a_run_without_anything_to_fetch_does_not_wait_for_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "END_SECONDS", 10_000.0)
    with BatchRun(f"{tmp_path}/out.jsonl") as each:
        each.begin(order(written(tmp_path, ["http://a b/", "ftp://one.example/"])))
        options = wiring(settings(80, tmp_path), "web_fetch")
        progress, whole = each.fetch(Processes(WHERE, options), Pace(2, 8, FAST))
    assert whole
    assert progress.failed.total() == 2

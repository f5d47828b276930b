"""`spaniel batch` from each kind of source to each form of output, and shards put together."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from tests import programs
from tests.batch.command import command, environment, urls_at
from tests.batch.harness import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("site")) as found:
        yield found


def urls(served: Served) -> list[str]:
    return urls_at(served, 6)


def spaniel_batch(served: Served, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command with these sources and this output in place of the usual ones."""
    usual = command(served, folder)
    fixed = usual[: usual.index("batch") + 1]
    settings = usual[usual.index("--workers") : usual.index("-o")]
    pace = usual[usual.index("-o") + 2 :]
    line = [*fixed, *words, *settings, *pace]
    return programs.run(
        line, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=120, check=False
    )


def test_a_table_becomes_parquet_with_its_other_columns(served: Served, tmp_path: Path) -> None:
    rows = "".join(f"{number},{url}\n" for number, url in enumerate(urls(served)))
    (tmp_path / "list.csv").write_text(f"id,page\n{rows}")
    done = spaniel_batch(served, tmp_path, "list.csv", "--column", "page", "-o", "out.parquet")
    assert done.returncode == 0, done.stderr
    found = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["requested_url"] for row in sorted(found, key=lambda row: row["ordinal"])] == urls(served)
    assert {json.loads(row["columns"])["id"] for row in found} == {str(number) for number in range(6)}
    assert {row["status"] for row in found} == {200}
    assert all(row["text"] for row in found)


def test_json_lines_become_pages_in_a_folder(served: Served, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"page": {"url": url}}) + "\n" for url in urls(served))
    (tmp_path / "list.jsonl").write_text(lines)
    done = spaniel_batch(served, tmp_path, "list.jsonl", "--field", "page.url", "-o", "pages/")
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "pages").rglob("*.md"))
    assert len(files) == 6
    assert files[0].read_text().startswith("---\n")


def test_merge_restores_the_order_of_the_input(served: Served, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("".join(f"{url}\n" for url in urls(served)))
    for shard in ("1/2", "2/2"):
        out = f"out{shard[0]}.jsonl.zst"
        assert spaniel_batch(served, tmp_path, "urls.txt", "--shard", shard, "-o", out).returncode == 0
    merged = spaniel_batch(served, tmp_path, "merge", "out1.jsonl.zst", "out2.jsonl.zst", "--sort", "-o", "all.jsonl")
    assert merged.returncode == 0, merged.stderr
    found = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [record["ordinal"] for record in found] == list(range(6))
    assert [record["requested_url"] for record in found] == urls(served)
    again = spaniel_batch(served, tmp_path, "merge", "out1.jsonl.zst", "-o", "all.jsonl")
    assert (again.returncode, "already exists" in again.stderr) == (2, True)


def test_a_plan_is_fetched_shard_by_shard(served: Served, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text("".join(f"{url}\n" for url in urls(served)))
    planned = spaniel_batch(served, tmp_path, "plan", "urls.txt", "--shards", "2", "-o", "plan")
    assert (planned.returncode, "6 URLs in 2 shards in plan" in planned.stderr) == (0, True), planned.stderr
    (tmp_path / "urls.txt").unlink()  # the plan has all of it
    for shard in ("1/2", "2/2"):
        done = spaniel_batch(served, tmp_path, "plan", "--shard", shard, "-o", f"out{shard[0]}.jsonl")
        assert done.returncode == 2  # 'plan' alone is the command; a folder of that name is written ./plan
        done = spaniel_batch(served, tmp_path, "./plan", "--shard", shard, "-o", f"out{shard[0]}.jsonl")
        assert done.returncode == 0, done.stderr
    merged = spaniel_batch(served, tmp_path, "merge", "out1.jsonl", "out2.jsonl", "--sort", "-o", "all.jsonl")
    assert merged.returncode == 0, merged.stderr
    found = [json.loads(line)["requested_url"] for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert found == urls(served)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["plan", "-o", "p", "--shards", "2"], "plan: name the list to divide"),
        (["plan", "urls.txt", "-o", "p"], "--shards: must be 1 to"),
        (["plan", "urls.txt", "-o", "p", "--shards", "2", "--shard", "1/2"], "--shard: is for a run"),
        (["urls.txt", "-o", "p.jsonl", "--shards", "2"], "--shards: is for 'spaniel batch plan'"),
    ],
)
def test_wrong_use_of_plan_is_refused(served: Served, tmp_path: Path, words: list[str], reason: str) -> None:
    (tmp_path / "urls.txt").write_text("https://a.example/\n")
    done = spaniel_batch(served, tmp_path, *words)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr


def test_missing_or_foreign_shard_is_reported(served: Served, tmp_path: Path) -> None:
    """Ordinals alone do not show it: the last ones of the input may be missing, and those of two inputs may fit."""
    (tmp_path / "urls.txt").write_text("".join(f"{url}\n" for url in urls(served)))
    (tmp_path / "other.txt").write_text("".join(f"{url}\n" for url in [*urls(served), served.url("127.0.0.1", "/x")]))
    for name, shard, source in (("one", "1/2", "urls.txt"), ("two", "2/2", "urls.txt"), ("alien", "2/2", "other.txt")):
        done = spaniel_batch(served, tmp_path, source, "--shard", shard, "-o", f"{name}.jsonl")
        assert done.returncode == 0, done.stderr
    for name, absent in (("one", "2/2"), ("two", "1/2")):
        merged = spaniel_batch(served, tmp_path, "merge", f"{name}.jsonl", "-q", "-o", f"{name}-alone.jsonl")
        left = 6 - len((tmp_path / f"{name}.jsonl").read_text().splitlines())
        assert merged.returncode == 1
        assert f"{left} URLs of the input have none; missing: the output of --shard {absent}" in merged.stderr
    mixed = spaniel_batch(served, tmp_path, "merge", "one.jsonl", "alien.jsonl", "-o", "all.jsonl")
    assert mixed.returncode == 2
    assert "alien.jsonl: comes from 7 URLs, not from 6 as one.jsonl does" in mixed.stderr
    assert not (tmp_path / "all.jsonl").exists()
    for name in ("one", "alien"):  # outputs that came alone say nothing of their runs
        (tmp_path / f"{name}.jsonl.batch" / "run.json").unlink()
    assert "records in all.jsonl" in spaniel_batch(served, tmp_path, "merge", "two.jsonl", "-o", "all.jsonl").stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["merge", "a.jsonl", "-o", "all.jsonl", "--resume"], "--resume: is for a run"),
        (["merge", "a.jsonl", "-o", "all.jsonl", "--limit", "3"], "--limit: is for a run"),
        (["urls.txt", "-o", "all.jsonl", "--sort"], "--sort: is for 'spaniel batch merge'"),
        (["urls.txt", "-o", "all.jsonl", "--address", "auto"], "--address: needs --engine ray"),
    ],
)
def test_an_option_without_effect_is_refused(served: Served, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "urls.txt").write_text(f"{urls(served)[0]}\n")
    (tmp_path / "a.jsonl").write_text('{"ordinal":0}\n')
    refused = spaniel_batch(served, tmp_path, *words)
    assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
    assert not (tmp_path / "all.jsonl").exists()


def test_column_option_for_a_list_without_columns_is_reported(served: Served, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(f"{urls(served)[0]}\n")
    output = spaniel_batch(served, tmp_path, "list.txt", "--column", "page", "-o", "out.jsonl")
    assert output.returncode == 0, output.stderr
    assert "list.txt: is read as text, where --column means nothing; --kind csv reads it as a table" in output.stderr


def test_resumed_run_requires_the_same_column(served: Served, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(f"one,two\n{urls(served)[0]},{urls(served)[1]}\n")
    assert spaniel_batch(served, tmp_path, "list.csv", "--column", "one", "-o", "out.jsonl").returncode == 0
    other = spaniel_batch(served, tmp_path, "list.csv", "--column", "two", "-o", "out.jsonl", "--resume")
    assert other.returncode == 2
    assert "it was begun with --column one, not two. Give what it was begun with" in other.stderr


def test_existing_empty_folder_is_used_for_output(served: Served, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"{urls(served)[0]}\n")
    (tmp_path / "pages").mkdir()
    assert spaniel_batch(served, tmp_path, "urls.txt", "-o", "pages/").returncode == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    refused = spaniel_batch(served, tmp_path, "urls.txt", "-o", "mine/")
    assert (refused.returncode, "--resume" in refused.stderr) == (2, False)  # there is no run to go on with

"""The folder of a run: what another version has begun is refused, and nothing of yours is removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.runs.run import FORMAT, About, PlanCounts, RunFolder

ABOUT = About({"urls.txt": "1"}, {"--shard": "1/1"}, PlanCounts(5, 4, 3, 1, 2, 1), 1, (0, 3), 8, True)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / "out.jsonl"))
    with folder.locked():
        assert folder.read() is None
        folder.write(ABOUT)
        assert folder.read() == ABOUT


@pytest.mark.parametrize(
    ("version", "reason"), [(3, "by an earlier version of Spaniel"), (FORMAT + 1, "by another version of Spaniel")]
)
def test_run_of_another_version_is_refused_with_what_to_do(tmp_path: Path, version: int, reason: str) -> None:
    folder = RunFolder(str(tmp_path / "out.jsonl"))
    with folder.locked():
        old = {"format": version, "sources": {}, "shape": {}, "counts": [1, 1, 1, 0, 1, 1], "lost": 0}
        (tmp_path / "out.jsonl.batch/run.json").write_text(json.dumps(old))
        with pytest.raises(SpanielError, match=rf"{reason}.*Finish it with that version, or .* --overwrite"):
            folder.read()


def test_only_files_of_the_run_are_removed(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / "out.jsonl"))
    ours = ["run.json", "run.sqlite3", "run.sqlite3-wal", "shard-0001.sqlite3", "shard-0001-00000.jsonl", "journal"]
    with folder.locked():
        for name in (*ours, "notes.txt", "shard-1.txt", "run.sqlite3.bak"):
            (tmp_path / "out.jsonl.batch" / name).write_text("")
        folder.remove_shards()
        left = sorted(path.name for path in (tmp_path / "out.jsonl.batch").iterdir())
        assert left == [
            "journal",
            "lock",
            "notes.txt",
            "run.json",
            "run.sqlite3",
            "run.sqlite3-wal",
            "run.sqlite3.bak",
            "shard-1.txt",
        ]
        folder.clear()
        left = sorted(path.name for path in (tmp_path / "out.jsonl.batch").iterdir())
        assert left == ["lock", "notes.txt", "run.sqlite3.bak", "shard-1.txt"]

"""`spaniel chunk` from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.programs import spaniel

MARKDOWN = "# Guide\n\n## Install\n\n" + "Run the command again. " * 200 + "\n\n## Use\n\nDone.\n"


@pytest.mark.req("FR-WF-15d", "D2-28")
def test_each_line_is_a_chunk_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text(MARKDOWN, encoding="utf-8")
    done = spaniel("chunk", "guide.md", "--max-tokens", "128", cwd=tmp_path)
    chunks = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert len(chunks) > 5
    assert all(0 < c["token_count"] <= 128 for c in chunks)
    assert chunks[1]["heading_path"] == "Guide > Install"
    assert MARKDOWN[chunks[-1]["start"] : chunks[-1]["end"]] == chunks[-1]["text"]


def test_standard_input_and_a_table_for_people() -> None:
    done = spaniel("chunk", "-", "--table", stdin=MARKDOWN.encode())
    assert "tokens" in done.stdout
    assert "Guide > Install" in done.stdout


@pytest.mark.req("D2-01", "FR-WF-02a")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["chunk", "none.md"], "none.md: cannot be read: No such file"),
        (["chunk", "-", "--max-tokens", "127"], "--max-tokens: must be 128 to 2048"),
        (["chunk", "-", "--max-tokens", "x"], "invalid int value"),
    ],
)
def test_mistake_is_reported_in_one_line(args: list[str], message: str) -> None:
    done = spaniel(*args, stdin=b"x")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_binary_input_is_reported() -> None:
    done = spaniel("chunk", "-", stdin=b"abc\xff")
    assert "not UTF-8 text (byte 3)" in done.stderr

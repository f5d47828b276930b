"""The one strict TOML reader: every complaint names the file and what is wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import spaniel
from spaniel.errors import SpanielError
from spaniel.tables import MAX_FILE_BYTES, Table, read_toml


def test_nothing_else_in_the_package_reads_toml() -> None:
    root = Path(spaniel.__file__).parent
    readers = {str(path.relative_to(root)) for path in root.rglob("*.py") if "tomllib" in path.read_text("utf-8")}
    assert readers == {"tables.py"}


def refusal(path: Path) -> str:
    with pytest.raises(SpanielError) as caught:
        read_toml(str(path), "settings")
    assert str(path) in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[tools", "not TOML"),
        (b"a = 1\na = 2", "not TOML"),
        (b'a = "\xff"', "not UTF-8 text (byte 5)"),
        (b"#" * (MAX_FILE_BYTES + 1), "more than 1,048,576 bytes"),
        (b"a = " + b"[" * 5_000 + b"]" * 5_000, "cannot be read"),
    ],
)
def test_a_file_that_is_not_toml_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "given.toml"
    path.write_bytes(content)
    assert reason in refusal(path)


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / "none.toml")
    assert "cannot be read" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe.toml")
    assert "is not a regular file" in refusal(tmp_path / "pipe.toml")
    (tmp_path / "good.toml").write_text("a = 1", "utf-8")
    assert read_toml(str(tmp_path / "good.toml"), "settings") == {"a": 1}


def test_a_key_that_nobody_takes_is_refused_with_the_nearest_one() -> None:
    table = Table({"name": "x", "verson": "1"}, "profile")
    assert table.text("name") == "x"
    assert table.text("version", "0") == "0"
    with pytest.raises(SpanielError, match=r"profile.verson: unknown key; did you mean 'version'\?"):
        table.close()

"""Where keys and values stand: an edit replaces those lines, so they must be neither fewer nor more."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.registry import folder as files
from spaniel.registry.complaints import Position
from spaniel.registry.finding import find_file
from spaniel.registry.outline import outline


@pytest.mark.req("DB-10")
@pytest.mark.parametrize(
    ("text", "key", "first", "after", "span"),
    [
        ("x: 1\nz: 2\n", "x", 1, 2, (3, 4)),
        ("x: 'a b' # c\nz: 2\n", "x", 1, 2, (3, 8)),
        ("x:\nz: 2\n", "x", 1, 2, None),  # no value
        ("x:\n# c\nz: 2\n", "x", 1, 2, None),
        ("a:\n- b\nx:\n", "x", 3, 4, None),  # no value, after a value of several lines
        ("x: a\n  b\nz: 2\n", "x", 1, 3, None),
        ("x: a\n  longer\nz: 2\n", "x", 1, 3, None),
        ("x:\n  b\nz: 2\n", "x", 1, 3, None),  # a value on one line, which is not the key's
        ("x: [a,\n  b\n]\nz: 2\n", "x", 1, 4, None),
        ("x: {\n}\nz: 2\n", "x", 1, 3, None),
        ("x: |\n  a\n\n# c\nz: 2\n", "x", 1, 4, None),
        ("x:\n- a\n\n- b\n\n# c\nz: 2\n", "x", 1, 5, None),
        ("x: 1\n", "x", 1, 2, (3, 4)),
        ("x: 1", "x", 1, 2, (3, 4)),
    ],
)
def test_a_key_has_the_lines_that_its_value_has(
    text: str, key: str, first: int, after: int, span: tuple[int, int] | None
) -> None:
    pair = outline(f"---\n{text}", Position("f")).pair(key)
    assert pair is not None
    assert (pair.line, pair.end, pair.span) == (first, after, span)


def test_a_file_that_is_not_read_is_nobodys(tmp_path: Path) -> None:
    """Its name is not one that a host has; on some file systems it is nevertheless found under another."""
    (tmp_path / "Example.com.yaml").touch()
    (tmp_path / "example.com.yaml").touch()
    with files.opened(str(tmp_path)) as folder:
        assert find_file(folder, "Example.com", dict) is None
        assert find_file(folder, "Example.com", lambda: {"Example.com": "other.yaml"}) == "other.yaml"
        assert find_file(folder, "example.com", dict) == "example.com.yaml"

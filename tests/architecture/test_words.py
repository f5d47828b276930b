"""Old words and ambiguous class names: their number may only shrink.

The words are those of the style guide that a search finds reliably. When a count falls, lower the number here to the
one that the test prints (`pytest -s`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, modules

# In parts, so that this file does not count itself.
WORDS = ("to" + "ld", "bro" + "ught", "who" + "ever", "no" + "body", "err" + "and")
OLD_WORDS = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
LINES_IN_SRC = 613
LINES_IN_TESTS = 812
CLASS_NAMES = 30


@cache
def old_lines(folder: str) -> Counter[str]:
    """Lines with an old word, by file."""
    found: Counter[str] = Counter()
    for path in sorted((ROOT / folder).rglob("*.py")):
        found[str(path.relative_to(ROOT))] = len(lines_with_old_words(path))
    return +found


def lines_with_old_words(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if OLD_WORDS.search(line)]


def ambiguous_classes() -> list[str]:
    """Public class names that more than one class of the package has."""
    names = Counter(
        node.name for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in names.items() if count > 1 and not name.startswith("_"))


@pytest.mark.parametrize(("folder", "limit"), [("src", LINES_IN_SRC), ("tests", LINES_IN_TESTS)])
def test_old_words_only_get_fewer(folder: str, limit: int) -> None:
    found = old_lines(folder)
    print(f"{folder}: {found.total()} lines with old words, at most {limit} allowed; most in {found.most_common(5)}")
    assert found.total() <= limit


def test_ambiguous_class_names_only_get_fewer() -> None:
    names = ambiguous_classes()
    print(f"{len(names)} class names stand for several classes, at most {CLASS_NAMES} allowed: {', '.join(names)}")
    assert len(names) <= CLASS_NAMES


def test_old_word_is_found(tmp_path: Path) -> None:
    word = "who" + "ever"
    page = tmp_path / "page.py"
    page.write_text(f"# for {word} reads it\n# for{word}\n", encoding="utf-8")
    assert len(lines_with_old_words(page)) == 1

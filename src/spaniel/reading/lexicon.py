"""The room's data files: words, tags and selectors, each read once."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def lexicon(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


def numbered(lines: list[str], start: int = 0) -> dict[str, int]:
    """Every word with the number of its line."""
    return {word: number for number, line in enumerate(lines, start) for word in line.split()}

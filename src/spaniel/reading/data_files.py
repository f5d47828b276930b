"""The package's data files: words, tags and selectors, each read once."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from spaniel.tables import read_toml

DATA = os.path.join(os.path.dirname(__file__), "data")


@cache
def data_file(name: str) -> dict[str, Any]:
    return read_toml(os.path.join(DATA, f"{name}.toml"), "reading's data")


def line_numbers(lines: list[str], start: int = 0) -> dict[str, int]:
    """Every word with the number of its line."""
    return {word: number for number, line in enumerate(lines, start) for word in line.split()}

"""Runs the examples in docstrings."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import spaniel

ROOT = Path(spaniel.__file__).parent
EXAMPLE = re.compile(r"^\s+>>> ", re.MULTILINE)
MODULES = [
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in sorted(ROOT.rglob("*.py"))
    if EXAMPLE.search(path.read_text("utf-8"))
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    failed, tried = doctest.testmod(import_module(name.removesuffix(".__init__")))
    assert tried
    assert not failed

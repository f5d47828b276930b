"""The public API is what a few modules export, and what is written for users keeps to it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def public() -> list[str]:
    """The modules that the page about architecture calls public."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## What is public")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(spaniel[\w.]*)` \|", section, re.MULTILINE)


def strangers(source: str) -> list[str]:
    """What a piece of code takes from Spaniel that is not public."""
    exported = {name: set(importlib.import_module(name).__all__) for name in public()}
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [n.name for n in node.names if n.name.split(".")[0] == "spaniel" and n.name not in exported]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "spaniel":
            known = exported.get(node.module or "", set())
            names = [(n.name, f"{node.module}.{n.name}") for n in node.names]
            found += [whole for name, whole in names if name not in known and whole not in exported]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "spaniel":
            known = exported["spaniel"] | {"__version__"} | {name.removeprefix("spaniel.") for name in exported}
            found += [] if node.attr in known else [f"spaniel.{node.attr}"]
    return found


def test_the_map_names_public_modules_and_each_says_what_it_exports() -> None:
    assert {"spaniel", "spaniel.registry", "spaniel.tool", "spaniel.testing"} <= set(public())
    for name in public():
        exported = importlib.import_module(name)
        assert exported.__all__
        assert all(hasattr(exported, each) for each in exported.__all__)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_guides_use_only_what_is_public(guide: Path) -> None:
    for block in BLOCK.findall(guide.read_text(encoding="utf-8")):
        # `spaniel` is a client in some of them, as in "async with Spaniel() as spaniel"
        own_name = re.search(r"\bas spaniel\b|\bspaniel: Spaniel\b", block)
        assert not strangers(re.sub(r"\bspaniel\.(?=\w+\()", "client.", block) if own_name else block)


@pytest.mark.parametrize(
    "source",
    [
        "from spaniel.app.settings import from_data",
        "import spaniel.net.guard",
        "from spaniel.tool.web_fetch import WebFetchTool",
        "from spaniel import errors",
        "import spaniel\nspaniel.app",
    ],
)
def test_code_that_reaches_deeper_is_noticed(source: str) -> None:
    assert strangers(source)
    assert not strangers("import spaniel\nfrom spaniel.tool import ToolCtx\nspaniel.fetch('https://example.com/')")


def test_the_example_for_tests_of_ones_own_works_as_it_is_written() -> None:
    [example] = BLOCK.findall((ROOT / "docs" / "howto" / "test-your-code.md").read_text(encoding="utf-8"))
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    broken = example.replace('== "Otters"', '== "Beavers"')
    assert subprocess.run([sys.executable, "-c", broken], capture_output=True, check=False, timeout=60).returncode == 1

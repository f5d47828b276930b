"""`make pages`: the golden pages beside their Markdown, in one file."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/golden_pages.py"
GOLDEN = Path(__file__).parent / "golden"


def test_every_golden_page_is_in_the_file_as_it_is_wanted(tmp_path: Path) -> None:
    target = tmp_path / "new" / "pages.html"
    done = subprocess.run([sys.executable, TOOL, target], capture_output=True, text=True, check=True, timeout=300)
    text = target.read_text("utf-8")
    assert all(f'<section id="{page.stem}">' in text for page in GOLDEN.glob("*.html"))
    assert "not as wanted" not in text
    assert str(target) in done.stdout


def test_a_page_that_is_not_as_wanted_says_so_and_runs_nothing(tmp_path: Path) -> None:
    section = runpy.run_path(str(TOOL))["section"]
    page = tmp_path / "one.html"
    page.write_text('<p>text</p><script>alert("x")</script><p>&lt;b onclick=x&gt;</p>', "utf-8")
    page.with_suffix(".md").write_text("other\n", "utf-8")
    shown = section(page)
    assert "not as wanted" in shown
    assert "<script" not in shown
    assert "<b onclick" not in shown
    assert 'sandbox=""' in shown

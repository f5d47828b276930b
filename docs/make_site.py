"""Builds the site into site/ and puts the Markdown of each page beside it: `make docs-site`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(root: Path = ROOT) -> Path:
    """The folder of the site. It needs no network, and the site loads nothing from elsewhere."""
    site = root / "site"
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    subprocess.run(command, cwd=root, check=True)  # noqa: S603
    for page in sorted((root / "docs").rglob("*.md")):
        shutil.copyfile(page, site / page.relative_to(root / "docs"))
    return site


if __name__ == "__main__":
    print(f"Open {build().relative_to(ROOT)}/index.html in a browser.")

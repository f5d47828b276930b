"""Writes what the shipped policy files hold as Python, so that a cold start need not read TOML. A test finds drift."""

from __future__ import annotations

import tomllib
from pathlib import Path
from pprint import pformat

FOLDER = Path(__file__).resolve().parent.parent / "src" / "spaniel" / "url" / "policies"
HEAD = """\
\"\"\"The policy files beside this one, read: made by `make policies`. A test fails when it has drifted.\"\"\"

from __future__ import annotations
"""


def compiled() -> str:
    files = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))}
    return f"{HEAD}\nPOLICIES: dict[str, dict[str, object]] = {pformat(files, width=118, sort_dicts=False)}\n"


if __name__ == "__main__":
    (FOLDER / "compiled.py").write_text(compiled(), encoding="utf-8")

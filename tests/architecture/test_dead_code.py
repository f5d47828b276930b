"""The names that vulture ignores still exist, and are still unused otherwise."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

from tests.architecture.source import ROOT


def test_no_name_is_excused_that_needs_no_excuse() -> None:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["vulture"]
    command = [
        sys.executable,
        "-m",
        "vulture",
        "--config",
        "/dev/null",
        "--min-confidence",
        str(found["min_confidence"]),
    ]
    done = subprocess.run(
        [*command, *found["paths"]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    unused = set(re.findall(r"unused \w+ '(\w+)'", done.stdout))
    assert unused, done.stderr
    assert not set(found["ignore_names"]) - unused

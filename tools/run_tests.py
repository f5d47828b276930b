"""Runs all tests in two processes at once: `python tools/run_tests.py [--coverage]`. Each is about half of the time.

Tests count, or measure what the processor did, so that they do not mind a neighbour. What is not named here goes to
the second half; both print as pytest does, one after the other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
FIRST = {"app", "architecture", "batch", "cache", "chunking", "cli", "health", "hosts", "mcp", "online", "queue"}
NO_TESTS = 5  # what pytest says where a half has none


def halves() -> list[list[str]]:
    """Folders with tests, and single files, each in one of the two."""
    found = [p for p in sorted(TESTS.iterdir()) if p.name.startswith("test_") or (p / "__init__.py").exists()]
    paths = [p for p in found if p.is_dir() or p.suffix == ".py"]
    return [[str(p) for p in paths if (p.name in FIRST) is first] for first in (True, False)]


def main() -> int:
    runner = ["coverage", "run", "--parallel-mode", "-m", "pytest"] if "--coverage" in sys.argv else ["pytest"]
    with tempfile.TemporaryFile() as kept:
        commands = [[sys.executable, "-m", *runner, "-q", "-p", "no:cacheprovider", *paths] for paths in halves()]
        second = subprocess.Popen(commands[1], cwd=TESTS.parent, stdout=kept, stderr=subprocess.STDOUT)
        try:
            codes = [subprocess.run(commands[0], cwd=TESTS.parent, check=False).returncode, second.wait()]
        finally:
            second.terminate()  # where somebody has stopped the first
        kept.seek(0)
        sys.stdout.buffer.write(kept.read())
        sys.stdout.buffer.flush()
    if "--coverage" in sys.argv:
        subprocess.run([sys.executable, "-m", "coverage", "combine", "--quiet"], cwd=TESTS.parent, check=False)
    return next((code for code in codes if code not in (0, NO_TESTS)), 0)


if __name__ == "__main__":
    sys.exit(main())

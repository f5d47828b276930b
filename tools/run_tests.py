"""Runs all tests, folder by folder, some at once: `python tools/run_tests.py [--coverage]`.

Tests count, or measure what the processor did, so that they do not mind neighbours. Many wait for something, so there is
one process more than cores. What a folder printed is shown when it is done, and at the end how many tests there were.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
LONGEST_FIRST = (
    "browser",
    "health",
    "batch",
    "reading",
    "net",
    "cli",
    "pipeline",
    "mcp",
)  # or one would run alone at the end
NO_TESTS = 5  # what pytest says where a folder has none
STOPPED = 130
CLOSING = re.compile(rb"^.*\b(?:passed|failed|skipped|errors?)\b.* in [\d.]+s\b.*$", re.MULTILINE)
COUNT = re.compile(rb"(\d+) (passed|failed|skipped|error)")


def parts() -> list[list[Path]]:
    """The folders with tests, and all single files together."""
    folders = {file.parent.name: file.parent for file in TESTS.glob("*/__init__.py") if file.parent.name != "torture"}
    first = [[folders.pop(name)] for name in LONGEST_FIRST]
    return [*first, sorted(TESTS.glob("test_*.py")), *([folders[name]] for name in sorted(folders))]


def run(paths: list[Path], runner: list[str]) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", *runner, "-q", "-p", "no:cacheprovider", *map(str, paths)]
    return subprocess.run(command, cwd=TESTS.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def main() -> int:
    with_coverage = "--coverage" in sys.argv
    runner = ["coverage", "run", "--parallel-mode", "-m", "pytest"] if with_coverage else ["pytest"]
    counts: Counter[str] = Counter(passed=0, failed=0)
    worst = 0
    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        running = {pool.submit(run, paths, runner): paths for paths in parts()}
        try:
            for done in as_completed(running):
                worst = show(running[done], done.result(), counts) or worst
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return STOPPED
    if with_coverage:
        subprocess.run([sys.executable, "-m", "coverage", "combine", "--quiet"], cwd=TESTS.parent, check=False)
    print("\n" + ", ".join(f"{number} {what}" for what, number in counts.items()))
    return worst


def show(paths: list[Path], result: subprocess.CompletedProcess[bytes], counts: Counter[str]) -> int:
    print(f"\n{paths[0].name if len(paths) == 1 else 'single files'}", flush=True)
    sys.stdout.buffer.write(result.stdout)
    sys.stdout.buffer.flush()
    for number, what in COUNT.findall(b"".join(CLOSING.findall(result.stdout)[-1:])):
        counts[what.decode().replace("error", "failed")] += int(number)
    return 0 if result.returncode == NO_TESTS else result.returncode


if __name__ == "__main__":
    sys.exit(main())

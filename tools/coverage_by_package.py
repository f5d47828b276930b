"""Prints how much of each package the tests ran, lines and branches; fails where either is under 95 %.

Reads what `make test COVERAGE=1` measured. Packages are judged one by one: a thorough package does not make up for another.
"""

from __future__ import annotations

import io
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from json import load
from pathlib import Path
from tempfile import TemporaryDirectory

from coverage import Coverage

REQUIRED = 95.0
PACKAGES = ("url", "net", "robots", "hosts", "cache", "pipeline", "online", "learnt.py")
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def measured() -> dict[str, dict]:
    """What the report says of each file."""
    found = Coverage()
    found.load()
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        file = Path(folder, "report.json")
        found.json_report(outfile=str(file))
        with file.open(encoding="utf-8") as report:
            return load(report)["files"]


def share(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def main() -> int:
    files = measured()
    services: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    gaps: dict[str, list[str]] = defaultdict(list)
    for path, file in sorted(files.items()):
        package = Path(path).parts[Path(path).parts.index("spaniel") + 1]
        for count in COUNTS:
            services[package][count] += file["summary"][count]
        lines = ", ".join(map(str, file["missing_lines"]))
        jumps = ", ".join(f"{a}->{'exit' if b < 0 else b}" for a, b in file["missing_branches"])
        if lines or jumps:
            gaps[package].append(f"    {path}: lines {lines or 'all run'}; branches {jumps or 'all run'}")
    failed = False
    for package in PACKAGES:
        done = services[package]
        lines = share(done["covered_lines"], done["num_statements"])
        branches = share(done["covered_branches"], done["num_branches"])
        low = not done["num_statements"] or lines < REQUIRED or branches < REQUIRED
        failed |= low
        print(f"{package:10} lines {lines:5.1f} %  branches {branches:5.1f} %{'  UNDER 95 %' if low else ''}")
        if low or "--gaps" in sys.argv:
            print("\n".join(gaps[package]) or "    nothing of it was run")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Breaks the code in small ways, one at a time, and sees whether a test notices: `make mutants ARGS="net/guard.py"`.

A mutant is a copy of the project in a temporary folder with one expression or statement changed. A child process runs
the tests that mutants.toml names for its file. Mutants that no test can tell from the original are listed there too.
With --ids a mutant breaks what one requirement id asks for, and only the tests that carry the id are run (id_mutants.py).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from id_mutants import judge_ids
from mutations import Mutant, mutants

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
WANTED = 90.0  # percent
MEMORY = 8 << 30  # bytes of a child: some mutants never stop collecting
OPTIONS = ["-x", "-q", "--no-header", "--tb=line", "-pno:cacheprovider", "-Wignore::pytest.PytestAssertRewriteWarning"]
PRELOADED = ("aiohttp", "hypothesis", "msgspec", "pytest_asyncio", "trustme", "turbohtml")  # others', never changed


class Box:
    """A copy of the project, and children that run its tests."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._output = self.folder / "output.txt"  # of the last quiet run
        command = ["git", "ls-files", "-zco", "--exclude-standard"]
        listed = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
        for path in (*(ROOT / name for name in listed), *ROOT.glob("src/**/*.so")):
            if path.is_file():
                copy = self.folder / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
        self._python = self._environment()

    def _environment(self) -> str:
        """An interpreter for which the copy is installed: some tests start programs without PYTHONPATH."""
        ours, box = Path(sys.prefix), self.folder / ".venv"
        packages = Path(sysconfig.get_path("purelib")).relative_to(ours)
        for part in ("bin", packages):
            (box / part).mkdir(parents=True)
        lines = [str(self.folder / "src"), f"import site; site.addsitedir({str(ours / packages)!r})"]
        (box / packages / "copy.pth").write_text("\n".join(lines))
        (box / "pyvenv.cfg").write_text((ours / "pyvenv.cfg").read_text())
        python = box / "bin/python"
        python.symlink_to(Path(sys.executable).resolve())
        command = (ours / "bin/spaniel").read_text().partition("\n")[2]
        (box / "bin/spaniel").write_text(f"#!{python}\n{command}")
        (box / "bin/spaniel").chmod(0o755)
        return str(python)

    def passes(self, tests: list[str], seconds: float, *, aloud: bool = False, plugins: Sequence[object] = ()) -> bool:
        """Whether the tests do, within a time."""
        pid = os.fork()
        if pid == 0:
            with suppress(BaseException):
                os._exit(self._test(tests, aloud, plugins))
            os._exit(1)
        end = time.monotonic() + seconds
        while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.02)
        with suppress(ProcessLookupError):  # and whatever the tests have started
            os.killpg(pid, signal.SIGKILL)
        if ended == (0, 0):
            os.waitpid(pid, 0)
        return ended == (pid, 0)

    def _test(self, tests: list[str], aloud: bool, plugins: Sequence[object]) -> int:
        os.setsid()
        os.chdir(self.folder)
        if not any(test.startswith("tests/browser") for test in tests):  # Chromium reserves more than it uses
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.path[:0] = [str(self.folder / "src"), str(self.folder)]
        sys.executable = self._python
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
        if not aloud:  # and no byte code: what one mutant was compiled to would be run for the next
            sys.dont_write_bytecode, os.environ["PYTHONDONTWRITEBYTECODE"] = True, "1"
            output = os.open(self._output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(output, stream)
        return pytest.main([*OPTIONS, *tests], plugins=plugins)

    def failures(self) -> str:
        """The tests that failed in the last run."""
        lines = self._output.read_text("utf-8", "replace").splitlines() if self._output.exists() else []
        return "; ".join(line for line in lines if line.startswith(("FAILED", "ERROR"))) or "stopped by the time limit"

    def survivors(self, file: str, tests: list[str], chosen: list[Mutant]) -> int:
        path, began = self.folder / "src/spaniel" / file, time.monotonic()
        original = path.read_text("utf-8")
        if not self.passes(tests, 600, aloud=True):
            sys.exit(f"{file}: its tests do not pass as they are")
        seconds, survived = 20 + 4 * (time.monotonic() - began), 0
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        for mutant in chosen:
            path.write_text(mutant.source, "utf-8")
            if self.passes(tests, seconds):
                survived += 1
                print(f"  line {mutant.line}: {mutant.place}\n    {mutant.change}", flush=True)
        path.write_text(original, "utf-8")
        return survived


def judge(file: str, box: Box, table: dict, asked: argparse.Namespace) -> bool:
    every = mutants((ROOT / "src/spaniel" / file).read_text("utf-8"))
    same = {(row["line"], change) for row in table["same"] if row["file"] == file for change in row["changes"]}
    for line, change in sorted(same - {(mutant.place, mutant.change) for mutant in every}):
        print(f"  mutants.toml lists what is no mutant any more: {line}: {change}")
    chosen = [m for m in every if (m.place, m.change) not in same and asked.line in (None, m.line)]
    if 0 < asked.sample < len(chosen):
        chosen = sorted(random.Random(asked.seed).sample(chosen, asked.sample))
    survived = box.survivors(file, table["tests"][file], chosen)
    share = 100 * (1 - survived / len(chosen)) if chosen else 100.0
    found = f"{len(chosen) - survived} of {len(chosen)} killed ({share:.0f} %)"
    print(f"{file}: {found}; it has {len(every)} mutants, of which {len(same)} change nothing", flush=True)
    return share >= WANTED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="files under src/spaniel (default: all that mutants.toml names), or ids"
    )
    parser.add_argument("--ids", action="store_true", help="mutants of id_mutants.toml, by requirement id")
    parser.add_argument("--count", type=int, default=0, help="how many ids, chosen at random by --seed; 0: all")
    parser.add_argument("--sample", type=int, default=40, help="mutants of a file at the most; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--line", type=int, help="only those of this line")
    asked = parser.parse_args()
    table = tomllib.loads((ROOT / "tools/mutants.toml").read_text("utf-8"))
    os.nice(10)
    for name in PRELOADED:
        __import__(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        box = Box(folder)
        if asked.ids:
            return 0 if judge_ids(box, asked.files, asked.seed, asked.count) else 1
        good = [judge(file, box, table, asked) for file in asked.files or table["tests"]]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

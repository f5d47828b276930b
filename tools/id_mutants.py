"""Mutants by requirement id: each breaks the sentence of one id, and only the tests that carry the id may notice.

`make mutants ARGS="--ids --seed 7 --count 100"`; `ARGS="--ids CP-24 FG-11"` tries single ids. The mutants are in
id_mutants.toml. One whose text is not found exactly once in its file is an error: update it.
"""

from __future__ import annotations

import random
import re
import sys
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest

    from mutants import Box

ROOT = Path(__file__).resolve().parents[1]
WANTED = 95.0  # percent
KILLED, SURVIVED, INVALID = "killed", "SURVIVED", "INVALID (its tests do not pass as they are)"


class IdMutant(NamedTuple):
    """One change that breaks what an id asks for."""

    id: str
    file: str  # from the project's folder
    old: str
    new: str
    breaks: str  # what is wrong afterwards


class StaleMutantError(Exception):
    """The text to replace is not in the file, or there more than once."""


class OnlyTestsThatCarry:
    """A plugin for pytest: deselects every test without the id."""

    def __init__(self, number: str) -> None:
        self.number = number

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if any(self.number in mark.args for mark in item.iter_markers("req"))]
        others = set(items) - set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item in others])
        items[:] = chosen


def load() -> list[IdMutant]:
    table = tomllib.loads((ROOT / "tools/id_mutants.toml").read_text("utf-8"))
    return [IdMutant(**row) for row in table["mutant"]]


def apply(mutant: IdMutant, folder: Path) -> str:
    """The text of the file with the change."""
    path = folder / mutant.file
    if not path.is_file():
        raise StaleMutantError(f"{mutant.id}: there is no {mutant.file}: update tools/id_mutants.toml")
    source = path.read_text("utf-8")
    if (count := source.count(mutant.old)) != 1:
        raise StaleMutantError(
            f"{mutant.id}: {mutant.file} has {count} times {mutant.old!r}: update tools/id_mutants.toml"
        )
    return source.replace(mutant.old, mutant.new)


def files_with_tests(number: str) -> list[str]:
    """Test files that mention the id; the plugin looks at the marks themselves."""
    mentioned = re.compile(rf"\b{re.escape(number)}\b(?!-)")
    return [file for file, text in _test_files() if number in text and mentioned.search(text)]


@cache
def _test_files() -> list[tuple[str, str]]:
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in paths]


def fate(mutant: IdMutant, box: Box) -> str:
    """Killed, survived, or invalid: the tests fail without the mutant too, or there are none."""
    path, changed, began = box.folder / mutant.file, apply(mutant, box.folder), time.monotonic()
    original, tests, plugins = path.read_text("utf-8"), files_with_tests(mutant.id), [OnlyTestsThatCarry(mutant.id)]
    if not box.passes(tests, 900, plugins=plugins):
        return INVALID
    seconds = 30 + 4 * (time.monotonic() - began)
    path.write_text(changed, "utf-8")
    try:
        return SURVIVED if box.passes(tests, seconds, plugins=plugins) else KILLED
    finally:
        path.write_text(original, "utf-8")


def judge_ids(box: Box, ids: list[str], seed: int, count: int) -> bool:
    """Whether enough of the chosen mutants are killed."""
    try:
        return _judge(box, ids, seed, count)
    except StaleMutantError as stale:
        sys.exit(str(stale))


def _judge(box: Box, ids: list[str], seed: int, count: int) -> bool:
    every = {mutant.id: mutant for mutant in load()}
    if missing := [number for number in ids if number not in every]:
        sys.exit(f"no mutant for {', '.join(missing)} in tools/id_mutants.toml")
    chosen = [every[number] for number in ids] or sorted(every.values())
    if not ids and 0 < count < len(chosen):
        chosen = sorted(random.Random(seed).sample(chosen, count))
    killed = 0
    for mutant in chosen:
        found = fate(mutant, box)
        killed += found == KILLED
        if found == INVALID:
            print(f"  {box.failures()}")
        print(f"{found} {mutant.id}: {mutant.breaks} ({mutant.file})", flush=True)
    share = 100 * killed / len(chosen)
    print(f"{killed} of {len(chosen)} killed by the tests that carry the id ({share:.0f} %)")
    return share >= WANTED

"""The tool behind `make mutants`: its changes, and that its tables match the source."""

from __future__ import annotations

import ast
import runpy
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

MUTATIONS = runpy.run_path(str(ROOT / "tools" / "mutations.py"))
BY_ID = runpy.run_path(str(ROOT / "tools" / "id_mutants.py"))
TABLE = tomllib.loads((ROOT / "tools" / "mutants.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a < b", ["a < b -> a <= b", "a < b -> a >= b"]),
        ("x = a and b", ["a and b -> a", "a and b -> a or b", "a and b -> b"]),
        ("x = not a", ["not a -> a"]),
        ("x = 5", ["5 -> 4", "5 -> 6"]),
        ("x = 'ab'", ["'ab' -> ''", "'ab' -> 'abaX'"]),
        ("x = 'prose is left alone'", []),
        ("x: int | None = y", []),
        ("f(a, b, c=d)", ["f(a, b, c=d) -> f(None, b, c=d)", "f(a, b, c=d) -> f(a, b)", "f(a, b, c=d) -> f(a, c=d)"]),
        ("raise x", ["raise x -> pass"]),
        ("with a: b = c", ["with a: b = c -> if True: b = c"]),
        ("self.a = b", ["self.a = b -> pass"]),
        ("def f(): return a", ["return a -> return None"]),
        ("x = a if b else c", ["a if b else c -> a if not b else c"]),
    ],
)
def test_what_may_stand_in_the_place_of_what(source: str, changes: list[str]) -> None:
    found = [mutant.change for mutant in MUTATIONS["mutants"](source)]
    assert sorted(change for change in found if change != f"{source} -> pass" or len(changes) == 1) == changes


def test_every_change_can_be_compiled_and_is_a_change() -> None:
    source = (ROOT / "src" / "spaniel" / "net" / "guard.py").read_text(encoding="utf-8")
    found = MUTATIONS["mutants"](source)
    assert len({mutant.source for mutant in found}) == len(found) > 100
    for mutant in found:
        compile(mutant.source, "a mutant", "exec")
        assert mutant.place in source


def test_the_files_the_tests_and_the_reasons_are_there() -> None:
    for file, tests in TABLE["tests"].items():
        assert (ROOT / "src" / "spaniel" / file).is_file()
        for test in tests:
            path, _, name = test.removeprefix("--deselect=").partition("::")  # a file, or one test of it
            assert (ROOT / path).exists()
            assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8")
    for row in TABLE["same"]:
        assert set(row) == {"file", "line", "changes", "why"}
        assert row["file"] in TABLE["tests"]
        assert row["changes"]
        assert row["why"]


def test_every_mutant_by_id_applies_and_has_tests() -> None:
    every = BY_ID["load"]()
    assert len({mutant.id for mutant in every}) == len(every) >= 100
    for mutant in every:
        changed = BY_ID["apply"](mutant, ROOT)
        if mutant.file.endswith(".py"):
            ast.parse(changed)
        else:
            tomllib.loads(changed)
        assert mutant.breaks
        assert BY_ID["files_with_tests"](mutant.id), f"no test carries {mutant.id}"


@pytest.mark.parametrize(
    ("source", "message"), [(None, "there is no"), ("a = 2", "0 times"), ("a = 1; a = 1", "2 times")]
)
def test_a_stale_mutant_by_id_is_an_error(tmp_path: Path, source: str | None, message: str) -> None:
    if source is not None:
        (tmp_path / "a.py").write_text(source, encoding="utf-8")
    with pytest.raises(BY_ID["StaleMutantError"], match=message):
        BY_ID["apply"](BY_ID["IdMutant"]("FG-01", "a.py", "a = 1", "a = 3", "it"), tmp_path)

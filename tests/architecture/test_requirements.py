"""Every requirement id that a reader meets in the code, the guides or the tests is explained in the docs, once."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter

import pytest

from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "explanation" / "requirements.md"
ID = re.compile(r"\b(?:D2-\d\d|(?:FG|CP|UN|DB|LH)-\d\d|(?:FR|NFR|IT|T)-WF-(?:[A-Z]+-)*\d\d[a-z]?)\b")
ELSEWHERE = ("tests/reading/golden", "src/spaniel/reading/judge/learnt.py", "src/spaniel/reading/judge/trees.py")


def explained() -> list[str]:
    return re.findall(r"^- \*\*([A-Z0-9a-z-]+)\*\* \S", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def referred_to() -> dict[str, str]:
    """Every number that a reader can meet, and a file that has it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    found: dict[str, str] = {}
    for name in files:
        path = ROOT / name
        if not name or name.startswith(ELSEWHERE) or path == PAGE or not path.is_file():
            continue
        for number in ID.findall(path.read_text(encoding="utf-8", errors="replace")):
            found.setdefault(number, name)
    return found


def marked(source: str) -> set[str]:
    """What a test file gives to its `req` marks, whether it is an id or not."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    marks = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "req"]
    parts = (part for call in marks for argument in call.args for part in ast.walk(argument))
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def test_every_number_is_explained() -> None:
    met = referred_to()
    assert len(met) > 200
    missing = {number: file for number, file in met.items() if number not in set(explained())}
    assert not missing


def test_no_number_is_explained_twice_and_each_group_is_in_order() -> None:
    assert not [number for number, times in Counter(explained()).items() if times > 1]
    for group in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        numbers = re.findall(r"^- \*\*([A-Z0-9a-z-]+)\*\*", group, re.MULTILINE)
        assert numbers
        assert numbers == sorted(numbers)


def test_every_mark_names_known_ids() -> None:
    known = set(explained())
    found = {str(path.relative_to(ROOT)): marked(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("*.py")}
    assert sum(map(len, found.values())) > 500
    assert not {file: sorted(ids - known) for file, ids in found.items() if ids - known}


def test_a_mark_with_an_unknown_id_is_found() -> None:
    source = '@pytest.mark.req("CFG-01", "FG-01")\ndef test(): ...\npytestmark = [mark.req(*("X-1",))]'
    assert marked(source) - set(explained()) == {"CFG-01", "X-1"}


@pytest.mark.parametrize("text", ["(FR-WF-05a)", '"T-WF-BR-ENV-01"', "D2-12,", "NFR-WF-SEC-01", "FR-WF-CFG-PREC-03."])
def test_numbers_are_recognized_as_people_write_them(text: str) -> None:
    [number] = ID.findall(text)
    assert number in text
    assert number in explained()


def test_no_document_is_named_that_a_reader_does_not_have() -> None:
    files = subprocess.run(
        ["git", "grep", "-lE", "THREATS" + r"\.md|REQUIREMENTS" + r"\.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    assert not files

"""The one form of a file: in order, and the same again when it is formatted again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from spaniel.errors import SpanielError
from spaniel.registry import formatting
from spaniel.registry.database import misfits, reformat
from spaniel.registry.host_file import formatted, read_file
from tests.registry.files import HASH, MINIMAL, ODDITIES, WILD, contents, database


def form(raw: bytes) -> bytes:
    return formatted(read_file(raw.decode(), "f", "example.com")).encode()


def meaning(raw: bytes) -> list[object]:
    """What every record says, in the order of the paths, whatever the order of its keys."""
    file = read_file(raw.decode(), "f", "example.com")
    records = [
        {**record.keys, "categories": sorted(record.categories), "content-sha256": record.content_sha256}
        for record in file.records
    ]
    return [sorted(file.metadata.cnames), *sorted(records, key=lambda keys: str(keys["_path"]))]


@pytest.mark.req("DB-03", "DB-11")
@pytest.mark.parametrize("name", ODDITIES)
def test_a_formatted_file_means_the_same_and_is_the_same_the_second_time(name: str) -> None:
    once = form(ODDITIES[name])
    assert form(once) == once
    assert meaning(once) == meaning(ODDITIES[name])
    paths = [record.path for record in read_file(once.decode(), "f", "example.com").records]
    assert paths == sorted(paths)


@pytest.mark.req("DB-11", "DB-12")
@pytest.mark.parametrize("raw", [MINIMAL, WILD, WILD.replace(b"\n", b"\r\n")])
def test_what_a_plain_dumper_writes_is_in_form(raw: bytes) -> None:
    assert form(raw) == raw


@pytest.mark.req("DB-03")
def test_the_form_is_that_of_a_dumper_with_sorted_keys() -> None:
    file = read_file(WILD.decode(), "f", "example.com")
    documents = [dict(file.metadata.keys), *(dict(record.keys) for record in file.records)]
    typed = [
        {
            key: int(str(v)) if key == "content-length" else v == "true" if v in ("true", "false") else v
            for key, v in d.items()
        }
        for d in documents
    ]
    assert yaml.safe_dump_all(typed, explicit_start=True).encode() == WILD


@pytest.mark.req("DB-03", "DB-13")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\n---\n_path: /b\n---\n_path: /a\n", "---\n---\n_path: /a\n---\n_path: /b\n"),
        ("---\n---\n_path: /a\n---\n_path: /B\n", "---\n---\n_path: /B\n---\n_path: /a\n"),
        ("---\n---\nz: 1\n_path: /a\nX: 2\n", "---\n---\nX: 2\n_path: /a\nz: 1\n"),
        (
            "---\n---\n# of z\nz: 1\n# of path\n_path: /a\n# end\n",
            "---\n---\n# of path\n_path: /a\n# of z\nz: 1\n# end\n",
        ),
        ("---\ncnames:\n- b.example\n- a.example\n", "---\ncnames:\n- a.example\n- b.example\n"),
        (
            "---\ncnames:\n  # of b\n  - b.example\n  - a.example # of a\n",
            "---\ncnames:\n  - a.example # of a\n  # of b\n  - b.example\n",
        ),
        ("---\n---\n_path: /a\ncategories:\n- z\n- y\n", "---\n---\n_path: /a\ncategories:\n- y\n- z\n"),
        ("---\n---\n_path: /a\nother:\n- z\n- y\n", "---\n---\n_path: /a\nother:\n- z\n- y\n"),  # not ours to sort
        ("---\n---\nother:\n- z\n- y\n_path: /a\n", "---\n---\n_path: /a\nother:\n- z\n- y\n"),
        (
            f"---\n---\n_path: /a\ncontent-sha256: {HASH.upper()} # x\n",
            f"---\n---\n_path: /a\ncontent-sha256: {HASH} # x\n",
        ),
        ("---\n---\n_path: /a", "---\n---\n_path: /a\n"),
        ("\ufeff---\n---\n_path: /a\n", "---\n---\n_path: /a\n"),
        ("--- \n---\t\n_path: /a\n", "---\n---\n_path: /a\n"),
        ("cnames:\n- a.example\n---\n_path: /a\n", "---\ncnames:\n- a.example\n---\n_path: /a\n"),
        ("---\r\n---\n_path: /a\n", "---\r\n---\r\n_path: /a\r\n"),
        ("---\n---\r\n_path: /a\r\n", "---\n---\n_path: /a\n"),
        ("---\n---\n_path: /a\r\n", "---\n---\n_path: /a\n"),
        ("---\r\n---\r\n_path: /a\nz: 1\r\n", "---\r\n---\r\n_path: /a\r\nz: 1\r\n"),
        ("---\n---\nz: |\n  text\n_path: /a\n", "---\n---\n_path: /a\nz: |\n  text\n"),
        ("---\n---\nz: 'x\n  y'\n_path: /a\n", "---\n---\n_path: /a\nz: 'x\n  y'\n"),
    ],
)
def test_lines_are_moved_and_nothing_is_written_anew(before: str, after: str) -> None:
    assert form(before.encode()).decode() == after


@pytest.mark.parametrize(
    "items",
    [
        "- b\n  more\n- a\n",  # an item on two lines
        "- z\n- |\n  # a\n",  # text that looks like a comment
        "- z\n- |\n  - a\n",  # text that looks like an item
        "- z\n- >-\n\n  a\n",
    ],
)
def test_items_of_several_lines_stay_where_they_are(items: str) -> None:
    raw = f"---\n---\n_path: /a\ncategories:\n{items}".encode()
    assert form(raw) == raw
    assert form(raw.replace(b"\n_path", b"\nz: 1\n_path")) == raw + b"z: 1\n"  # other keys are sorted all the same


@pytest.mark.parametrize("record", ["--- {z: 1, _path: /a}\n", "---\n{z: 1,\n _path: /a}\n"])
def test_a_record_within_braces_is_left_as_it_is(record: str) -> None:
    assert form(f"---\n{record}".encode()).decode() == f"---\n{record}"


def test_what_could_not_be_moved_without_changing_a_value_is_left_alone() -> None:
    """An indented comment behind a block of text would be a part of it."""
    raw = b"---\n---\na: |\n  text\n_path: /a\nc: 1\n  # indented\nb: 2\n"
    assert form(raw) == raw
    assert form(raw.replace(b"  # in", b"# in")) == (
        b"---\n---\n_path: /a\na: |\n  text\n# indented\nb: 2\nc: 1\n"  # the control
    )


@pytest.mark.req("DB-11")
def test_formatting_a_folder_is_idempotent(tmp_path: Path) -> None:
    found = database(tmp_path, m_example=ODDITIES["unsorted"], b_example=MINIMAL, c_example=b"---\n---\nbroken\n")
    result: list[SpanielError] = []
    assert [(Path(each.file).name, each.line) for each in misfits(found, result.append)] == [("m.example.yaml", 3)]
    before = contents(tmp_path)
    assert [Path(each.file).name for each in reformat(found, result.append)] == ["m.example.yaml"]
    after = contents(tmp_path)
    assert after["m.example.yaml"] == form(ODDITIES["unsorted"])
    assert {name for name in before if before[name] != after[name]} == {"m.example.yaml"}
    assert not list(reformat(found, result.append))
    assert contents(tmp_path) == after
    assert all("c.example.yaml:3:1" in error.message for error in result)
    assert len(result) == 3


@pytest.mark.req("DB-03")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[b, a]", "[a, b]"),
        ("[ b,a,  c ] # [y, x]", "[ a,b,  c ] # [y, x]"),
        ("[]", "[]"),
        ("['b', a] # [y, x]", "[a, 'b'] # [y, x]"),
        ("[b, a,]", "[a, b,]"),
        ("[b,\n  a]", "[a,\n  b]"),
        ("['it''s', \"b, \\\" [\", a b]", "[a b, \"b, \\\" [\", 'it''s']"),
        ("[\n    'b',\n    a,\n  ]", "[\n    a,\n    'b',\n  ]"),
        ("[b, # why\n  a]", "[b, # why\n  a]"),  # whose comment would it be?
        ("[b\n   c, a]", "[b\n   c, a]"),  # a word over two lines
    ],
)
def test_words_in_brackets_change_places_and_all_else_stays(before: str, after: str) -> None:
    raw = "---\n---\n_path: /a\ncategories: {}\n"
    assert form(raw.format(before).encode()).decode() == raw.format(after)


@pytest.mark.req("DB-11")
@pytest.mark.parametrize(
    "inside",
    [
        "a" + " " * 50_000 + "#",
        "a," + "\n" * 20_000 + "{}",
        "'" * 50_000,
        "a, " * 15_000 + "{",
        "b" + " a" * 20_000 + "{",
    ],
    ids=["spaces", "lines", "quotes", "words", "a phrase"],
)
def test_brackets_that_are_no_list_of_words_are_told_apart_in_linear_time(inside: str) -> None:
    """With a quantifier that goes back, fifty thousand spaces take minutes: the test would not end."""
    assert re.fullmatch(formatting._FLOW, f"categories: [{inside}") is None
    assert re.fullmatch(formatting._FLOW, "categories: [b, a]\n") is not None

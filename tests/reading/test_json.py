"""JSON: the data whole and untouched, and its text in lines for those who read."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading import read
from spaniel.reading.document import Document
from spaniel.reading.formats.json import INVALID_JSON, MAX_JSON_DEPTH, measure_json
from spaniel.reading.kinds import kind_of

TYPES = [
    "application/json",
    "text/json",
    "application/ld+json",
    "application/problem+json; charset=utf-8",
    "application/jsonl",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def read_json(body: bytes | str, content_type: str = "application/json") -> Document:
    return read(body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body, content_type, None)


def fence_of(document: Document) -> str:
    first, _, rest = document.markdown.partition("\n")
    mark = first.removesuffix("json")
    assert set(mark) == {"`"}
    assert len(mark) >= 3
    inside, _, last = rest.removesuffix("\n").rpartition("\n")
    assert last == mark
    assert mark not in inside
    return inside


@pytest.mark.req("FG-25")
@pytest.mark.parametrize("content_type", TYPES)
def test_json_is_data_and_text_in_a_fence(content_type: str) -> None:
    document = read_json('{"b": [1, {"a": "x"}], "empty": [], "none": {}}', content_type)
    assert document.data == '{"b": [1, {"a": "x"}], "empty": [], "none": {}}'
    assert document.kind == "json"
    assert document.notes == ()
    assert document.markdown == (
        '```json\n{\n  "b": [\n    1,\n    {\n      "a": "x"\n    }\n  ],\n  "empty": [],\n  "none": {}\n}\n```\n'
    )


@pytest.mark.req("FG-25")
@pytest.mark.parametrize(
    "text",
    [
        "123456789012345678901234567890123456789",
        "0.1000000000000000000000000000000000000000001",
        "1e999999",
        "-0",
        "9" * 5000,
        '{"a": 1, "b": 2, "a": 3}',
        '{"z": 1, "a": 2}',
        '"\\u00e9 \\ud83d\\ude00 \\/"',
    ],
)
def test_no_digit_key_or_order_is_lost(text: str) -> None:
    document = read_json(text)
    assert document.data == text
    assert "".join(fence_of(document).split()) == "".join(text.split())


@pytest.mark.req("FG-25")
@given(VALUES)
def test_the_data_and_what_is_shown_of_it_are_equal_to_the_body(value: Any) -> None:
    body = json.dumps(value)
    document = read_json(body)
    assert document.data is not None
    shown = json.loads(fence_of(document))
    assert json.loads(document.data) == shown == json.loads(document.data)
    if "\\ud" not in body:  # halves of characters are replaced
        assert shown == value


@given(st.text(alphabet='[]{},:"\\a1 \n', max_size=40))
def test_what_is_json_to_python_is_json_here_and_else_it_is_text(text: str) -> None:
    try:
        json.loads(text, parse_constant=float.fromhex)
        valid = True
    except ValueError:
        valid = False
    document = read_json(text)
    if valid:
        assert document.data == text.strip()
    elif document.data is None:
        assert document.notes == (INVALID_JSON,)
    else:  # JSON lines
        assert json.loads(document.data) == [json.loads(line) for line in text.split("\n") if line.strip()]


@pytest.mark.req("FG-25")
@pytest.mark.parametrize(
    "body", ["{'a': 1}", '{"a": 1,}', "NaN", "[Infinity]", "[1, 2", "01", "", "some words", '"\x01"']
)
def test_what_is_no_json_is_passed_on_as_text_with_a_note(body: str) -> None:
    document = read_json(body)
    assert document.data is None
    assert document.notes == (INVALID_JSON,)
    assert document.markdown == read(body.encode(), "text/plain", None).markdown


def test_lines_of_json_are_a_list() -> None:
    document = read_json('{"a": 1}\r\n\n{"b": [2]}\n', "application/x-ndjson")
    assert document.data is not None
    assert json.loads(document.data) == [{"a": 1}, {"b": [2]}]
    assert json.loads(fence_of(document)) == [{"a": 1}, {"b": [2]}]
    assert read_json('{"a": 1}\n{"b": \n2}').notes == (INVALID_JSON,)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_tells_the_encoding(encoding: str) -> None:
    assert read_json('["é"]'.encode(encoding)).data == '["é"]'


def test_the_header_tells_the_encoding() -> None:
    assert read(b'["\xe9"]', "application/json; charset=latin1", None).data == '["é"]'


def test_half_a_character_is_replaced_and_a_whole_one_stays() -> None:
    document = read_json(r'["\ud800", "\ud83d\ude00", "\\ud800", "\uDFFFx"]')
    assert document.data == r'["\ufffd", "\ud83d\ude00", "\\ud800", "\ufffdx"]'
    msgspec.json.decode(document.data)


def test_a_fence_in_a_string_does_not_end_the_fence() -> None:
    document = read_json(json.dumps({"readme": "```` x ``` y"}))
    assert document.markdown.startswith("`````json\n")
    assert json.loads(fence_of(document)) == {"readme": "```` x ``` y"}


def test_what_cannot_be_seen_goes_from_the_text_and_stays_in_the_data() -> None:
    document = read_json('["a\u200bb\u202e"]')
    assert document.hygiene.invisible_characters == 2
    assert fence_of(document) == '[\n  "ab"\n]'
    assert document.data == '["a\u200bb\u202e"]'


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH, MAX_JSON_DEPTH + 1, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_json_up_to_a_limit_and_text_beyond(depth: int, opening: str, closing: str) -> None:
    document = read_json(opening * depth + "1" + closing * depth)
    assert (document.data is None) is (depth > MAX_JSON_DEPTH)
    assert document.notes == ((INVALID_JSON,) if depth > MAX_JSON_DEPTH else ())
    assert read_json(opening * depth).notes == (INVALID_JSON,)


def test_what_would_be_mostly_indentation_stays_as_it_came() -> None:
    text = "[" * 300 + "1," * 50_000 + "1" + "]" * 300
    document = read_json(text)
    assert document.data == text
    assert fence_of(document) == text
    assert document.notes == ()


@given(VALUES)
def test_the_length_in_lines_is_foreseen(value: Any) -> None:
    """Never less than it is: a text that is thought to fit must fit."""
    text = json.dumps(value).encode()
    structure = measure_json(text)
    assert len(msgspec.json.format(text, indent=2)) <= len(text) + structure.more
    assert structure.depth <= text.count(b"[") + text.count(b"{")


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ({"openapi": "3.1.0", "info": {"title": "An API"}, "title": "no"}, "An API"),
        ({"swagger": "2.0", "info": {"title": "Old"}}, "Old"),
        ({"openapi": "3.1.0", "info": [1]}, None),
        ({"@context": "https://schema.org", "headline": "A\nheadline", "name": "n"}, "A headline"),
        ({"@context": {}, "name": "A name"}, "A name"),
        ({"@context": "x", "name": ["A name"]}, None),
        ({"title": "of what?", "name": "whose?"}, None),
        ([{"@context": "x", "name": "A name"}], None),
    ],
)
def test_a_title_is_taken_only_where_the_format_has_one(value: object, title: str | None) -> None:
    assert read_json(json.dumps(value)).title == title


@pytest.mark.req("FR-WF-10h")
def test_without_a_type_json_is_looked_for_only_by_who_reads_it() -> None:
    assert kind_of(None, b' {"a": 1}', ("html", "text")).reader == "text"
    assert kind_of(None, b' {"a": 1}').reader == "text"
    assert kind_of(None, b' {"a": 1}', ("html", "text", "json")).reader == "json"
    assert kind_of(None, b"[1, 2", ("html", "text", "json")).reader == "text"
    assert kind_of(None, b"12", ("html", "text", "json")).reader == "text"
    assert kind_of("text/plain", b'{"a": 1}', ("html", "text", "json")).reader == "text"

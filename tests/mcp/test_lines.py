"""Lines out of bytes: laws for whole ones, and what is known of those that are too long."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.mcp.pipes import EDGE, MessageLines, TooLong

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "method", "a"]), inner),
    max_leaves=12,
)


def split(data: bytes, size: int, longest: int) -> list[bytes | TooLong]:
    lines = MessageLines(longest)
    found = [line for start in range(0, len(data), size) for line in lines.feed(data[start : start + size])]
    return [*found, *lines.rest()]


@given(st.binary(max_size=200).map(lambda data: data.replace(b"\x00", b"\n")), st.integers(1, 50))
def test_however_bytes_come_the_lines_are_the_same(data: bytes, size: int) -> None:
    whole = data.split(b"\n")
    assert split(data, size, 1000) == (whole if whole[-1] else whole[:-1])


@given(st.lists(st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")), max_size=8), st.integers(1, 50))
def test_a_line_that_is_too_long_does_not_touch_its_neighbours(whole: list[bytes], size: int) -> None:
    found = split(b"".join(line + b"\n" for line in whole), size, 30)
    assert len(found) == len(whole)
    for line, kept in zip(whole, found, strict=True):
        if isinstance(kept, TooLong):
            assert (len(line) > 30, kept.size) == (True, len(line))
            assert line.startswith(kept.head)
            assert line.endswith(kept.tail)
        else:
            assert kept == line


@given(VALUES, st.integers(0, 10**9) | st.text(max_size=30), st.permutations(["jsonrpc", "id", "method", "params"]))
def test_the_id_of_a_message_is_never_that_of_something_inside_it(
    params: object, number: object, order: list[str]
) -> None:
    fields = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"x": "y" * 3 * EDGE, "z": params}}
    line = json.dumps({name: fields[name] for name in order}).encode()
    [kept] = split(line, 1000, 100)
    assert isinstance(kept, TooLong)
    assert kept.members() == {name: fields[name] for name in ("jsonrpc", "id", "method")}


@pytest.mark.parametrize(
    "line", [b"x" * 200, b'{"id": [' + b"1," * 200, b'{"id":"\\q",' + b" " * 200, b"{" * 200, b"}" * 200]
)
def test_of_what_is_no_message_nothing_is_known(line: bytes) -> None:
    [kept] = split(line, 7, 100)
    assert isinstance(kept, TooLong)
    assert kept.members() == {}

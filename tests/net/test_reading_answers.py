"""One answer from any bytes, however they are cut: the same outcome, in bounded memory, or one of two refusals."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.net import responses
from spaniel.net.responses import (
    LONGEST_LINE,
    MAX_INTERIM,
    STEP,
    BrokenBodyError,
    MalformedError,
    NoResponseError,
    Response,
)
from tests.net.streams import cut, streams
from tests.net.test_answers import HARMLESS, MALFORMED

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def outcome(pieces: list[bytes], *, bodiless: bool = False, ended: Exception | None = None) -> object:
    """What came of it when the connection has ended: all that a caller can see, or what is wrong."""
    answer, body = Response(bodiless=bodiless), bytearray()
    try:
        for piece in pieces:
            answer.feed(piece)
            body += b"".join(answer.pieces)
            answer.pieces.clear()
    except (MalformedError, BrokenBodyError) as error:
        return "longer" if answer.unsolicited else repr(error)
    wrong = answer.end(ended)
    if wrong is not None:
        return repr(wrong)
    if answer.unsolicited and not bodiless and answer.status != 101:
        return "longer"  # than it says: refused or cut there, as it comes in one piece or not
    return answer.status, answer.reason, answer.headers, answer.locations, bytes(body), answer.persistent


@pytest.mark.req("NFR-WF-REL-03")
@settings(max_examples=100, deadline=None)
@given(data=st.data(), sent=streams(), bodiless=st.booleans())
def test_the_same_bytes_are_the_same_answer_however_they_are_cut(
    data: st.DataObject, sent: bytes, bodiless: bool
) -> None:
    whole = outcome([sent], bodiless=bodiless)
    assert outcome(data.draw(cut(sent)), bodiless=bodiless) == whole
    drops = [sent[i : i + 1] for i in range(min(len(sent), 3000))]
    assert outcome([*drops, sent[3000:]] if len(sent) > 3000 else drops, bodiless=bodiless) == whole


@pytest.mark.req("NFR-WF-REL-03")
@settings(max_examples=100, deadline=None)
@given(
    pieces=st.lists(st.binary(max_size=300), max_size=5), start=st.sampled_from([b"", OK, CHUNKED, CHUNKED + b"3\r\n"])
)
def test_no_bytes_at_all_bring_anything_but_an_answer_or_a_refusal(pieces: list[bytes], start: bytes) -> None:
    """`outcome` lets every other exception through."""
    sent = [piece for piece in (start, *pieces) if piece]
    outcome(sent)
    outcome(sent, bodiless=True)


LONG = bytes(range(256)) * 400  # more than three looks
LONG_ANSWERS = [
    OK + b"Content-Length: %d\r\n\r\n" % len(LONG) + LONG,
    OK + b"\r\n" + LONG,
    CHUNKED + b"%x\r\n%s\r\n0\r\nX: y\r\n\r\n" % (len(LONG), LONG),
    CHUNKED + b"".join(b"64\r\n%s\r\n" % LONG[i : i + 100] for i in range(0, len(LONG), 100)) + b"0\r\n\r\n",
]


@pytest.mark.parametrize("size", [1000, STEP - 1, STEP, STEP + 1, 1 << 18])
@pytest.mark.parametrize("sent", LONG_ANSWERS)
def test_a_long_body_is_whole_wherever_it_is_looked_at(sent: bytes, size: int) -> None:
    found = outcome([sent[i : i + size] for i in range(0, len(sent), size)])
    assert isinstance(found, tuple)
    assert found[4] == LONG


@pytest.mark.parametrize("size", [1, 7, 4096, 1 << 18])
@pytest.mark.parametrize("sent", HARMLESS.values(), ids=HARMLESS)
def test_an_unusual_answer_is_read_at_any_pace(sent: bytes, size: int) -> None:
    found = outcome([sent[i : i + size] for i in range(0, len(sent), size)])
    assert found == outcome([sent])
    assert isinstance(found, tuple)
    assert found[0] == 200


@pytest.mark.parametrize("sent", [sent for sent in MALFORMED.values() if len(sent) > 100_000])
def test_what_is_too_long_is_refused_before_it_is_held(sent: bytes) -> None:
    """Endless ones would otherwise be held for as long as the deadline lasts."""
    answer, fed = Response(), 0

    def feed() -> None:
        nonlocal fed
        for fed in range(0, len(sent), 1024):
            answer.feed(sent[fed : fed + 1024])

    with pytest.raises((MalformedError, BrokenBodyError)):
        feed()
    assert fed < 2 * STEP + 2048


@pytest.mark.parametrize(
    ("length", "right"), [(LONGEST_LINE - 1, True), (LONGEST_LINE, False), (2 * LONGEST_LINE, False)]
)
def test_a_field_is_as_long_as_a_line_may_be(length: int, right: bool) -> None:
    sent = OK + b"X:" + b" " * 10 + b"y" * length + b"\r\nContent-Length: 0\r\n\r\n"
    for size in (1 << 18, 1000):
        found = outcome([sent[i : i + size] for i in range(0, len(sent), size)])
        assert isinstance(found, tuple) is right, found


def test_so_is_a_reason() -> None:
    for length, right in ((LONGEST_LINE, True), (LONGEST_LINE + 1, False)):
        found = outcome([b"HTTP/1.1 200 " + b"y" * length + b"\r\nContent-Length: 0\r\n\r\n"])
        assert isinstance(found, tuple) is right


@pytest.mark.parametrize(("count", "right"), [(127, True), (128, False)])
def test_there_are_as_many_fields_as_there_may_be(count: int, right: bool) -> None:
    sent = OK + b"X: y\r\n" * count + b"Content-Length: 0\r\n\r\n"
    assert isinstance(outcome([sent]), tuple) is right
    trailer = CHUNKED + b"0\r\n" + b"X: y\r\n" * (count + 1) + b"\r\n"
    assert isinstance(outcome([trailer]), tuple) is right


@pytest.mark.parametrize(("count", "right"), [(MAX_INTERIM, True), (MAX_INTERIM + 1, False)])
def test_there_are_as_many_interim_answers_as_there_may_be(count: int, right: bool) -> None:
    sent = b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n" * count + OK + b"X: z\r\nContent-Length: 0\r\n\r\n"
    found = outcome([sent])
    assert isinstance(found, tuple) is right
    if isinstance(found, tuple):
        assert found[2] == {"x": "z", "content-length": "0"}  # nothing of theirs


def test_a_name_has_no_blank_and_no_case() -> None:
    found = outcome([OK + b"Content-LENGTH : 2\r\n\r\nab"])
    assert isinstance(found, tuple)
    assert found[2] == {"content-length": "2"}
    assert outcome([OK + b"Content-Length : 3\r\n\r\nab"]) == repr(BrokenBodyError())


def test_fields_of_one_name_are_joined_and_those_for_robots_kept_apart() -> None:
    found = outcome([OK + b"A: 1\r\nX-Robots-Tag: x: a\r\na: 2\r\nX-Robots-Tag: b\r\nContent-Length: 0\r\n\r\n"])
    assert isinstance(found, tuple)
    assert found[2] == {"a": "1, 2", "x-robots-tag": "x: a\nb", "content-length": "0"}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_it_is_known_how_often_a_place_is_named(count: int) -> None:
    found = outcome([OK + b"Location: /x\r\n" * count + b"Content-Length: 0\r\n\r\n"])
    assert isinstance(found, tuple)
    assert found[3] == count


def test_bytes_that_are_no_text_are_kept_as_they_are() -> None:
    found = outcome([b"HTTP/1.1 200 \xfe\r\nX: \xc3\xa9\xff\r\nContent-Length: 0\r\n\r\n"])
    assert isinstance(found, tuple)
    assert (found[1], found[2]["x"]) == ("\udcfe", "\u00e9\udcff")


def test_names_that_somebody_makes_up_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "_NAMES", {})
    monkeypatch.setattr(responses, "MAX_NAMES", 3)
    long = b"L" * 64
    sent = OK + long + b": 1\r\n" + b"".join(b"N%d: y\r\n" % i for i in range(9)) + b"Content-Length: 0\r\n\r\n"
    found = outcome([sent])
    assert isinstance(found, tuple)
    assert len(found[2]) == 11
    assert responses._NAMES == {b"N0": "n0", b"N1": "n1", b"N2": "n2"}


def test_it_is_known_whether_anything_has_come() -> None:
    answer = Response()
    assert not answer.begun
    answer.feed(b"H")
    assert answer.begun


def test_where_only_the_end_marks_the_end_a_broken_connection_is_none() -> None:
    broken = ConnectionResetError()
    assert outcome([OK + b"\r\nabc"], ended=broken) == repr(broken)
    assert isinstance(outcome([OK + b"\r\nabc"]), tuple)
    for short in (OK + b"Content-Length: 9\r\n\r\nabc", CHUNKED + b"3\r\nabc\r\n", CHUNKED + b"3\r\nabc\r\n0\r\n"):
        for ended in (broken, None):
            assert outcome([short], ended=ended) == repr(BrokenBodyError())
    assert isinstance(outcome([OK + b"Content-Length: 3\r\n\r\nabc"], ended=broken), tuple)


def test_a_connection_that_ends_in_a_head_has_brought_no_answer() -> None:
    for sent in (b"", b"HTTP/1.1", OK, OK + b"X: y\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"):
        assert outcome([sent]) == repr(NoResponseError())


@pytest.mark.parametrize(
    ("head", "persistent"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_a_connection_is_kept_as_its_server_says(head: bytes, persistent: bool) -> None:
    for bodiless in (False, True):
        found = outcome([head + b"\r\n"], bodiless=bodiless)
        assert isinstance(found, tuple)
        assert found[-1] is persistent


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"])
def test_after_a_head_alone_nothing_more_is_waited_for(head: bytes) -> None:
    """Without a length, a body would last until the connection ends; an answer to HEAD has none."""
    for more, persistent in ((b"", True), (b"Connection: close\r\n", False)):
        answer = Response(bodiless=True)
        answer.feed(head + more + b"\r\n")
        assert (answer.complete, answer.persistent) == (True, persistent)


def test_another_protocol_is_not_spoken() -> None:
    answer = Response()
    answer.feed(b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello")
    assert (answer.status, answer.complete, answer.unsolicited, answer.pieces) == (101, True, True, [])


def test_an_answer_that_is_complete_is_left_to_no_garbage_collector() -> None:
    """It and its parser hold each other while it comes; a link a time, these would add up."""

    class Watched(Response):
        pass

    gc.disable()
    try:
        answer = Watched(bodiless=True)
        answer.feed(OK + b"\r\n")
        gone = weakref.ref(answer)
        del answer
        assert gone() is None
    finally:
        gc.enable()

"""The edges of an answer: numbers as they are, what is said at each of them, and nothing of the next answer."""

from __future__ import annotations

import pytest

from spaniel.net import responses
from spaniel.net.responses import BrokenBodyError, MalformedError, Response
from tests.net.test_reading_answers import CHUNKED, OK, outcome

LINE = 32_768  # bytes of a field or a reason
EMPTY = b"Content-Length: 0\r\n\r\n"


def whole(sent: bytes, *, bodiless: bool = False) -> tuple[int, str, dict[str, str], int, bytes, bool]:
    found = outcome([sent], bodiless=bodiless)
    assert isinstance(found, tuple), found
    return found


def fed_until_refused(sent: bytes) -> int:
    """How much of it, in small pieces, before it is too much."""
    answer = Response()
    for fed in range(0, len(sent), 1024):
        try:
            answer.feed(sent[fed : fed + 1024])
        except (MalformedError, BrokenBodyError):
            return fed
    raise AssertionError("it was all taken")


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (OK + b"X: y\r\n" * 129 + b"\r\n", "more than 128 header fields"),
        (OK + b"X:" + b"y" * LINE + b"\r\n\r\n", "a line of more than 32768 bytes"),
        (b"HTTP/1.1 200 " + b"y" * (LINE + 1) + b"\r\n\r\n", "a line of more than 32768 bytes"),
        (b"HTTP/1.1 103 Hints\r\n\r\n" * 65 + OK + EMPTY, "more than 64 interim answers"),
        (OK + b"X: a\0b\r\n\r\n", "NUL in a header field"),
        (b"junk\r\n", "Expected HTTP/"),
    ],
)
def test_what_is_wrong_is_said(sent: bytes, message: str) -> None:
    with pytest.raises(MalformedError) as refused:
        Response().feed(sent)
    assert message in str(refused.value)


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize(
    "sent",
    [
        OK + b"X: y\r\n" * 127 + EMPTY,
        OK + b"X:" + b"y" * (LINE - 1) + b"\r\n" + EMPTY,
        b"HTTP/1.1 200 " + b"y" * LINE + b"\r\n" + EMPTY,
        b"HTTP/1.1 103 Hints\r\n\r\n" * 64 + OK + EMPTY,
        OK + b"X: " + b"y" * 30_000 + b"\r\nY: " + b"z" * 30_000 + b"\r\n" + EMPTY,
        CHUNKED + b"0\r\nX: " + b"y" * 30_000 + b"\r\n\r\n",
    ],
)
def test_just_as_much_is_an_answer(sent: bytes) -> None:
    assert whole(sent)[0] == 200
    cut = outcome([sent[i : i + 1000] for i in range(0, len(sent), 1000)])
    assert isinstance(cut, tuple)


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize(
    ("start", "looks"),
    [
        (b"HTTP/1.1 200 ", 2),
        (OK + b"X: ", 2),
        (OK + b"A: b\r\n" * 9 + b"X", 3),  # at the first of which others had come
        (CHUNKED + b"0\r\nX: ", 2),
        (CHUNKED + b"3\r\nabc\r\n0\r\nX: ", 2),
        (CHUNKED + b"3;x=", 2),  # behind the size of a chunk
        (CHUNKED + b"3\r\nabc\r\n3;x=", 2),
    ],
)
def test_a_line_without_end_is_refused_after_two_looks(start: bytes, looks: int) -> None:
    """It would be held for as long as the deadline lasts."""
    assert (looks - 1) * LINE <= fed_until_refused(start + b"y" * 200_000) <= looks * LINE


def test_a_long_head_of_many_fields_is_not_one_long_line() -> None:
    sent = OK + b"".join(b"X%d: %s\r\n" % (i, b"y" * 20_000) for i in range(20)) + EMPTY
    for size in (1000, 40_000, 1 << 20):
        found = outcome([sent[i : i + size] for i in range(0, len(sent), size)])
        assert isinstance(found, tuple)
        assert len(found[2]) == 21


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_an_answer_before_the_answer_is_none_and_leaves_nothing(status: int) -> None:
    sent = b"HTTP/1.1 %d Early\r\nLink: </x>\r\nLocation: /y\r\n\r\n" % status + OK + EMPTY
    assert whole(sent) == (200, "OK", {"content-length": "0"}, 0, b"", True)


def test_a_head_without_a_body_is_left_to_who_reads_on() -> None:
    status, reason, *_ = whole(b"HTTP/1.1 200 Two words\r\n" + EMPTY)
    assert (status, reason) == (200, "Two words")


@pytest.mark.req("FR-WF-06a", "NFR-WF-REL-03")
def test_an_answer_behind_the_answer_changes_nothing_of_it() -> None:
    mine = b"HTTP/1.1 200 Mine\r\nX: mine\r\nContent-Length: 4\r\n\r\npage"
    other = b"HTTP/1.1 201 Other\r\nX: other\r\nY: z\r\nContent-Length: 6\r\n\r\npoison"
    for behind in (other, b"junk", other[:20]):
        answer = Response()
        answer.feed(mine[:-1])
        answer.feed(mine[-1:] + behind)
        assert (answer.complete, answer.unsolicited) == (True, True)
        assert (answer.status, answer.reason, answer.headers["x"]) == (200, "Mine", "mine")
        assert b"".join(answer.pieces) == b"page"
        late = Response()
        late.feed(mine[:-1])
        late.feed(mine[-1:])
        assert not late.unsolicited
        late.feed(behind)
        assert (late.unsolicited, late.headers["x"], b"".join(late.pieces)) == (True, "mine", b"page")


@pytest.mark.parametrize("together", [True, False])
def test_a_body_behind_a_head_alone_is_seen_and_not_taken(together: bool) -> None:
    answer, head = Response(bodiless=True), OK + b"Content-Length: 4\r\n\r\n"
    for piece in (head + b"page",) if together else (head, b"page"):
        answer.feed(piece)
    assert (answer.status, answer.complete, answer.unsolicited, answer.pieces) == (200, True, True, [])


def test_cookies_are_kept_apart_since_a_comma_may_be_part_of_one() -> None:
    sent = OK + b"Set-Cookie: a=1; Expires=Mon, 16 Nov\r\nSet-Cookie: b=2\r\n" + EMPTY
    assert whole(sent)[2]["set-cookie"] == "a=1; Expires=Mon, 16 Nov\nb=2"


def test_only_blanks_are_taken_from_the_end_of_a_value() -> None:
    assert whole(OK + b"X: a\xc2\xa0 \t\r\n" + EMPTY)[2]["x"] == "a\u00a0"


@pytest.mark.parametrize("bodiless", [False, True])
def test_how_a_connection_ended_before_the_answer_is_handed_on(bodiless: bool) -> None:
    broken = ConnectionResetError()
    for sent in ([], [OK]):
        assert outcome(sent, bodiless=bodiless, ended=broken) == repr(broken)


def test_response_without_framing_ends_with_the_connection() -> None:
    answer = Response()
    answer.feed(OK + b"\r\nabc")
    assert not answer.complete
    assert answer.end(None) is None
    assert answer.complete


@pytest.mark.parametrize(
    ("sent", "persistent"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\n\r\n", False),
    ],
)
def test_after_a_head_alone_a_connection_is_kept_as_its_server_says(sent: bytes, persistent: bool) -> None:
    assert whole(sent, bodiless=True)[-1] is persistent


def test_with_a_body_that_only_the_end_ends_there_is_no_connection_to_keep() -> None:
    assert whole(b"HTTP/1.1 200 OK\r\n\r\nabc")[-1] is False


def test_names_are_remembered_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "_NAMES", {})
    for length in (63, 64):
        whole(OK + b"L" * length + b": 1\r\n" + EMPTY)
    assert set(responses._NAMES) == {b"L" * 63, b"Content-Length"}


@pytest.mark.req("NFR-WF-REL-03")
@pytest.mark.parametrize(
    "sent",
    [
        OK + b"Content-Length: 4\n\npage",
        OK + b"X: a\x01b\r\nContent-Length: 4\r\n\r\npage",
        CHUNKED + b"4 \r\npage\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 4\n\npage",
    ],
)
def test_what_browsers_read_is_read(sent: bytes) -> None:
    assert whole(sent)[4] == b"page"

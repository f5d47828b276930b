"""Streams of bytes that a server might send: well-formed, nearly so, and not at all; and ways to cut them."""

from __future__ import annotations

import gzip

from hypothesis import strategies as st

LINES = [b"HTTP/1.1 200 OK"] * 8 + [
    *(b"HTTP/1.0 200 OK", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 302 Found", b"HTTP/1.1 204 None", b"HTTP/1.1 304 X"),
    *(b"HTTP/1.1 200", b"HTTP/1.1 101 Switch", b"HTTP/1.1 000 X", b"HTTP/1.1 999 X", b"HTTP/2 200", b"ICY 200 OK"),
    *(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", b"HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK"),
    *(b"HTTP/1.1 200 \xff\xfe", b"HTTP/1.1  200 OK", b"\r\n\r\nHTTP/1.1 200 OK"),
]
FIELDS = [
    *(b"Content-Length: 3", b"content-length:3", b"Content-Length: 5", b"Content-Length: 0", b"Content-Length: 3 "),
    *(b"Content-Length : 3", b"Content-Length: 10000000000", b"Content-Length: 18446744073709551615"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding:chunked ", b"transfer-encoding: Chunked"),
    *(b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: identity"),
    *(b"Transfer-Encoding: \x0bchunked", b"Transfer_Encoding: chunked", b"Transfer-Encoding:"),
    *(b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade\r\nUpgrade: h2c", b"Keep-Alive: x"),
    *(
        b"Location: /x",
        b"Location: /y",
        b"X-Robots-Tag: a",
        b"X-Robots-Tag: b",
        b"X: a\t ",
        b"X:\tb",
        b"X:",
        b"X: \xff",
    ),
    *(b" folded", b"\tfolded", b"X: a\x01b", b"X\x00: b", b"X: a\x00b", b"X y: z", b": none", b"X: a\rb", b"no colon"),
    *(b"Content-Encoding: gzip", b"Content-Encoding: identity", b"Set-Cookie: a=b", b"X: " + b"y" * 40_000),
]
BODIES = [
    *(b"", b"abc", b"ab", b"abcde", b"0\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n", b"3\r\nabc\r\n0\r\n", b"3\r\nabc"),
    *(b"3;x=y\r\nabc\r\n0\r\nT: x\r\n\r\n", b"3 \r\nabc\r\n0\r\n\r\n", b"3\nabc\n0\n\n", b"03\r\nabc\r\n00\r\n\r\n"),
    *(b"3\r\nabc0\r\n\r\n", b"-3\r\nabc\r\n0\r\n\r\n", b"3\r\nabc\r\n0\r\nT: x", b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
    *(gzip.compress(b"hello"), b"3\r\nabc\r\n0\r\n\r\nextra", b"3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n"),
]


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """An answer made of parts that matter, one of its bytes replaced now and then."""
    end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n"]))
    head = [draw(st.sampled_from(LINES)), *draw(st.lists(st.sampled_from(FIELDS), max_size=4))]
    sent = end.join(head) + end + end + draw(st.sampled_from(BODIES))
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(sent) - 1))
        sent = (
            sent[:at]
            + draw(st.sampled_from([b"\r", b"\n", b"\0", b" ", b":", b";", b"\xff", b"", b"\r\n"]))
            + sent[at + 1 :]
        )
    return sent


@st.composite
def cut(draw: st.DrawFn, sent: bytes) -> list[bytes]:
    """The same bytes in some pieces."""
    at = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=6)))
    pieces = [sent[start:end] for start, end in zip([0, *at], [*at, len(sent)], strict=True)]
    return [piece for piece in pieces if piece]

"""Parses one response from the bytes of a connection, without I/O.

The grammar is llhttp's (by httptools), as lenient as browsers have to be: bare line feeds, folded fields, control
characters in a value. The framing is strict: two lengths, a length beside chunks, and an invalid size are refused.
Everything that a server could make longer has a limit here, since the parser has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FIELDS = 128
LONGEST_LINE = 1 << 15  # so that all fields together stay below the usual limit of a body
MAX_INTERIM = 64  # 1xx responses; a server that reports progress sends a few
STEP = 1 << 15  # bytes between two checks whether the parser makes progress
MAX_DIGITS = 20  # of a length; Python parses thousands of digits slowly, and refuses more
# x-robots-tag: a robot named in one line does not apply to the next; set-cookie: RFC 6265 3
SEPARATORS = {"x-robots-tag": "\n", "set-cookie": "\n"}


class MalformedError(Exception):
    """Not valid HTTP."""


class NoResponseError(Exception):
    """The connection ended before a response, or within its head."""


class BrokenBodyError(Exception):
    """The body does not match the framing that its head announces."""


class _UnsolicitedDataError(Exception):
    """There is more than one response: stops the parser."""


class Response:
    """A response while it is received: feed it, and check its state."""

    _reason = b""
    _interim = 0  # 1xx responses before this one
    _left = STEP  # bytes until the next check
    _seen = 0  # fields at the last check
    _stuck = 0  # checks without progress: no new field, chunk or piece of the body
    begun = False  # any byte was received
    headed = False  # the head is complete
    locations = 0  # fields of that name
    size = 0  # of the pieces
    complete = False
    unsolicited = False  # data arrived after its end
    # As soon as the head is complete:
    status: int
    headers: Mapping[str, str]  # names in lower case; a repeated one is joined
    persistent: bool  # the connection may serve another request

    def __init__(self, *, bodiless: bool = False) -> None:
        # To HEAD and CONNECT: the response ends with its head, whatever that announces (RFC 9110 9.3.2).
        self._bodiless = bodiless
        self._fields: list[tuple[bytes, bytes]] = []
        self.fields: list[tuple[bytes, bytes]] = []  # of the head, as received
        self.pieces: list[bytes] = []  # of the body, not yet read
        self._parser = parser = HttpResponseParser(self)
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    @property
    def reason(self) -> str:
        return _text(self._reason)

    def feed(self, data: bytes | memoryview) -> None:
        """Raises `MalformedError`, or `BrokenBodyError` after the head; both are final."""
        if self.complete:
            self.unsolicited = True
            return
        self.begun = True
        headless = not self.headed
        try:
            if len(data) < self._left:
                self._parser.feed_data(data)
                self._left -= len(data)
            else:
                self._feed_in_steps(data)
        except HttpParserUpgrade:
            self.complete = self.unsolicited = True  # a switch to another protocol, which was not requested
        except (HttpParserError, MalformedError) as error:
            self._refuse(error)
        if self.complete:
            del self._parser  # breaks the reference cycle
        if self.unsolicited and headless and not self._bodiless and self.status != 101:
            raise BrokenBodyError  # longer than announced; the connection is not reused

    def _feed_in_steps(self, data: bytes | memoryview) -> None:
        """Check at fixed offsets of the stream, so that the result does not depend on how the network splits it."""
        rest = memoryview(data)
        while len(rest) >= self._left:
            self._parser.feed_data(rest[: self._left])
            rest, self._left = rest[self._left :], STEP
            self._require_progress()
        self._parser.feed_data(rest)
        self._left -= len(rest)

    def _require_progress(self) -> None:
        """A line that has not ended within two steps is too long: the parser would buffer a whole field, and read an
        endless chunk extension."""
        self._stuck = self._stuck + 1 if len(self._fields) == self._seen else 0
        self._seen = len(self._fields)
        if self._stuck > 1:
            raise _too_long()

    def _refuse(self, error: Exception) -> None:
        """Raise for an error in the response. After its end it is unsolicited data instead."""
        if self.complete:
            self.unsolicited = True
            return
        if self.headed:
            raise BrokenBodyError from None
        own = error.__context__  # raised in a callback of the parser
        raise next((e for e in (error, own) if isinstance(e, MalformedError)), MalformedError(str(error))) from None

    def end(self, error: Exception | None) -> Exception | None:
        """The connection has ended, with an error or not: what is wrong with the response, None if it is complete."""
        if self.complete:
            return None
        if not self.headed:
            return error or NoResponseError()
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            return BrokenBodyError()
        if error is None:
            self.complete = True
        return error  # a body delimited by the end of the connection is incomplete after an error (RFC 9112 8)

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self.complete:
            self.unsolicited = True
            raise _UnsolicitedDataError

    def on_status(self, reason: bytes) -> None:
        self._reason += reason
        if len(self._reason) > LONGEST_LINE:
            raise _too_long()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))
        if len(self._fields) > MAX_FIELDS:  # fields of the trailer, which is ignored, count as well
            raise MalformedError(f"more than {MAX_FIELDS} header fields")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status <= 199 and status != 101:
            self._interim += 1
            if self._interim > MAX_INTERIM:
                raise MalformedError(f"more than {MAX_INTERIM} interim answers")
            self._fields, self._reason = [], b""
            return
        self._read_fields()
        self.headed, self.status = True, status
        connection = self.headers.get("connection", "").lower()
        self.persistent = self._parser.should_keep_alive() or (
            self._bodiless and "close" not in connection and self._parser.get_http_version() == "1.1"
        )
        self.complete = self._bodiless

    def _read_fields(self) -> None:
        headers: dict[str, str] = {}
        for raw_name, raw_value in self._fields:
            if len(raw_name) + len(raw_value) > LONGEST_LINE:
                raise _too_long()
            if b"\0" in raw_value:  # the only control character that is refused
                raise MalformedError("NUL in a header field")
            name = _NAMES.get(raw_name) or _name(raw_name)
            try:
                value = raw_value.decode().rstrip(" \t")
            except UnicodeDecodeError:
                value = _text(raw_value).rstrip(" \t")
            if name == "location":
                self.locations += 1
            headers[name] = f"{headers[name]}{SEPARATORS.get(name, ', ')}{value}" if name in headers else value
        self.headers, self.fields, self._fields = headers, self._fields, []

    def on_chunk_header(self) -> None:
        self._stuck = 0

    def on_body(self, body: bytes) -> None:
        if self._bodiless:
            self.unsolicited = True
            raise _UnsolicitedDataError
        self._stuck = 0
        self.pieces.append(body)
        self.size += len(body)

    def on_message_complete(self) -> None:
        if self.headed:
            self.complete = True


def _too_long() -> MalformedError:
    return MalformedError(f"a line of more than {LONGEST_LINE} bytes")


_NAMES: dict[bytes, str] = {}  # a cache of field names in lower case
MAX_NAMES = 1024


def _name(raw: bytes) -> str:
    name = _text(raw.strip()).lower()  # some servers write a space before the colon
    if len(_NAMES) < MAX_NAMES and len(raw) < 64:  # the usual names come first, even if a server invents others
        _NAMES[raw] = name
    return name


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")

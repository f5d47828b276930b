"""One answer, read from the bytes of a connection however they are cut; it opens nothing and waits for nothing.

The grammar is llhttp's (by httptools), as lenient as browsers have to be: bare line feeds, folded fields, controls in a
value. What decides where an answer ends is not: two lengths, a length beside chunks, a size that is no number are
refused. Everything that a server may make longer has a bound here, for the parser has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from spaniel.net.heads import MalformedError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_FIELDS = 128
LONGEST_LINE = 1 << 15  # so that all fields together stay below the usual cap of a body
MOST_INTERIM = 64  # answers before the answer (1xx); a server that gives progress gives a few
STEP = 1 << 15  # bytes after each of which it is looked at whether anything has come of them
APART = {"x-robots-tag": "\n", "set-cookie": "\n"}  # the robot that one line names is not meant by the next; RFC 6265 3


class NoResponseError(Exception):
    """The connection ended before an answer, or in the middle of its head."""


class BrokenBodyError(Exception):
    """The body is not as its head has announced it."""


class _UnsolicitedDataError(Exception):
    """There is more than one answer: the parser need not read on."""


class Response:
    """An answer while it comes: feed it, and look at how far it is."""

    _reason = b""
    _interim = 0  # answers before this one
    _left = STEP  # bytes until the next look
    _seen = 0  # fields that had come at the last look
    _stuck = 0  # looks since another has, or a piece of the body
    begun = False  # something has come
    headed = False  # the head is complete
    locations = 0  # fields of that name
    size = 0  # of the pieces
    complete = False
    unasked = False  # more came than was asked for
    # As soon as the head is complete:
    status: int
    headers: Mapping[str, str]  # names in lower case; a repeated one is joined
    persistent: bool  # the connection may serve another request

    def __init__(self, *, bodiless: bool = False) -> None:
        self._bodiless = (
            bodiless  # to HEAD and CONNECT: it ends with its head, whatever that announces (RFC 9110 9.3.2)
        )
        self._fields: list[tuple[bytes, bytes]] = []
        self.fields: list[tuple[bytes, bytes]] = []  # of the head, as they came
        self.pieces: list[bytes] = []  # of the body, not yet taken
        self._parser = parser = HttpResponseParser(self)
        parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    @property
    def reason(self) -> str:
        return _text(self._reason)

    def feed(self, data: bytes | memoryview) -> None:
        """Raises `MalformedError`, or `BrokenBodyError` after the head, for good."""
        if self.complete:
            self.unasked = True
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
            self.complete = self.unasked = True  # another protocol begins here, which nobody has asked for
        except (HttpParserError, MalformedError) as error:
            self._refuse(error)
        if self.complete:
            del self._parser  # they hold each other: it would be left to the garbage collector
        if self.unasked and headless and not self._bodiless and self.status != 101:
            raise BrokenBodyError  # it is longer than it says; what comes later than this is met by no other request

    def _feed_in_steps(self, data: bytes | memoryview) -> None:
        """The looks are at the same places of the stream wherever the network cuts it: so is what comes of them."""
        rest = memoryview(data)
        while len(rest) >= self._left:
            self._parser.feed_data(rest[: self._left])
            rest, self._left = rest[self._left :], STEP
            self._look()
        self._parser.feed_data(rest)
        self._left -= len(rest)

    def _look(self) -> None:
        """What has not ended within two steps is too long for a line: the parser would hold all of a field, and what
        stands behind the size of a chunk would come without end."""
        self._stuck = self._stuck + 1 if len(self._fields) == self._seen else 0
        self._seen = len(self._fields)
        if self._stuck > 1:
            raise _too_long()

    def _refuse(self, error: Exception) -> None:
        """What is wrong is wrong with the answer, unless it is complete: then it is something else that came."""
        if self.complete:
            self.unasked = True
            return
        if self.headed:
            raise BrokenBodyError from None
        own = error.__context__  # what was raised in here while the parser was at work
        raise next((e for e in (error, own) if isinstance(e, MalformedError)), MalformedError(str(error))) from None

    def end(self, error: Exception | None) -> Exception | None:
        """The connection has ended, by an error or not. What is wrong with the answer then; None if it is complete."""
        if self.complete:
            return None
        if not self.headed:
            return error or NoResponseError()
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            return BrokenBodyError()
        if error is None:
            self.complete = True
        return error  # where nothing but the end marks the body's, a broken connection is none (RFC 9112 8)

    # What the parser calls.

    def on_message_begin(self) -> None:
        if self.complete:
            self.unasked = True
            raise _UnsolicitedDataError

    def on_status(self, reason: bytes) -> None:
        self._reason += reason
        if len(self._reason) > LONGEST_LINE:
            raise _too_long()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value))
        if len(self._fields) > MOST_FIELDS:  # of the trailer as well, which is for nobody
            raise MalformedError(f"more than {MOST_FIELDS} header fields")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status <= 199 and status != 101:
            self._interim += 1
            if self._interim > MOST_INTERIM:
                raise MalformedError(f"more than {MOST_INTERIM} interim answers")
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
            if b"\0" in raw_value:  # the one control that no lenience covers
                raise MalformedError("NUL in a header field")
            name = _NAMES.get(raw_name) or _name(raw_name)
            try:
                value = raw_value.decode().rstrip(" \t")
            except UnicodeDecodeError:
                value = _text(raw_value).rstrip(" \t")
            if name == "location":
                self.locations += 1
            headers[name] = f"{headers[name]}{APART.get(name, ', ')}{value}" if name in headers else value
        self.headers, self.fields, self._fields = headers, self._fields, []

    def on_chunk_header(self) -> None:
        self._stuck = 0

    def on_body(self, body: bytes) -> None:
        if self._bodiless:
            self.unasked = True
            raise _UnsolicitedDataError
        self._stuck = 0
        self.pieces.append(body)
        self.size += len(body)

    def on_message_complete(self) -> None:
        if self.headed:
            self.complete = True


def _too_long() -> MalformedError:
    return MalformedError(f"a line of more than {LONGEST_LINE} bytes")


_NAMES: dict[bytes, str] = {}  # that have been met, as servers write them
MOST_NAMES = 1024


def _name(raw: bytes) -> str:
    name = _text(raw.strip()).lower()  # a blank before the colon is none of the name's, though some write it
    if len(_NAMES) < MOST_NAMES and len(raw) < 64:  # the usual ones come first, whoever makes up others
        _NAMES[raw] = name
    return name


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")

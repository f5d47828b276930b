"""The heads of HTTP messages as a proxy needs them: read, judged, and written again with what concerns it taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio

# What belongs to one connection and not to the message (RFC 9110 7.6.1); `proxy-*` besides.
OWN = frozenset({b"connection", b"keep-alive", b"te", b"trailer", b"upgrade"})
MOST_DIGITS = 20  # of a length; Python reads thousands of them slowly, and more not at all
MOST_INTERIM = 8  # answers before the answer (1xx)


class MalformedError(Exception):
    """Not HTTP as it should be."""


class RequestHead(NamedTuple):
    """The head of a request."""

    method: str
    target: str
    lines: list[bytes]  # the fields as they came
    fields: dict[bytes, bytes]

    @property
    def body_length(self) -> int:
        length = self.fields.get(b"content-length", b"0")
        if b"transfer-encoding" in self.fields or not length.isdigit() or len(length) > MOST_DIGITS:
            raise MalformedError("a body without a length")
        return int(length)

    def rewritten(self, target: str, host: str, more: str = "") -> bytes:
        """The head as the server gets it: nothing that was for us, one request to a connection."""
        line = f"{self.method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}".encode("latin-1")
        return line + b"".join(b"%s\r\n" % field for field in _end_to_end(self.lines, b"host")) + b"\r\n"


async def read_request(reader: asyncio.StreamReader) -> RequestHead:
    first, lines = await _read(reader)
    parts = first.decode("latin-1").split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise MalformedError("no request line")
    return RequestHead(parts[0], parts[1], lines, dict(map(_field, lines)))


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """The head of an answer as the client gets it: the connection ends with it, and the server is no proxy."""
    for _ in range(MOST_INTERIM):
        first, lines = await _read(reader)
        version, _, status = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not status[:3].isdigit() or status[3:4] not in (b"", b" "):
            raise MalformedError("no status line")
        if status.startswith(b"407"):
            raise MalformedError("a server that takes itself for a proxy")
        if not status.startswith(b"1"):
            kept = b"".join(b"%s\r\n" % field for field in _end_to_end(lines))
            return b"HTTP/1.1 " + status + b"\r\n" + kept + b"Connection: close\r\n\r\n"
    raise MalformedError("too many interim answers")


async def _read(reader: asyncio.StreamReader) -> tuple[bytes, list[bytes]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    if any(b"\n" in line or b"\r" in line for line in (first, *lines)):
        raise MalformedError("a line end inside a line")  # others might read two lines there
    return first, lines


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name.lower(), value.strip()


def _end_to_end(lines: list[bytes], *besides: bytes) -> list[bytes]:
    """The fields that are meant for the other side, not for a proxy on the way."""
    kept = []
    for line in lines:
        name = line.partition(b":")[0].strip().lower()
        if name not in OWN and name not in besides and not name.startswith(b"proxy-"):
            kept.append(line)
    return kept

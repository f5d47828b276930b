"""WARC 1.1 (ISO 28500): what came over the wire, beside what was made of it. Each record is a gzip member of its own.

Bodies are stored decoded, as Common Crawl stores them: the headers that spoke of the wire (encoding, length) are kept
under other names, so that whoever reads the record believes what it says.
"""

from __future__ import annotations

import re
import zlib
from base64 import b32encode
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

LEVEL = 6  # of gzip
_OF_THE_WIRE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_BREAKS = re.compile(r"[\r\n\x00]+")
_UNWRITABLE = re.compile(r"[\x00-\x20\x7f<>]")


class Capture(NamedTuple):
    """One answer of a server."""

    url: str
    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    body: bytes  # decoded
    fetched_at: datetime
    payload_type: str = ""  # what the body was recognized as, whatever the server says
    address: str = ""  # of the server
    request: bytes = b""  # its head as it was sent, where it is known


def warcinfo(name: str, software: str, at: datetime) -> bytes:
    """The record that a file begins with."""
    fields = f"software: {_one_line(software)}\r\nformat: WARC File Format 1.1\r\n".encode()
    head = [("WARC-Filename", name), ("Content-Type", "application/warc-fields")]
    return _member("warcinfo", _new_id(), at, head, fields)


def capture_records(capture: Capture) -> bytes:
    """The answer, and the request before it where that is known."""
    payload = _digest(capture.body)
    identity = _new_id()
    about = [("WARC-Target-URI", _UNWRITABLE.sub(lambda found: f"%{ord(found[0]):02X}", capture.url))]
    if capture.address:
        about.append(("WARC-IP-Address", capture.address))
    response = [*about, ("WARC-Payload-Digest", payload), ("Content-Type", "application/http; msgtype=response")]
    if capture.payload_type:
        response.append(("WARC-Identified-Payload-Type", capture.payload_type))
    answer = _member("response", identity, capture.fetched_at, response, _http(capture))
    if not capture.request:
        return answer
    request = [*about, ("WARC-Concurrent-To", identity), ("Content-Type", "application/http; msgtype=request")]
    return _member("request", _new_id(), capture.fetched_at, request, capture.request) + answer


def _http(capture: Capture) -> bytes:
    lines = [f"HTTP/1.1 {capture.status} {_one_line(capture.reason)}".rstrip()]
    for name, value in capture.headers:
        of_the_wire = name.lower() in _OF_THE_WIRE
        lines.append(f"{'X-Crawler-' if of_the_wire else ''}{_one_line(name)}: {_one_line(value)}")
    lines.append(f"Content-Length: {len(capture.body)}")
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + capture.body


def _member(kind: str, identity: str, at: datetime, fields: list[tuple[str, str]], block: bytes) -> bytes:
    from datetime import UTC

    head = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", identity),
        ("WARC-Date", at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        *fields,
        ("WARC-Block-Digest", _digest(block)),
        ("Content-Length", str(len(block))),
    ]
    text = "WARC/1.1\r\n" + "".join(f"{name}: {_one_line(value)}\r\n" for name, value in head) + "\r\n"
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(map(packer.compress, (text.encode("utf-8", "replace"), block, b"\r\n\r\n"))) + packer.flush()


def _one_line(text: str) -> str:
    """A header from outside begins no header of its own."""
    return _BREAKS.sub(" ", text)


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _digest(data: bytes) -> str:
    """As everybody writes it into WARC files."""
    return "sha1:" + b32encode(sha1(data, usedforsecurity=False).digest()).decode()

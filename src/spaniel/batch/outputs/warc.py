"""WARC 1.1 (ISO 28500): what came over the wire, beside what was made of it. Each record is a gzip member of its own.

Bodies are stored decoded, as Common Crawl stores them: the headers that spoke of the wire (encoding, length) are kept
under other names, so that the headers of a record fit its body. A body that was not taken whole is marked.
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
FIELDS = "application/warc-fields"
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
    truncated: str = ""  # why the body is not whole, in a word of the standard: length, unspecified
    about: Sequence[tuple[str, str]] = ()  # what else is known of it


def warcinfo(name: str, software: str, at: datetime) -> bytes:
    """The record that a file begins with."""
    fields = f"software: {_one_line(software)}\r\nformat: WARC File Format 1.1\r\n".encode()
    head = [("WARC-Filename", name), ("Content-Type", FIELDS)]
    return _member("warcinfo", _new_id(), at, head, fields)


def capture_records(capture: Capture) -> bytes:
    """The answer; the request before it and what is known of it behind it, where there is such."""
    identity, at = _new_id(), capture.fetched_at
    page = [("WARC-Target-URI", _UNWRITABLE.sub(lambda found: f"%{ord(found[0]):02X}", capture.url))]
    beside = [*page, ("WARC-Concurrent-To", identity)]
    records = []
    if capture.request:
        fields = [*beside, *_address(capture), ("Content-Type", "application/http; msgtype=request")]
        records.append(_member("request", _new_id(), at, fields, capture.request))
    records.append(_member("response", identity, at, [*page, *_of_response(capture)], _head(capture), capture.body))
    if capture.about:
        about = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in capture.about).encode("utf-8", "replace")
        records.append(_member("metadata", _new_id(), at, [*beside, ("Content-Type", FIELDS)], about))
    return b"".join(records)


def _of_response(capture: Capture) -> list[tuple[str, str]]:
    fields = [
        ("WARC-Payload-Digest", _digest(capture.body)),
        ("WARC-Identified-Payload-Type", capture.payload_type),
        ("WARC-Truncated", capture.truncated),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    return [*_address(capture), *((name, value) for name, value in fields if value)]


def _address(capture: Capture) -> list[tuple[str, str]]:
    return [("WARC-IP-Address", capture.address)] if capture.address else []


def _head(capture: Capture) -> bytes:
    lines = [f"HTTP/1.1 {capture.status} {_one_line(capture.reason)}".rstrip()]
    for name, value in capture.headers:
        of_the_wire = name.lower() in _OF_THE_WIRE
        lines.append(f"{'X-Crawler-' if of_the_wire else ''}{_one_line(name)}: {_one_line(value)}")
    lines.append(f"Content-Length: {len(capture.body)}")
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"


def _member(kind: str, identity: str, at: datetime, fields: list[tuple[str, str]], *block: bytes) -> bytes:
    """The block in pieces: a large body is not copied to be put behind its head."""
    from datetime import UTC

    head = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", identity),
        ("WARC-Date", at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        *fields,
        ("WARC-Block-Digest", _digest(*block)),
        ("Content-Length", str(sum(map(len, block)))),
    ]
    text = "WARC/1.1\r\n" + "".join(f"{name}: {_one_line(value)}\r\n" for name, value in head) + "\r\n"
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(map(packer.compress, (text.encode("utf-8", "replace"), *block, b"\r\n\r\n"))) + packer.flush()


def _one_line(text: str) -> str:
    """A header from outside begins no header of its own."""
    return _BREAKS.sub(" ", text)


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _digest(*pieces: bytes) -> str:
    """As everybody writes it into WARC files."""
    found = sha1(usedforsecurity=False)
    for piece in pieces:
        found.update(piece)
    return "sha1:" + b32encode(found.digest()).decode()

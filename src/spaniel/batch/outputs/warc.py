"""WARC 1.1 (ISO 28500): what came over the wire, beside what was made of it. Each record is a gzip member of its own.

Bodies are stored decoded, as Common Crawl stores them: the headers that spoke of the wire (encoding, length) are kept
under other names, so that the headers of a record fit its body. A body that was not taken whole is marked.

A fetch's hops, also those that failed, are gathered in the fetch's own context, and leave the worker compressed, with
its record. Where no WARC file is requested, nothing of this runs: the HTTP client is not wrapped.
"""

from __future__ import annotations

import asyncio
import os
import re
import zlib
from base64 import b32encode
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from spaniel.errors import SpanielError
from spaniel.net.http import RequestOptions
from spaniel.reading.kinds import BY_NAME, kind_of
from spaniel.runs.parts import NO_LIMIT, PartOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.clock import Clock
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import CapturedExchange, Http, Page
    from spaniel.url.value import Url

MOST_BODY = 16 << 20  # bytes of one body; the rest is left out, which is marked
AT_ONCE = 1 << 20  # bytes that are compressed without a thread of their own
FILE, FOLDER = ".warc.gz", ".warc"  # behind the name of the output
FILE_BYTES = 1 << 30  # after which a folder's next file begins, as is usual for WARC
LEVEL = 6  # of gzip
FIELDS = "application/warc-fields"
_OF_THE_WIRE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_BREAKS = re.compile(r"[\r\n\x00]+")
_PART = re.compile(r"part-(\d{5,})\.warc\.gz")
_USUAL = RequestOptions()
_captured: ContextVar[list[Capture] | None] = ContextVar("captured", default=None)  # hops of the fetch under way
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


def begin_captures() -> list[Capture]:
    """From here on, the hops of this fetch are put into this list."""
    taken: list[Capture] = []
    _captured.set(taken)
    return taken


def note_capture(capture: Capture) -> None:
    """A hop of the fetch under way; of none, it is forgotten."""
    taken = _captured.get()
    if taken is not None:
        taken.append(capture)


async def packed_captures(taken: list[Capture]) -> bytes:
    """WARC records of these hops, compressed. They are not needed any more after that."""
    if not taken:
        return b""
    if sum(len(capture.body) for capture in taken) <= AT_ONCE:
        return _packed(taken)
    return await asyncio.to_thread(_packed, taken)


def _packed(taken: list[Capture]) -> bytes:
    found = b"".join(map(capture_records, taken))
    taken.clear()
    return found


class CapturingHttp:
    """The HTTP client, which puts each hop into the list of the fetch that it is made for."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self._http, self._clock = http, clock

    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        at, began = self._clock.now(), self._clock.monotonic()

        def observe(page: Page, crossing: CapturedExchange) -> None:
            note_capture(_capture(page, crossing, at, round((self._clock.monotonic() - began) * 1000)))

        return await self._http.get(url, target, deadline, options._replace(observe=observe))

    async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        """A response without a body is not kept."""
        return await self._http.head(url, target, deadline, options)

    async def stream(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        sink: Callable[[bytes], object],
        options: RequestOptions = _USUAL,
    ) -> Page:
        """What is not held in memory is not kept either."""
        return await self._http.stream(url, target, deadline, sink, options)


def _capture(page: Page, crossing: CapturedExchange, at: datetime, ms: int) -> Capture:
    url, before = page.url._replace(fragment=None), _captured.get()
    body = page.body[:MOST_BODY]
    cut = "length" if len(body) < len(page.body) or (body and not crossing.whole) else ""
    return Capture(
        url.href,
        page.status,
        page.reason,
        crossing.answered,
        body,
        at,
        payload_type=_type_of(page) if body else "",
        address=crossing.address,
        request=_request(url, crossing),
        truncated=cut or ("" if crossing.whole else "unspecified"),
        about=[("fetchTimeMs", str(ms)), *([("via", before[-1].url)] if before else [])],
    )


def _request(url: Url, crossing: CapturedExchange) -> bytes:
    lines = [f"GET {url.target} HTTP/1.1", *(f"{name}: {value}" for name, value in crossing.asked)]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"


def _type_of(page: Page) -> str:
    """What a body is, whatever its header says; empty for what Spaniel does not read."""
    declared = page.headers.get("content-type", "")
    try:
        types = BY_NAME[kind_of(declared, page.body).reader].types
    except SpanielError:
        return ""
    essence = declared.partition(";")[0].strip().lower()
    return essence if essence in types else types[0]


def place_of(output: str) -> str:
    """Where the WARC file, or the folder of them, of an output is: `pages.jsonl.warc.gz`, `pages.warc` for `pages/`."""
    name = output.rstrip("/" + os.sep)
    return name + (FOLDER if name != output or os.path.isdir(output) else FILE)


def files_of(output: str) -> list[str]:
    """The WARC files of an output, in their order; none where it has none."""
    place = place_of(output)
    if place.endswith(FILE):
        return [place] if os.path.lexists(place) else []
    found = sorted((int(match[1]), name) for name in _names(place) if (match := _PART.fullmatch(name)))
    return [os.path.join(place, name) for _, name in found]


def remove_files(output: str) -> None:
    """Files with names of ours alone; the folder if it is empty then."""
    for path in files_of(output):
        os.unlink(path)
    place = place_of(output)
    if place.endswith(FOLDER):
        with suppress(OSError):
            os.rmdir(place)


def warc_output(of: str, software: str, file_bytes: int = FILE_BYTES) -> PartOutput:
    """Where captures are collected; each file begins with a record that names the software."""
    place = place_of(of)
    is_folder = place.endswith(FOLDER)

    def path(number: int) -> str:
        if not is_folder:
            return place
        os.makedirs(place, exist_ok=True)
        return os.path.join(place, f"part-{number:05}{FILE}")

    def head(name: str) -> bytes:
        return warcinfo(os.path.basename(name), software, datetime.now(UTC))

    return PartOutput(FILE[1:], path, file_bytes if is_folder else NO_LIMIT, head)


def is_there(of: str, number: int, length: int) -> bool:
    """Whether all that was committed is still there: it may have been cut or removed meanwhile."""
    files = files_of(of)
    return not length or (number < len(files) and os.path.getsize(files[number]) >= length)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []

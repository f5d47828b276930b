"""A process that reads pages one by one, from standard input to standard output, until the input ends.

A message is a JSON header and a body of bytes, each preceded by its length. Only messages are written: anything
that a parser prints is discarded.
"""

from __future__ import annotations

import json
import os
import sys
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.reading import read_as
from spaniel.reading.document import Document, Hygiene, Metadata
from spaniel.reading.kinds import DetectedKind
from spaniel.reading.parts import PageParts

if TYPE_CHECKING:
    from typing import Any, BinaryIO


class Room(NamedTuple):
    """Bytes of memory for one page: a base, and a factor of its size."""

    least: int
    each: int


LENGTHS = Struct(">II")  # of the header, of the body
READY: dict[str, Any] = {"ready": True}
WORN = "worn"  # in an answer: the process ran out of a resource, and another should read the next page
# Reading may take 64 MB and 12 times the page; allocators keep some more, so twice that is the limit.
ROOM = Room(128 << 20, 24)
# Measured: the largest PDF that is read whole takes 95 MB beside its file; a hostile one takes whatever it gets.
ROOM_APART = Room(256 << 20, 3)
FILES = 32  # open files: three pipes, the null device, and a module that is being loaded
SECONDS = 5  # seconds of CPU beyond the rest of the deadline: a living parent kills sooner


def packed(head: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def fields(document: Document) -> bytes:
    """A document as a message: Markdown and data are sent as bytes, since they may be long."""
    fields = document.as_dict()
    markdown = str(fields.pop("markdown")).encode("utf-8", "surrogatepass")
    data = fields.pop("data", None)
    return packed(
        {**fields, "length": len(markdown), "has_data": data is not None, "wall_words": document.wall_words},
        markdown + str(data or "").encode(),
    )


def understood(head: dict[str, Any], body: bytes) -> Document:
    """The document of a message, or the refusal."""
    if "code" in head:
        raise SpanielError(Code(head["code"]), **head["details"])
    length = head["length"]
    return Document(
        markdown=body[:length].decode("utf-8", "surrogatepass"),
        title=head["title"],
        language=head["language"],
        kind=head["kind"],
        metadata=Metadata(**head["metadata"]),
        hygiene=Hygiene(**head["hygiene"]),
        notes=tuple(head["notes"]),
        signals=head["signals"],
        types=tuple(head["types"]),
        generator=head["generator"],
        data=body[length:].decode() if head["has_data"] else None,
        pages=tuple(head.get("pages", ())),
        wall_words=head.get("wall_words"),
        failures=tuple(head.get("failures", ())),
    )


def main() -> None:
    incoming, outgoing = _pipes()
    confine()
    from spaniel.reading.formats import html as _loaded  # noqa: F401 - before anybody waits for a page

    outgoing.write(packed(READY, b""))
    outgoing.flush()
    while lengths := incoming.read(LENGTHS.size):
        size, length = LENGTHS.unpack(lengths)
        head = json.loads(incoming.read(size))
        restrain(length, head["seconds"], room=ROOM_APART if head["apart"] else ROOM)
        outgoing.write(answer(head, incoming.read(length)))
        outgoing.flush()


def answer(head: dict[str, Any], body: bytes) -> bytes:
    """The document, or a refusal; an unexpected exception of a library is a refusal too."""
    try:
        kind = DetectedKind(head["reader"], head["charset"])
        parts = PageParts.from_json(head["parts"]) if head.get("parts") else None
        return fields(read_as(kind, body, head["url"], walls=head["walls"], parts=parts))
    except SpanielError as error:
        refusal: dict[str, Any] = {"code": str(error.code), "details": error.details}
        return packed({**refusal, WORN: isinstance(error.__cause__, MemoryError | RecursionError)}, b"")
    except Exception as error:  # noqa: BLE001 - nothing above the child would report the exception
        failure = {"code": str(Code.EXTRACTION_FAILED), "details": {"error": type(error).__name__}}
        return packed({**failure, WORN: True}, b"")


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move both pipes to other descriptors, so that code that prints or reads cannot touch them."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return incoming, outgoing


def confine() -> None:
    """Limits for the whole process: few files, no writes, no core dump."""
    if sys.platform == "win32":
        return
    import resource

    _lower(resource.RLIMIT_NOFILE, FILES)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)


def restrain(size: int, seconds: float, room: Room) -> None:
    """Limit memory and CPU time, if the system supports it."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + SECONDS)
    _lower(resource.RLIMIT_DATA, _data() + room.least + room.each * size)


def _lower(what: int, limit: int) -> None:
    import resource

    _, most = resource.getrlimit(what)
    try:
        resource.setrlimit(what, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
    except (OSError, ValueError):  # not supported here: the deadline still applies
        return


def _data() -> int:
    """Bytes of memory in use; an estimate if the system does not report it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 128 << 20


if __name__ == "__main__":
    main()

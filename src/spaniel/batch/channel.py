"""Messages between the supervisor and its workers: a word and its values, as MessagePack behind its length.

To a worker: the brief (once), `STOP`, `OVER seconds`, `TAKE worker lease host led`, `RELEASE worker lease answered`,
`GRANTED lease`, `DENIED lease code details`, `LEARNT method values`, `ASSIGN shards files hosts`, `NO_MORE`; the end of
the stream: end.
From a worker: `READY`, `STATUS status`, `DONE`, `FAILED why option`, `TAKE lease host led`, `RELEASE lease answered`,
`GRANTED worker lease`, `DENIED worker lease code details`, `REPORT host method values`, `LEARNT method values`, `WANT`.
A lease is a turn at a host that another worker owns. `REPORT` is for the host's owner, `LEARNT` for all workers.
`WANT`: nothing is left to begin; `ASSIGN` or `NO_MORE` follows. `files` are copies of shards that the worker cannot
read, `hosts` is what the supervisor knows of their hosts (`HostState`).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    import asyncio

READY, STATUS, DONE, FAILED, STOP, OVER = "ready", "status", "done", "failed", "stop", "over"
TAKE, RELEASE, GRANTED, DENIED, REPORT, LEARNT = "take", "release", "granted", "denied", "report", "learnt"
WANT, ASSIGN, NO_MORE = "want", "assign", "no_more"
RESULTS = "results"  # of a worker that cannot write where the run is: the supervisor does

_LENGTH = struct.Struct("<I")
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


def frame(value: object) -> bytes:
    body = _encode(value)
    return _LENGTH.pack(len(body)) + body


async def read_message(reader: asyncio.StreamReader) -> Any:
    """The next one; `EOFError` at the end of the stream."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return _decode(await reader.readexactly(length))

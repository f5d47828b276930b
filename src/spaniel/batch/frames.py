"""Values in a file or a pipe, one after the other: a length, then MessagePack."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LENGTH = struct.Struct("<I")
_AT_ONCE = 4096  # bytes: most frames of a plan are read with one call

encoder = msgspec.msgpack.Encoder()
decode = msgspec.msgpack.Decoder().decode


def frame(value: object) -> bytes:
    body = encoder.encode(value)
    return LENGTH.pack(len(body)) + body


def add_frame(buffer: bytearray, value: object) -> None:
    """The same, at the end of a buffer."""
    at = len(buffer)
    buffer += b"\0\0\0\0"
    encoder.encode_into(value, buffer, at + 4)
    LENGTH.pack_into(buffer, at, len(buffer) - at - 4)


def read_frames(file: BinaryIO) -> Iterator[Any]:
    """Every value from where the file stands to its end."""
    while head := file.read(LENGTH.size):
        yield decode(file.read(LENGTH.unpack(head)[0]))


def read_frame_at(descriptor: int, offset: int) -> tuple[Any, int] | None:
    """The value at an offset, and the offset of the next one; None at the end of the file."""
    found = os.pread(descriptor, _AT_ONCE, offset)
    if not found:
        return None
    (length,) = LENGTH.unpack_from(found)
    end = LENGTH.size + length
    if end > len(found):
        found = os.pread(descriptor, end, offset)
    return decode(memoryview(found)[LENGTH.size : end]), offset + end

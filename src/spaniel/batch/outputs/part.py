"""Append-only parts of an output: what was committed is known by its offset, what stands behind that is cut off.

Parts one after another are a whole file in each of the forms: lines of JSON, Zstandard frames, gzip members.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.files import CREATE, sync_folder

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_REOPEN = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_fdatasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def as_line(record: Mapping[str, object]) -> bytes:
    """A record as a line of JSON."""
    import msgspec

    try:
        return msgspec.json.encode(record) + b"\n"
    except (UnicodeEncodeError, OverflowError):  # half of a pair of surrogates, or a number of more than 64 bits
        import json

        return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


class Part:
    """One file, one writer. `.zst` in its name: what is appended together becomes a Zstandard frame."""

    def __init__(self, path: str, descriptor: int, offset: int) -> None:
        self.path = path
        self.offset = offset  # bytes that were appended whole
        self._descriptor = descriptor
        self._pack = packed if path.endswith(".zst") else bytes

    @classmethod
    def create(cls, path: str) -> Part:
        """A new file, of which the name is on the disk too; `bad_args` where something is there already."""
        try:
            descriptor = os.open(path, CREATE, 0o666)
            sync_folder(os.path.dirname(path) or ".")
        except OSError as error:
            raise _cannot(path, error) from None
        return cls(path, descriptor, 0)

    @classmethod
    def reopen(cls, path: str, offset: int) -> Part:
        """A file of an earlier run, cut to what was committed of it."""
        try:
            descriptor = os.open(path, _REOPEN)
        except OSError as error:
            raise _cannot(path, error) from None
        part = cls(path, descriptor, 0)
        try:
            part.truncate_to(offset)
        except BaseException:
            part.close()
            raise
        return part

    def append(self, pieces: Iterable[bytes]) -> int:
        """Write them; the offset behind them, to be committed after `sync`. On failure the file is as before."""
        joined = b"".join(pieces)
        if joined:
            self._write(self._pack(joined))
        return self.offset

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self.truncate_to(self.offset)
            raise _cannot(self.path, error) from None
        self.offset += len(data)

    def sync(self) -> None:
        """Wait until what was appended is on the disk."""
        try:
            _fdatasync(self._descriptor)
        except OSError as error:
            raise _cannot(self.path, error) from None

    def truncate_to(self, offset: int) -> None:
        """Cut off what stands behind `offset`: torn, or never committed."""
        try:
            size = os.fstat(self._descriptor).st_size
            if size < offset:
                reason = f"has {size} bytes where {offset} were committed; this run cannot be resumed"
                raise SpanielError(Code.BAD_ARGS, field=self.path, reason=reason)
            os.ftruncate(self._descriptor, offset)
            os.lseek(self._descriptor, offset, os.SEEK_SET)
        except OSError as error:
            raise _cannot(self.path, error) from None
        self.offset = offset

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def packed(data: bytes) -> bytes:
    """With its own checksum, so that whoever reads it knows that it is whole."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


def _cannot(path: str, error: OSError) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}")

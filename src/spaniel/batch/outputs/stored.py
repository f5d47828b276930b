"""Records that were written, read again line by line."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

import msgspec

from spaniel.batch.outputs.form import Form, form_of
from spaniel.batch.outputs.parquet import records_in
from spaniel.errors import Code, SpanielError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

PIECE = 1 << 20


class _Numbered(msgspec.Struct):
    ordinal: int


_ordinal = msgspec.json.Decoder(_Numbered)


class Line(NamedTuple):
    """A record as it was written, its line feed included."""

    ordinal: int
    raw: bytes


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The lines of a part, of a whole output, compressed or not."""
    try:
        with open(path, "rb") as file:
            if form_of(path) == Form.JSONL_ZST and os.fstat(file.fileno()).st_size:
                with zstd.ZstdFile(file) as plain:
                    yield cast("BinaryIO", plain)
            else:
                yield file
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None
    except (EOFError, zstd.ZstdError):
        raise _torn(path) from None


def raw_lines(paths: Iterable[str]) -> Iterator[bytes]:
    """Every line of these files. One that is not whole is `bad_args`: somebody's run was cut off there."""
    for path in paths:
        with opened(path) as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    raise _torn(path)
                yield line


def lines(path: str) -> Generator[Line]:
    """Every line with its record's ordinal."""
    found = records_in(path) if form_of(path) == Form.PARQUET else raw_lines([path])
    for number, raw in enumerate(found, 1):
        try:
            yield Line(_ordinal.decode(raw).ordinal, raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            reason = f"line {number} is not a record of a batch (it has no ordinal)"
            raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None


def _torn(path: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason="breaks off in the middle of a record; resume that run first")

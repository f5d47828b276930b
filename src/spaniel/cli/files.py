"""Files that a command is pointed at."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress

from spaniel.errors import Code, SpanielError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, TextIO


def standard_input() -> BinaryIO:
    if sys.stdin is None:  # closed by whoever started us
        raise SpanielError(Code.BAD_ARGS, field="-", reason="there is no standard input to read")
    return sys.stdin.buffer


def read_bytes(path: str) -> bytes:
    """A whole file, or standard input for `-`."""
    try:
        if path == "-":
            return standard_input().read()
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None


def read_text(path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text (byte {error.start})"
        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A file to write, which takes the place of the one at `path` when something was written and nothing failed."""
    ordinary = not os.path.exists(path) or os.path.isfile(path)
    beside = f"{path}.{os.getpid()}.tmp" if ordinary else path
    try:
        with open(beside, "w", encoding="utf-8", errors="backslashreplace") as file:
            yield file
            written = file.tell() if ordinary else 0
        if written:
            os.replace(beside, path)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None
    finally:
        if ordinary:
            with suppress(OSError):
                os.unlink(beside)

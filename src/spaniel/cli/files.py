"""Files that a command is pointed at."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress

from spaniel import files
from spaniel.errors import Code, SpanielError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, TextIO

_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")


def standard_input() -> BinaryIO:
    if sys.stdin is None:  # closed by the parent process
        raise SpanielError(Code.BAD_ARGS, field="-", reason="standard input is closed")
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
    with _writing(path, even_empty=False) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError):  # already reported; it must not be closed here, nor flushed later
                text.detach()


def write_bytes(path: str, data: bytes) -> None:
    """The whole file or none."""
    with _writing(path) as file:
        file.write(data)


@contextmanager
def _writing(path: str, even_empty: bool = True) -> Iterator[BinaryIO]:
    """A device or a pipe is written to; anything else is replaced, a link by the file, not what it leads to."""
    try:
        if _is_stream(path):
            with open(path, "wb", opener=_open_existing) as file:
                yield file
        else:
            with files.replacing(path, None, even_empty=even_empty) as file:
                yield file
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None


def _is_stream(path: str) -> bool:
    """Whether it is one of this process's own descriptors, or a device or pipe that no other user has put there."""
    if _DESCRIPTOR.fullmatch(path):
        return True
    try:
        found = os.lstat(path)
    except OSError:
        return False
    trusted = not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid())
    return trusted and not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode) or stat.S_ISDIR(found.st_mode))


def _open_existing(path: str, _flags: int) -> int:
    link = 0 if _DESCRIPTOR.fullmatch(path) else getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, os.O_WRONLY | link | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))

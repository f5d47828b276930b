"""Files that a command is pointed at."""

from __future__ import annotations

import sys

from spaniel.errors import Code, SpanielError


def read_bytes(path: str) -> bytes:
    """A whole file, or standard input for `-`."""
    try:
        if path == "-":
            return sys.stdin.buffer.read()
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

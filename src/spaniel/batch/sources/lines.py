"""Lines of a stream, numbered, in constant memory whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.batch.sources.rows import Report


def numbered_lines(stream: BinaryIO, longest: int, report: Report) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, its end included. One with more than `longest` bytes is read over and reported."""
    number = 0
    read = stream.readline
    while line := read(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n") and _read_over(stream):
            report(f"line {number}", f"is longer than {longest} bytes; it was left out")
            continue
        yield number, line


def _read_over(stream: BinaryIO) -> bool:
    """Go to the end of a line; whether there was anything left of it."""
    left = False
    while rest := stream.readline(1 << 16):
        left = left or rest not in (b"\n", b"\r\n")
        if rest.endswith(b"\n"):
            break
    return left


def decoded(line: bytes) -> str:
    """UTF-8, as nearly all lists are; else what old Windows programs write, in which every byte means something."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        try:
            return line.decode("cp1252")
        except UnicodeDecodeError:
            return line.decode("latin-1")

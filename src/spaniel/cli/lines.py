"""Lines from standard input, numbered, in constant memory whatever they hold."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

LONGEST = 1 << 16  # longer lines are cut here and read to their end; no URL is that long


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Each line with its number, but empty ones and comments (`#`). Bytes that are not UTF-8 come as surrogates."""
    number = 0
    while line := stream.readline(LONGEST):
        number += 1
        rest = line
        while len(rest) == LONGEST and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST)
        text = line.decode("utf-8", "surrogateescape").strip()
        if text and not text.startswith("#"):
            yield number, text


def inputs(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What to work on, each with its place for messages: the arguments, and standard input where one of them is `-`."""
    for argument in arguments:
        if argument == "-":
            from spaniel.cli.files import standard_input

            for number, text in numbered_lines(standard_input()):
                yield f"line {number}: ", text
        else:
            yield "", argument

"""Links of a command line and of lists: a URL itself, a file or standard input with one URL per line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spaniel.cli.files import standard_input
from spaniel.cli.lines import numbered_lines
from spaniel.errors import Code, SpanielError
from spaniel.health.verdict import Link, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO


def links_of(sources: Iterable[str]) -> Iterator[Link]:
    for source in sources:
        if source.lower().startswith(("http://", "https://")):
            yield _link(source, Place(""))
        elif source == "-":
            yield from _lines(standard_input(), "-")
        else:
            try:
                with open(source, "rb") as file:
                    yield from _lines(file, source)
            except OSError as error:
                raise SpanielError(Code.BAD_ARGS, field=source, reason=f"cannot be read: {error.strerror}") from None


def scope_of(sources: Iterable[str]) -> str:
    """What is checked, whatever folder it is named from."""
    named = (source if "://" in source or source == "-" else os.path.abspath(source) for source in sources)
    return "\n".join(["check", *named])


def _lines(stream: BinaryIO, name: str) -> Iterator[Link]:
    for number, text in numbered_lines(stream):
        yield _link(text, Place(name, number, 1))


def _link(text: str, place: Place) -> Link:
    url, _, fragment = text.partition("#")
    return Link(url, (fragment,) if fragment else (), (place,))

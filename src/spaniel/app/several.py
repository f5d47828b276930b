"""Several URLs or links, as a program passes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")


def several(given: Iterable[T], name: str, kinds: type | tuple[type, ...]) -> Iterator[T]:
    """Each of them. A single string is refused: it would be read letter by letter."""
    if isinstance(given, str | bytes):
        raise SpanielError(Code.BAD_ARGS, field=name, reason="is a single text; pass a list")
    return _each(given, name, kinds)


def _each(given: Iterable[T], name: str, kinds: type | tuple[type, ...]) -> Iterator[T]:
    for number, one in enumerate(given):
        if not isinstance(one, kinds):
            raise SpanielError(Code.BAD_ARGS, field=f"{name}[{number}]", reason=f"is of type {type(one).__name__}")
        yield one

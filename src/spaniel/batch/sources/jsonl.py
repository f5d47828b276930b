"""JSON, one object a line: the URL at a field, or at the end of a way of fields, and the other fields with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spaniel.batch.sources.lines import decoded, numbered_lines
from spaniel.batch.sources.rows import URL_NAMES, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.batch.sources.rows import Options, Report

LONGEST = 4 << 20  # bytes of a line: whole texts may stand beside the URL
DEEPEST = 64  # objects and lists within one another; whoever writes them out again recurses


class NoUrlError(ValueError):
    """A row with nothing where its URL should be."""


def read_jsonl(stream: BinaryIO, options: Options, report: Report) -> Iterator[Row]:
    for number, line in numbered_lines(stream, LONGEST, report):
        if line.isspace():
            continue
        try:
            yield _row(_value(line), options.field, len(line))
        except ValueError as error:
            report(f"line {number}", str(error), lost=not isinstance(error, NoUrlError))


def _value(line: bytes) -> object:
    try:
        value: object = msgspec.json.decode(line)
    except UnicodeDecodeError:
        return _value(decoded(line).encode())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"is not JSON that can be read ({error})") from None
    if line.count(b"[") + line.count(b"{") > DEEPEST and _is_deep(value):
        raise ValueError(f"has more than {DEEPEST} levels")
    return value


def _is_deep(value: object) -> bool:
    """Level by level, since whoever recurses falls into the trap."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [part for whole in level for part in _parts(whole)]
        if not level:
            return False
    return True


def _parts(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _row(value: object, field: str | None, size: int) -> Row:
    if isinstance(value, str) and field is None:
        return Row(value, {}, size)
    if not isinstance(value, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004  bad input, not a bad call
    name = field or next((name for name in URL_NAMES if name in value), None)
    if name is None:
        raise ValueError(f"has no field '{URL_NAMES[0]}'; say which one holds the URL: --field NAME")
    url = value.pop(name) if name in value else _taken(value, name)
    if url is None:
        raise NoUrlError(f"has no URL at '{name}'")
    if not isinstance(url, str):
        raise ValueError(f"has no URL at '{name}'")  # noqa: TRY004
    return Row(url, value, size)


def _taken(value: dict[str, object], way: str) -> object:
    """What is at the end of a way like `page.url`, taken out of the object."""
    *inner, last = way.split(".")
    place: object = value
    for name in inner:
        place = place.get(name) if isinstance(place, dict) else None
    return place.pop(last, None) if isinstance(place, dict) else None

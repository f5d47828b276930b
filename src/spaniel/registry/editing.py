"""Edits that change the lines of one key and no others (DB-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.registry.formatting import items_of
from spaniel.registry.outline import Pair, YamlOutline, outline
from spaniel.registry.scalars import as_read, lines_for, scalar
from spaniel.registry.splitting import line_end, lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.registry.complaints import Position
    from spaniel.registry.plain import Value
    from spaniel.registry.scalars import Written


def set_key(text: str, key: str, value: Written, place: Position) -> str:
    """The document with this value; comments stay, and so does a line that says the same already."""
    found = outline(text, place)
    pair = found.pair(key)
    meant = as_read(value)
    if pair is not None and pair.value == meant:
        return text
    if found.pairs and found.column is None:
        raise place.broken("the document stands within braces ({…}); write a key a line, and it can be edited")
    lines, end = lines_of(text), line_end(text)
    if pair is None:
        at = _place_for(key, found, lines)
        if at == len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += end
        lines[at:at] = lines_for(key, value, found.column or 0, end)
    elif pair.span is not None and isinstance(value, str | int):
        start, stop = pair.span
        line = lines[pair.line]
        lines[pair.line] = line[:start] + scalar(value) + line[stop:]
    else:
        own = None if isinstance(value, str | int) else _edited_list(lines[pair.line : pair.end], pair, value, end)
        lines[pair.line : pair.end] = own or lines_for(key, value, found.column or 0, end)
    return _proved("".join(lines), {**found.keys, key: meant}, place)


def _edited_list(lines: list[str], pair: Pair, value: Sequence[str], end: str) -> list[str] | None:
    """The lines of a list with other items: those that stay keep theirs, with comments and quotes. None where an item
    has more lines than one, or shares its line."""
    items = items_of(lines[1:])
    if not items or not value or not isinstance(pair.value, list) or len(items) != len(pair.value):
        return None
    known = dict(zip(map(str, pair.value), items, strict=True))
    lead = items[0][-1].partition("-")[0]
    if not lines[-1].endswith("\n"):
        items[-1][-1] += end
    return [lines[0], *(line for item in value for line in known.get(item, [f"{lead}- {scalar(item)}{end}"]))]


def unset_key(text: str, key: str, place: Position) -> str:
    """The document without a key; a comment above it stays."""
    found = outline(text, place)
    pair = found.pair(key)
    if pair is None:
        return text
    if found.column is None:
        raise place.broken("the document stands within braces ({…}); write a key a line, and it can be edited")
    lines = lines_of(text)
    del lines[pair.line : pair.end]
    return _proved("".join(lines), {name: value for name, value in found.keys.items() if name != key}, place)


def _place_for(key: str, found: YamlOutline, lines: list[str]) -> int:
    """Where a new key belongs: before the first that sorts after it, and above that one's comments."""
    before: Pair | None = None
    for pair in found.pairs:
        if pair.key > key:
            break
        before = pair
    if before is not None:
        return before.end
    return 1 if lines[:1] and lines[0].startswith("---") else 0


def _proved(text: str, meant: dict[str, Value], place: Position) -> str:
    """The text, if it says what was meant: a value may reach further than its lines, as a block of text does."""
    if outline(text, place).keys != meant:
        raise place.broken("this record cannot be edited line by line; please edit it by hand")
    return text

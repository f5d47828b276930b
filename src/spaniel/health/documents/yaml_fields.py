"""Links in YAML: values that are addresses, and addresses within longer values."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spaniel.health.documents import bare
from spaniel.health.documents.mention import Found
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

WEB = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
SYNTAXES = {"": "yaml", "'": "yaml-single", '"': "json"}
DEEP_BLOCK = re.compile(r"(?:[-?:][ \t]+){200}")  # lists in lists in one line, each of which is an object
DEEPEST_FLOW = 64  # libyaml takes the square of the depth of `[[[[`


def links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
    return scan(text, 0, len(text), fields)


def scan(text: str, start: int, end: int, fields: Collection[str] = ()) -> Iterator[Found]:
    """Of a part of a text. What is no YAML is read as text, unless single fields are asked for."""
    part = text[start:end]
    found: Iterable[Found] | None = None if _is_deep(part) else _found(part, frozenset(fields))
    if found is None:
        found = () if fields else bare.links(part)
    for one in found:
        yield one._replace(start=one.start + start, end=one.end + start)


def _is_deep(text: str) -> bool:
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest > DEEPEST_FLOW or DEEP_BLOCK.search(text) is not None


class _Spans:
    """Links by their places alone: what they say is read again from the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts, self._ends, self._syntaxes = array("I"), array("I"), array("B")
        self._names: list[str] = []

    def add(self, found: Found) -> None:
        if found.syntax not in self._names:
            self._names.append(found.syntax)
        self._starts.append(found.start)
        self._ends.append(found.end)
        self._syntaxes.append(self._names.index(found.syntax))

    def __iter__(self) -> Iterator[Found]:
        for start, end, number in zip(self._starts, self._ends, self._syntaxes, strict=True):
            syntax = self._names[number]
            yield Found(decode(self._text[start:end], syntax), start, end, syntax)


def _found(text: str, fields: frozenset[str]) -> _Spans | None:
    import yaml

    found = _Spans(text)
    keys = _Keys()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.ScalarEvent):
                key = keys.scalar(event.value)
                if key is not None and (not fields or key in fields):
                    for one in _of_scalar(text, event):
                        found.add(one)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                keys.opened(is_mapping=isinstance(event, yaml.MappingStartEvent))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                keys.closed()
            elif isinstance(event, yaml.AliasEvent):
                keys.scalar()
    except (yaml.YAMLError, ValueError):
        return None
    return found


@dataclass(slots=True)
class _Level:
    """A mapping or a list that is open."""

    key: str  # that its next value belongs to
    is_mapping: bool
    is_value_next: bool = False  # in a mapping: behind a key


class _Keys:
    """Which key a value belongs to: its own, or that of the list it stands in."""

    def __init__(self) -> None:
        self._around: list[_Level] = []

    def scalar(self, value: str = "") -> str | None:
        """The key of a value; None where it is itself a key."""
        if not self._around:
            return ""
        level = self._around[-1]
        if level.is_mapping:
            level.is_value_next = not level.is_value_next
            if level.is_value_next:
                level.key = value
                return None
        return level.key

    def opened(self, *, is_mapping: bool) -> None:
        self._around.append(_Level(self.scalar() or "", is_mapping))

    def closed(self) -> None:
        self._around.pop()


def _of_scalar(text: str, event: Any) -> Iterator[Found]:
    quotes = 1 if event.style in ("'", '"') else 0
    start, end = event.start_mark.index + quotes, event.end_mark.index - quotes
    syntax = SYNTAXES.get(event.style or "")
    if syntax and WEB.fullmatch(event.value) and decode(text[start:end], syntax) == event.value:
        yield Found(event.value, start, end, syntax)
    else:
        yield from bare.scan(text, start, end)

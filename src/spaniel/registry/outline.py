"""Parses a document by libyaml's events: its keys, their values, and their lines.

Scalars stay text; aliases, anchors, tags and merge keys are refused.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.registry.yaml_text import Position, Value


_PLAIN_WORDS = {
    "found character that cannot start any token": (
        "a tab, '@', '`' or '%' cannot begin anything here; indent with spaces, and write such a value in quotes"
    ),
    "found a tab character that violates indentation": "a tab cannot indent; use spaces",
    "could not find expected ':'": "this is no 'key: value' and no '- item'; write it as one, or within quotes",
    "mapping values are not allowed in this context": (
        "a ':' where no key can stand; write a value with ': ' in it within quotes, and begin all keys in one column"
    ),
    "did not find expected key": "this line does not fit the lines above; begin all keys in one column",
    "did not find expected '-' indicator": "this line does not fit the list above; begin each item with '- '",
    "block sequence entries are not allowed in this context": (
        "a '-' where no list can stand; begin the list in the next line, or write the value within quotes"
    ),
    "did not find expected <document start>": (
        "this is outside of the record; remove directives ('%YAML …'), and begin each record with '---'"
    ),
    "found unexpected end of stream": "a quotation mark is opened and not closed",
    "found unexpected document indicator": "a quotation mark is opened and not closed before the next '---'",
    "found unknown escape character": "in double quotes a '\\' needs another; or use single quotes",
}
# libyaml reports these at the end of the file or in the next line; the user needs the line where they begin
_NOTICED_LATE = ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")


def in_plain_words(error: yaml.MarkedYAMLError) -> tuple[str, yaml.Mark | None]:
    """What is wrong, and where; libyaml's own text if the table has none."""
    problem = error.problem or error.context or "not YAML"
    marks = (error.problem_mark, error.context_mark)
    first, second = reversed(marks) if problem in _NOTICED_LATE else marks
    return _PLAIN_WORDS.get(problem, problem), first or second


DEEPEST = 16
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = ("", "~", "null", "Null", "NULL")


class Pair(NamedTuple):
    """A key of a document. Lines and columns are counted from 0, lines from the document's `---`."""

    key: str
    value: Value
    line: int
    end: int  # the line after its value's last one
    span: tuple[int, int] | None  # the columns of a value that is one scalar on the key's own line


class YamlOutline(NamedTuple):
    """A document. `column` is where its keys begin; None where it is written within braces, or empty."""

    pairs: tuple[Pair, ...]
    column: int | None

    def pair(self, key: str) -> Pair | None:
        return next((pair for pair in self.pairs if pair.key == key), None)

    @property
    def keys(self) -> dict[str, Value]:
        return {pair.key: pair.value for pair in self.pairs}


def outline(text: str, place: Position) -> YamlOutline:
    """The keys of a document; what is no mapping, and what YAML offers beyond text, lists and mappings, is refused."""
    with _told_by_place(place):
        return _Reader(text, place).document()


def values(text: str, place: Position) -> Iterator[Value]:
    """Whatever the documents of a file hold, read as strictly."""
    with _told_by_place(place):
        yield from _Reader(text, place).values()


@contextmanager
def _told_by_place(place: Position) -> Iterator[None]:
    try:
        yield
    except yaml.MarkedYAMLError as error:
        reason, mark = in_plain_words(error)
        raise place.broken(reason, *_position(mark)) from None
    except yaml.YAMLError as error:
        raise place.broken(f"not YAML: {error}") from None


class _Reader:
    def __init__(self, text: str, place: Position) -> None:
        self._lines = text.split("\n")
        self._place = place
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        self._last = 0  # the line after the last one that holds something of a value

    def document(self) -> YamlOutline:
        self._next(), self._next()  # the stream's beginning, and the document's
        event = self._next()
        if isinstance(event, yaml.ScalarEvent) and not event.style and event.value in _NULLS:
            found = YamlOutline((), None)
        elif not isinstance(event, yaml.MappingStartEvent):
            self._refuse(event, "a document holds keys and their values, as in '_path: /index.html'")
        else:
            pairs = tuple(self._pairs(event, 1))
            found = YamlOutline(pairs, None if event.flow_style or not pairs else _start(event)[1])
        if not isinstance(self._next(), yaml.DocumentEndEvent) or not isinstance(self._next(), yaml.StreamEndEvent):
            raise self._place.broken("more than one document where there should be one")
        return found

    def values(self) -> Iterator[Value]:
        self._next()
        while isinstance(self._next(), yaml.DocumentStartEvent):
            yield self._value(self._next(), 0)
            self._next()

    def _next(self) -> yaml.Event:
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, "an alias ('*'); write the value itself")
        if getattr(event, "anchor", None):
            self._refuse(event, "an anchor ('&'); write the value itself wherever it is wanted")
        if getattr(event, "tag", None):
            self._refuse(event, "a tag ('!'); all values are text here")
        return event

    def _pairs(self, opening: yaml.MappingStartEvent, depth: int) -> Iterator[Pair]:
        known: set[str] = set()
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event, opening)
            if key in known:
                self._refuse(event, f"the key '{key}' stands here twice")
            known.add(key)
            first = self._next()
            value = self._value(first, depth)
            line, _ = _start(event)
            yield Pair(key, value, line, max(self._last, line + 1), _span(first, line))
        self._closed(opening, event)

    def _key(self, event: yaml.Event, opening: yaml.MappingStartEvent) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(event, "a key is one word")
        line, column = _start(event)
        if event.value == "<<" and not event.style:
            self._refuse(event, "a merge key ('<<'); write the keys themselves")
        if not opening.flow_style and self._lines[line][:column].strip(" -"):
            self._refuse(event, "a key that begins with '?'; write 'key: value'")
        return str(event.value)

    def _value(self, event: yaml.Event, depth: int) -> Value:
        if depth > DEEPEST:
            self._refuse(event, f"more than {DEEPEST} levels of lists and mappings")
        if isinstance(event, yaml.ScalarEvent):
            line, column = _end(event)
            self._last = line + (column > 0)
            return str(event.value)
        if isinstance(event, yaml.MappingStartEvent):
            return {pair.key: pair.value for pair in self._pairs(event, depth + 1)}
        items: list[Value] = []
        while not isinstance(inner := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(inner, depth + 1))
        self._closed(event, inner)
        return items

    def _closed(self, opening: yaml.Event, closing: yaml.Event) -> None:
        """The end of a block is where the next thing begins; that of a flow is where its bracket stands."""
        if getattr(opening, "flow_style", False):
            self._last = _end(closing)[0] + 1

    def _refuse(self, event: yaml.Event, reason: str) -> NoReturn:
        raise self._place.broken(reason, *_start(event))


def _span(event: yaml.Event, line: int) -> tuple[int, int] | None:
    (first, begin), (last, end) = _start(event), _end(event)
    return (begin, end) if isinstance(event, yaml.ScalarEvent) and first == last == line and begin < end else None


def _start(event: yaml.Event) -> tuple[int, int]:
    return _position(event.start_mark)


def _end(event: yaml.Event) -> tuple[int, int]:
    return _position(event.end_mark)


def _position(mark: Any) -> tuple[int, int]:
    """Line and column; every event of a text has them, some errors do not."""
    return (mark.line, mark.column) if mark else (0, 0)

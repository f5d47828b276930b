"""Strict reading of a user's TOML or JSON: every error names the file, the key and what is wrong."""

from __future__ import annotations

import os

from spaniel.errors import Code, SpanielError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_FILE_BYTES = 1 << 20  # of a file that people write by hand


def complaint(place: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=place, reason=reason)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the closest known one, or all of them."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names, 1)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(names)}"


def read_toml(path: str, what: str) -> dict[str, object]:
    """Read a TOML file; `what` describes it in errors."""
    import tomllib

    place = f"{what} {path}"
    try:
        if not os.path.isdir(path) and os.path.exists(path) and not os.path.isfile(path):
            raise complaint(place, "is not a regular file")  # a pipe might never end
        with open(path, "rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise complaint(place, f"has more than {MAX_FILE_BYTES:,} bytes")
        return tomllib.loads(raw.decode())
    except tomllib.TOMLDecodeError as error:
        raise complaint(place, f"not TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise complaint(place, f"not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise complaint(place, f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise complaint(place, f"cannot be read: {error}") from None


class Table:
    """A table whose keys are read one by one; `close` raises if unknown keys are left."""

    __slots__ = ("_left", "_taken", "place")

    def __init__(self, data: object, place: str) -> None:
        if not isinstance(data, dict):
            raise complaint(place, "must be a table")
        self._left = dict(data)
        self._taken: list[str] = []
        self.place = place

    def _take(self, key: str, default: object) -> object:
        self._taken.append(key)
        value = self._left.pop(key, default)
        if value is None:
            raise complaint(f"{self.place}.{key}", "is missing")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str):
            raise complaint(f"{self.place}.{key}", "must be text")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value = self._take(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise complaint(f"{self.place}.{key}", "must be a list of texts")
        return tuple(value)

    def truth(self, key: str, *, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise complaint(f"{self.place}.{key}", "must be true or false")
        return value

    def number(self, key: str, default: int | None = None) -> int:
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise complaint(f"{self.place}.{key}", "must be a whole number")
        return value

    def some_numbers(self, keys: Iterable[str]) -> dict[str, int]:
        """Optional whole numbers: those that are present."""
        return {key: self.number(key) for key in keys if self.has(key)}

    def numbers(self, key: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        value = self._take(key, default)
        if not isinstance(value, list | tuple) or not all(type(n) is int for n in value):
            raise complaint(f"{self.place}.{key}", "must be a list of whole numbers")
        return tuple(value)

    def tables(self, key: str, default: list[object] | None = None) -> list[Table]:
        value = self._take(key, default)
        if not isinstance(value, list):
            raise complaint(f"{self.place}.{key}", "must be a list of tables")
        return [Table(item, f"{self.place}.{key}[{i}]") for i, item in enumerate(value)]

    def has(self, key: str) -> bool:
        """Whether an optional key is present. In either case it counts as a known key."""
        self._taken.append(key)
        return key in self._left

    def is_text(self, key: str) -> bool:
        """Whether the value of a key is text."""
        return isinstance(self._left.get(key), str)

    def part(self, key: str) -> Table:
        """An optional table; empty if it is missing."""
        return Table(self._take(key, {}), f"{self.place}.{key}")

    def table(self, key: str) -> Table:
        return Table(self._take(key, None), f"{self.place}.{key}")

    def _own_keys(self, key: str) -> list[tuple[str, Table]]:
        """The keys of a table with user-defined keys, each with that table."""
        value = self._take(key, {})
        table = Table(value, f"{self.place}.{key}")
        return [(name, table) for name in dict(table._left)]

    def keys(self) -> list[str]:
        """The keys that have not been read yet, of a table with user-defined keys."""
        return list(self._left)

    def text_map(self, key: str) -> dict[str, str]:
        return {name: table.text(name) for name, table in self._own_keys(key)}

    def number_map(self, key: str) -> dict[str, int]:
        return {name: table.number(name) for name, table in self._own_keys(key)}

    def text_lists(self, key: str) -> dict[str, tuple[str, ...]]:
        return {name: table.texts(name) for name, table in self._own_keys(key)}

    def close(self) -> None:
        for key in self._left:
            raise complaint(f"{self.place}.{key}", f"unknown key; {nearest(key, set(self._taken))}")

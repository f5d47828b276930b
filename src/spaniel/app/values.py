"""Values checked: of a setting, from a file, a variable's text or a flag; of a list that a program passes."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import Code, SpanielError
from spaniel.tables import complaint, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from spaniel.app.keys import Key, Value

log = logging.getLogger("spaniel.settings")

MODES = ("enabled", "parse_only", "disabled")
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
T = TypeVar("T")


def checked(key: Key, value: object, place: str, environ: Mapping[str, str], folder: str = "") -> Value:
    """A value from a file or a program; relative paths start at `folder` (empty: the working folder)."""
    if isinstance(key.default, bool):
        return _of(bool, value, place, "true or false")
    if isinstance(key.default, int):
        return _clamped(key, _of(int, value, place, "a whole number"), place)
    if isinstance(key.default, tuple):
        return _listed(key, _of(list, value, place, "a list"), place)
    text = _of(str, value, place, "text")
    if key.kind == "mode" and text not in MODES:
        raise complaint(place, f"must be one of {', '.join(MODES)}")
    if key.kind in ("line", "header") and not text.isprintable():
        raise complaint(place, "must be one line of text without control characters")
    if key.kind == "header" and not (text.strip() and text.isascii()):
        raise complaint(place, "must be printable ASCII, and not empty: it is sent as a header")
    if key.kind == "template":
        return _template(key, text, place)
    if key.kind in ("path", "program"):
        if not text.isprintable():
            raise complaint(place, "a path has no control characters")
        return _anchored(_expanded(text, place, environ), key, folder)
    return text


def from_text(key: Key, text: str, place: str, environ: Mapping[str, str]) -> Value:
    """The value of a variable: true, false, 1 or 0; a whole number; text; a list separated by commas."""
    value: object = text
    if isinstance(key.default, bool):
        value = TRUTHS.get(text.strip().lower())
    elif isinstance(key.default, tuple):
        items = [item.strip() for item in text.split(",") if item.strip()]
        value = [_whole(item) for item in items] if key.kind == "ports" else items
    elif isinstance(key.default, int):
        value = _whole(text.strip())
    return checked(key, value, place, environ)


def asked(key: Key, value: object, place: str, environ: Mapping[str, str]) -> Value:
    """A value given for this call. A number outside its range is refused: the user is there to correct it."""
    if isinstance(value, int) and _inside(key, value) != value:
        raise complaint(place, f"must be {key.range}")
    return checked(key, list(value) if isinstance(value, tuple) else value, place, environ)


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def _of(kind: type[T], value: object, place: str, called: str) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise complaint(place, f"must be {called}")
    return value


def _inside(key: Key, value: int) -> int:
    low = value if key.low is None else max(value, key.low)
    return low if key.high is None else min(low, key.high)


def _clamped(key: Key, value: int, place: str) -> int:
    """Numbers outside their range are clamped, with a warning (§5.4, D2-01)."""
    inside = _inside(key, value)
    if inside != value:
        log.warning("%s = %d is out of range; %d is used", place, value, inside)
    return inside


def _listed(key: Key, items: list[object], place: str) -> Value:
    if key.kind != "ports":
        texts = tuple(_of(str, item, place, "a list of texts") for item in items)
        if key.kind == "mirrors":
            return tuple(_mirror(text, place) for text in texts)
        if key.kind == "resources":
            return tuple(_resource(text, place) for text in texts)
        if key.kind == "names":
            return tuple(_name(text, place) for text in texts)
        if key.kind == "words" and not all(text.isprintable() and text and " " not in text for text in texts):
            raise complaint(place, "must be a list of texts without blanks")
        return _domains(texts, place) if key.kind == "domains" else texts
    ports = tuple(_of(int, item, place, "a list of ports") for item in items)
    if any(_inside(key, port) != port for port in ports):
        raise complaint(place, f"a port is a number from {key.range}")
    return ports or key.default


def file_names(text: str, place: str) -> tuple[str, ...]:
    """Names or extensions of files, separated by commas."""
    return tuple(_name(item.strip(), place) for item in text.split(",") if item.strip())


def _name(text: str, place: str) -> str:
    """A file's name or its extension, without a path."""
    if not re.fullmatch(r"\.?[\w+-][\w.+-]{0,99}", text):
        raise complaint(place, f"'{text}' is neither a file's name nor an extension")
    return text


def _domains(texts: tuple[str, ...], place: str) -> tuple[str, ...]:
    from spaniel.url.allowlist import domain_list

    return domain_list(texts, place)


def _resource(text: str, place: str) -> str:
    from spaniel.browser.rendering import RESOURCES

    if text.lower() not in RESOURCES:
        raise complaint(place, f"unknown resource type '{text}'; {nearest(text.lower(), RESOURCES)}")
    return text


def _template(key: Key, text: str, place: str) -> str:
    """An address with a placeholder for a page's URL, and in a snapshot's for its timestamp; empty: none."""
    if not text:
        return text
    moment = {"{timestamp}"} if key.name == "snapshot" else set()
    if text.count("{url}") != 1 or set(re.findall(r"[{][^}]*[}]?|[}]", text)) - {"{url}"} - moment:
        also = " but {timestamp}" if moment else ""
        raise complaint(place, f"must contain {{url}} once, and nothing else in braces{also}")
    _address(text.replace("{url}", "https://example.com/").replace("{timestamp}", "20260101000000"), place)
    return text


def _mirror(text: str, place: str) -> str:
    """Two addresses that end with a slash, normalized: a common prefix then means the same folder."""
    words = text.split()
    if len(words) != 2 or not all(word.endswith("/") for word in words):
        raise complaint(place, "a mirror is two addresses separated by a space, each ending with a slash")
    return " ".join(_address(word, place) for word in words)


def _address(text: str, place: str) -> str:
    from spaniel.url.parsing import parse

    try:
        return parse(text).href
    except SpanielError as error:
        raise complaint(place, error.message) from None


def _expanded(text: str, place: str, environ: Mapping[str, str]) -> str:
    """`${NAME}` and `$NAME` from the environment (FR-WF-CFG-03), `~`; TEMP is always set (D2-21).

    Only paths are expanded, and a project's file sets none: it cannot read environment variables.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name in environ:
            return environ[name]
        if name == "TEMP":
            return tempfile.gettempdir()
        raise complaint(place, f"the variable {name} is not set")

    return os.path.expanduser(re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, text))


def _anchored(text: str, key: Key, folder: str) -> str:
    """A relative path in a file starts at the file: the working folder may be anyone's (D2-31).

    A program's bare name is searched on the PATH.
    """
    is_bare = key.kind == "program" and not os.path.dirname(text)
    return text if not text or not folder or is_bare else os.path.join(folder, text)


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

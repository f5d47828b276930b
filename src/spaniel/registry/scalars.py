"""Values as YAML writes them: plain where every reader takes them for the same text, quoted otherwise."""

from __future__ import annotations

import re

from spaniel.registry.plain import is_plain_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.registry.plain import Value

    Written = str | int | bool | Sequence[str]

# Text that some version of YAML reads as something else: a hash may be all digits, or look like 12e34 (DB-13)
_GUESSED = re.compile(
    r"~|null|true|false|yes|no|on|off|y|n|[-+]?\.(?:inf|nan)"
    r"|[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:e[-+]?[0-9]+)?|[-+]?0[xob][0-9a-f_]+|[-+]?[0-9][0-9_:]*(?:\.[0-9_]*)?"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?",
    re.IGNORECASE,
)


def scalar(value: str | int | bool) -> str:
    """One line, whatever the text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if is_plain_scalar(value) and not _GUESSED.fullmatch(value):
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def lines_for(key: str, value: Written, indent: int, end: str) -> list[str]:
    """A key and its value; a list has an item a line, as dumpers write it."""
    lead = " " * indent
    if isinstance(value, str | int):
        return [f"{lead}{scalar(key)}: {scalar(value)}{end}"]
    if not value:
        return [f"{lead}{scalar(key)}: []{end}"]
    return [f"{lead}{scalar(key)}:{end}", *(f"{lead}- {scalar(item)}{end}" for item in value)]


def as_read(value: Written) -> Value:
    """A value as it is read again: text, or a list of texts."""
    if isinstance(value, bool):
        return scalar(value)
    return str(value) if isinstance(value, str | int) else [str(item) for item in value]

"""Links and verdicts as bytes, and back. Names of files and what servers say may hold text that is no Unicode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from spaniel.health.verdict import Checked, Link
from spaniel.verdicts import Hop

if TYPE_CHECKING:
    T = TypeVar("T")

_HALF = re.compile(r"\\udc([89a-f][0-9a-f])")
_encode = msgspec.json.Encoder().encode
unpack_link = msgspec.json.Decoder(Link).decode
unpack_checked = msgspec.json.Decoder(Checked).decode
unpack_chain = msgspec.json.Decoder(tuple[Hop, ...]).decode


def pack(value: object) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(plain(value))


def plain(value: T) -> T:
    """The same with half characters as their escapes."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()  # type: ignore[return-value]
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)  # type: ignore[return-value]
    return value


def file_name(text: str) -> str:
    """A file's name again as the system has it: a byte that is no UTF-8 was made an escape."""
    return _HALF.sub(lambda found: chr(0xDC00 + int(found[1], 16)), text) if "\\" in text else text

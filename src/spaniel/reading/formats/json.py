"""The JSON reader: the text as received is the data (FG-25); indented, in a code block, it is for people.

No objects are built: digits, the order of keys and duplicate keys stay as they are, and a list of ten million empty
lists takes no more memory than its text. Depth and indented size are measured on the bytes."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

import msgspec

from spaniel.reading.document import Document, Hygiene
from spaniel.reading.formats.plain import read_text
from spaniel.reading.markdown.code_blocks import fenced
from spaniel.reading.markdown.writer import MIN_ALLOWANCE
from spaniel.reading.text.charset import decode_text
from spaniel.reading.text.scrub import one_line, scrub, sub

WINDOW = 1 << 13  # bytes that are taken apart at a time: a list of all strings of a text takes ten times its size
INDENT = 2
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
LEVEL_STEP = tuple(1 if code in b"[{" else -1 if code in b"]}" else 0 for code in range(256))


class JsonStructure(NamedTuple):
    """What is known of a text that may be JSON."""

    depth: int  # the most levels inside one another
    more: int  # bytes that indentation, line ends and blanks add at the most


def measure_json(text: bytes) -> JsonStructure:
    """A comma or a bracket begins a line, as far in as there are brackets open; those in strings do not count.

    Each line of a window is taken for as far in as the farthest.
    """
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")  # a backslash stands in strings only: now each quote is one
    level = deepest = more = inside = 0
    for begin in range(0, len(plain), WINDOW):
        parts = plain[begin : begin + WINDOW].split(b'"')
        outside = b'"'.join(parts[inside::2]).replace(b"[]", b"").replace(b"{}", b"")  # which stay together
        inside ^= (len(parts) - 1) & 1
        brackets = outside.translate(None, NO_BRACKETS)
        levels = list(accumulate(map(LEVEL_STEP.__getitem__, brackets), initial=level))
        level, most = levels[-1], max(levels)
        deepest = max(deepest, most)
        more += (1 + INDENT * most) * (len(brackets) + outside.count(b",")) + outside.count(b":")
    return JsonStructure(deepest, more)


INVALID_JSON = "invalid_json"  # the note on a page that calls itself JSON and cannot be read as such
MAX_JSON_DEPTH = 400  # levels: parsers give up at some hundreds, each at another
BLANKS = " \t\r\n\ufeff"
LINES_AT_ONCE = 1 << 18  # characters of JSON lines that are looked at at a time
# Half a character by its number, which JSON allows and no text can hold. Escapes are taken whole, so that none begins
# inside another.
LONE_SURROGATE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_value = msgspec.json.Decoder(msgspec.Raw)
ABSENT = msgspec.Raw(b"")


def read_json(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = (body if isinstance(body, str) else decode_text(body, charset)).strip(BLANKS)
    found = valid_json(text)
    if found is None:
        return read_text(text, url, None).noted(INVALID_JSON)
    data, structure = found
    shown, invisible, controls = scrub(_indented(data, structure, len(body)))
    hygiene = Hygiene(invisible_characters=invisible, control_characters=controls)
    return Document(fenced(shown, "json"), json_title(data), kind="json", hygiene=hygiene, data=data)


def is_json(body: bytes) -> bool:
    """Whether bytes without a type are one list or object."""
    text = decode_text(body, None).strip(BLANKS)
    return text.startswith(("{", "[")) and measure_json(text.encode()).depth <= MAX_JSON_DEPTH and _is_valid(text)


def valid_json(text: str) -> tuple[str, JsonStructure] | None:
    """The text as valid JSON: as it is, with JSON lines as one list, or not at all."""
    structure = measure_json(text.encode("utf-8", "replace"))
    if structure.depth > MAX_JSON_DEPTH:
        return None
    whole = text if _is_valid(text) else _replace_surrogates(text)
    if whole is not None:
        return whole, structure
    listed = _lines_as_list(text) if "\n" in text else None
    return None if listed is None else (listed, measure_json(listed.encode()))


def _is_valid(text: str | bytes) -> bool:
    try:
        _value.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        return False
    return True


def _replace_surrogates(text: str) -> str | None:
    """Halves of characters are replaced, as in any other text that cannot be decoded."""
    if "\\u" not in text:
        return None
    whole = sub(LONE_SURROGATE, lambda match: "\\ufffd" if match["half"] else match[0], text)
    return whole if _is_valid(whole) else None


def _lines_as_list(text: str) -> str | None:
    """The values of JSON lines as one list, if each line has one; some of them are looked at at a time."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + LINES_AT_ONCE) + 1 or len(text)
        lines = list(filter(str.strip, text[begin:end].split("\n")))
        try:
            values = _value.decode_lines(text[begin:end])
        except (msgspec.MsgspecError, UnicodeError):
            return None
        if len(values) != len(lines) or b"\n" in b"".join(values):
            return None
        if values:
            parts.append(",\n".join(lines))
        begin = end
    return f"[{joined}]" if (joined := ",\n".join(parts)) else None


def _indented(data: str, structure: JsonStructure, size: int) -> str:
    """Indented, unless that would make it many times as long: then as it came, which is still all of it."""
    if len(data) + structure.more > 4 * size + MIN_ALLOWANCE // 2:
        return data
    return msgspec.json.format(data, indent=INDENT)


class _NamedObject(msgspec.Struct):
    """The members of an object that name it, in formats that have a name."""

    openapi: msgspec.Raw = ABSENT
    swagger: msgspec.Raw = ABSENT
    info: msgspec.Raw = ABSENT
    context: msgspec.Raw = msgspec.field(default=ABSENT, name="@context")
    headline: msgspec.Raw = ABSENT
    name: msgspec.Raw = ABSENT


class _Info(msgspec.Struct):
    title: msgspec.Raw = ABSENT


def json_title(data: str) -> str | None:
    """The title of an API's description, or the name of what linked data is about; of nothing else."""
    if not data.startswith("{"):
        return None
    about = msgspec.json.decode(data, type=_NamedObject)
    if about.openapi or about.swagger:
        return _string(msgspec.json.decode(about.info, type=_Info).title) if _begins(about.info, b"{") else None
    return (_string(about.headline) or _string(about.name)) if about.context else None


def _string(value: msgspec.Raw) -> str | None:
    return one_line(msgspec.json.decode(value, type=str)) if _begins(value, b'"') else None


def _begins(value: msgspec.Raw, sign: bytes) -> bool:
    return bytes(value).startswith(sign)

"""The JSON reader: the text as it came is the data (FG-25), and in lines, between fences, it is for those who read.

Nothing is built from a text: its digits, the order of its keys and keys that stand twice stay as they are, and a list
of ten million empty lists takes no more memory than its text.
"""

from __future__ import annotations

import re

import msgspec

from spaniel.reading.charset import decode_text
from spaniel.reading.document import Document, Hygiene
from spaniel.reading.fences import fenced
from spaniel.reading.hygiene import one_line, scrub
from spaniel.reading.json_structure import INDENT, Structure, structure_of
from spaniel.reading.markdown import AT_LEAST
from spaniel.reading.plain import read_text
from spaniel.reading.substitution import sub

INVALID_JSON = "invalid_json"  # the note on a page that calls itself JSON and cannot be read as such
DEEPEST = 400  # levels: parsers give up at some hundreds, each at another
BLANKS = " \t\r\n\ufeff"
LINES = 1 << 18  # characters of JSON lines that are looked at at a time
# Half a character by its number, which JSON allows and no text can hold. Escapes are taken whole, so that none begins
# inside another.
HALF = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
_value = msgspec.json.Decoder(msgspec.Raw)
NOTHING = msgspec.Raw(b"")


def read_json(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = (body if isinstance(body, str) else decode_text(body, charset)).strip(BLANKS)
    found = data_of(text)
    if found is None:
        return read_text(text, url, None).noted(INVALID_JSON)
    data, structure = found
    shown, invisible, controls = scrub(_in_lines(data, structure, len(body)))
    hygiene = Hygiene(invisible_characters=invisible, control_characters=controls)
    return Document(fenced(shown, "json"), title_of(data), kind="json", hygiene=hygiene, data=data)


def is_json(body: bytes) -> bool:
    """Whether bytes without a type are one list or object."""
    text = decode_text(body, None).strip(BLANKS)
    return text.startswith(("{", "[")) and structure_of(text.encode()).depth <= DEEPEST and _is_valid(text)


def data_of(text: str) -> tuple[str, Structure] | None:
    """The text as valid JSON: as it is, with JSON lines as one list, or not at all."""
    structure = structure_of(text.encode("utf-8", "replace"))
    if structure.depth > DEEPEST:
        return None
    whole = text if _is_valid(text) else _repaired(text)
    if whole is not None:
        return whole, structure
    listed = _listed(text) if "\n" in text else None
    return None if listed is None else (listed, structure_of(listed.encode()))


def _is_valid(text: str | bytes) -> bool:
    try:
        _value.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        return False
    return True


def _repaired(text: str) -> str | None:
    """Halves of characters are replaced, as in any other text that cannot be decoded."""
    if "\\u" not in text:
        return None
    whole = sub(HALF, lambda match: "\\ufffd" if match["half"] else match[0], text)
    return whole if _is_valid(whole) else None


def _listed(text: str) -> str | None:
    """The values of JSON lines as one list, if each line has one; some of them are looked at at a time."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + LINES) + 1 or len(text)
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


def _in_lines(data: str, structure: Structure, size: int) -> str:
    """Indented, unless that would make it many times as long: then as it came, which is still all of it."""
    if len(data) + structure.more > 4 * size + AT_LEAST // 2:
        return data
    return msgspec.json.format(data, indent=INDENT)


class _About(msgspec.Struct):
    """The members of an object that name it, in formats that have a name."""

    openapi: msgspec.Raw = NOTHING
    swagger: msgspec.Raw = NOTHING
    info: msgspec.Raw = NOTHING
    context: msgspec.Raw = msgspec.field(default=NOTHING, name="@context")
    headline: msgspec.Raw = NOTHING
    name: msgspec.Raw = NOTHING


class _Info(msgspec.Struct):
    title: msgspec.Raw = NOTHING


def title_of(data: str) -> str | None:
    """The title of an API's description, or the name of what linked data is about; of nothing else."""
    if not data.startswith("{"):
        return None
    about = msgspec.json.decode(data, type=_About)
    if about.openapi or about.swagger:
        return _text(msgspec.json.decode(about.info, type=_Info).title) if _begins(about.info, b"{") else None
    return (_text(about.headline) or _text(about.name)) if about.context else None


def _text(value: msgspec.Raw) -> str | None:
    return one_line(msgspec.json.decode(value, type=str)) if _begins(value, b'"') else None


def _begins(value: msgspec.Raw, sign: bytes) -> bool:
    return bytes(value).startswith(sign)

"""Links in JSON, one value or one a line: strings that are addresses, and addresses within longer strings.

Scanned, not parsed: depth costs nothing, a comment or a comma too many does not matter, and places are known.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.documents import bare
from spaniel.health.documents.mention import Found, Stitched
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

TOKEN = re.compile(r"\"(?P<string>(?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)|[\[\]{}]", re.DOTALL)
COLON = re.compile(r"[ \t\r\n]*+:")
ESCAPE = re.compile(r"(?:\\u[0-9A-Fa-f]{4}){1,2}|\\.")
STRING = r"(\"(?:[^\"\\]++|\\.)*+(?:\"|\\?\Z))"
COMMENT = re.compile(rf"{STRING}|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)", re.DOTALL)
TRAILING_COMMA = re.compile(rf"{STRING}|,(?=\s*+[\]}}])", re.DOTALL)
SIGNS = re.compile(r":|www\.", re.IGNORECASE)  # without any of these there is no address in a string
WEB = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)


class Text(NamedTuple):
    """A string of a JSON text that is a value."""

    key: str  # that it belongs to: its own, or that of the list around it
    start: int
    end: int


def links(text: str, fields: Collection[str] = ()) -> Iterator[Found]:
    for value in strings(text):
        if fields and value.key not in fields:
            continue
        written = text[value.start : value.end]
        if SIGNS.search(written) is None:
            continue
        url = decode(written, "json")
        if WEB.fullmatch(url):
            yield Found(url, value.start, value.end, "json")
        else:
            yield from inside(unescaped([(value.start, written)]), bare.links)


def is_commented_json(text: str) -> bool:
    """Whether it is JSON but for comments and commas before a closing bracket, as settings of editors are."""
    bare_text = COMMENT.sub(lambda found: found[1] or " ", text)
    try:
        json.loads(TRAILING_COMMA.sub(lambda found: found[1] or "", bare_text))
    except (ValueError, RecursionError):
        return False
    return True


def inside(whole: Stitched, reader: object) -> Iterator[Found]:
    """The links that a reader finds in unescaped text, with their places in the source."""
    for found in reader(whole.text):  # type: ignore[operator]
        yield found._replace(
            start=whole.source(found.start), end=whole.source_end(found.end), syntax=f"json>{found.syntax}"
        )


def strings(text: str) -> Iterator[Text]:
    keys = [""]
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign == "{":
            keys.append(keys[-1])
        elif sign == "}":
            if len(keys) > 1:
                keys.pop()
        elif token["string"] is None:
            pass  # a list has the key that it stands under
        elif COLON.match(text, token.end()):
            keys[-1] = decode(token["string"], "json")
        else:
            yield Text(keys[-1], *token.span("string"))


def unescaped(parts: list[tuple[int, str]]) -> Stitched:
    """What JSON strings stand for, put together; each part with where it begins in the source."""
    return Stitched(_pieces(parts))


def _pieces(parts: list[tuple[int, str]]) -> Iterator[tuple[str, int, int]]:
    for begin, written in parts:
        at = 0
        for escape in ESCAPE.finditer(written):
            if escape.start() > at:
                yield written[at : escape.start()], begin + at, begin + escape.start()
            yield decode(escape[0], "json"), begin + escape.start(), begin + escape.end()
            at = escape.end()
        if at < len(written):
            yield written[at:], begin + at, begin + len(written)

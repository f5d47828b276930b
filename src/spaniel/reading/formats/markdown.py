"""The Markdown reader: passed on as it was written, without what hides or runs, with its front matter as metadata.

Front matter is lines of `key: value` between `---` and `---`; anything else stays in the text."""

from __future__ import annotations

import re
from typing import NamedTuple

from spaniel.reading.document import READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.markdown.code_blocks import CodeBlocks
from spaniel.reading.markdown.sanitizer import sanitize_markdown
from spaniel.reading.markdown.writer import MIN_ALLOWANCE
from spaniel.reading.metadata.dates import parse_day
from spaniel.reading.text.charset import decode_text
from spaniel.reading.text.scrub import one_line, scrub
from spaniel.reading.text.words import normalize_newlines, tidy_markdown, truncate_markdown

MAX_FRONT_MATTER = 1 << 16  # characters
BLOCK = re.compile(r"---[ \t]*\n(?P<lines>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
PAIR = re.compile(r"(?P<key>[A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(?P<value>.*))?")
CONTINUATION = re.compile(r"[ \t]|- |-$|#|$")  # to the key before: what is further in, items, comments, blank lines
NOT_PLAIN = ("|", ">", "[", "{", "&", "*", "!")  # the beginning of a value that is more than a line of text


class FrontMatter(NamedTuple):
    """What a Markdown file says about itself, and the rest of it."""

    values: dict[str, str]  # keys in lower case
    rest: str


def split_front_matter(text: str) -> FrontMatter:
    block = BLOCK.match(text[:MAX_FRONT_MATTER]) if text.startswith("---") else None
    values = None if block is None else _pairs(block["lines"].split("\n"))
    return FrontMatter({}, text) if block is None or not values else FrontMatter(values, text[block.end() :])


def _pairs(lines: list[str]) -> dict[str, str] | None:
    """The values that are one line of text; None where a line is neither a key nor belongs to one."""
    values: dict[str, str] = {}
    for line in lines:
        pair = PAIR.fullmatch(line)
        if pair is None:
            if CONTINUATION.match(line):
                continue
            return None
        values.setdefault(pair["key"].lower(), _plain(pair["value"] or ""))
    return values


def _plain(value: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"'):
        return one_line(value[1:].rpartition(value[0])[0]) or ""
    if value.startswith(NOT_PLAIN):
        return ""
    return one_line(value.partition(" #")[0]) or ""


HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<marked>[^\n]*?)[ \t#]*$|^(?P<lined>[^\s#>|`~*+-][^\n]{0,300}+)\n(?:=+|-{2,})[ \t]*$",
    re.MULTILINE,
)
LINK = re.compile(r"!?\[([^\[\]]*+)\]\([^()\s]*+\)")
EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)([^*_`]++)\1")
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
MAX_TOP = 1 << 16  # characters in which the first heading is looked for


def read_markdown(body: bytes | str, url: str | None, charset: str | None) -> Document:
    decoded = normalize_newlines(body if isinstance(body, str) else decode_text(body, charset))
    text, invisible, controls = scrub(decoded)
    values, rest = split_front_matter(text)
    cleaned = sanitize_markdown(rest, url, len(body) // 2 + MIN_ALLOWANCE)
    markdown = tidy_markdown(cleaned.text, _backslash_breaks)
    short = truncate_markdown(markdown, 4 * len(body) + MIN_ALLOWANCE)
    language = values.get("lang") or values.get("language") or ""
    return Document(
        markdown=short,
        title=values.get("title") or first_heading(short),
        language=language if LANGUAGE.fullmatch(language) else None,
        kind="markdown",
        metadata=_metadata(values),
        hygiene=Hygiene(cleaned.hidden, invisible, controls, cleaned.harmful),
        notes=(READING_CUT,) if cleaned.cut or short is not markdown else (),
    )


def _backslash_breaks(line: str, _: str, following: str) -> str:
    """Two blanks at the end break the line, and white space at the end does not stay: a backslash says the same."""
    return f"{line.rstrip()}\\" if line.endswith("  ") and line.strip() and following.strip() else line


def _metadata(values: dict[str, str]) -> Metadata:
    return Metadata(
        title=values.get("title") or None,
        description=values.get("description") or values.get("summary") or None,
        author=values.get("author") or None,
        published=parse_day(values.get("date") or values.get("published")),
        modified=parse_day(values.get("lastmod") or values.get("updated") or values.get("modified")),
    )


def first_heading(markdown: str) -> str | None:
    """The text of the first heading outside code."""
    top, at = markdown[:MAX_TOP], 0
    blocks = CodeBlocks(top)
    while at < len(top):
        block = blocks.next(at)
        found = HEADING.search(top, at, block.start if block else len(top))
        if found and (text := _heading_text(found["marked"] or found["lined"] or "")):
            return text
        if block is None:
            return None
        at = block.end
    return None


def _heading_text(heading: str) -> str | None:
    """A heading without its marks."""
    bare = EMPHASIS.sub(r"\2", LINK.sub(r"\1", heading))
    return one_line(ESCAPE.sub(r"\1", bare))

"""The Markdown reader: passed on as it was written, without what hides or runs, under what its front matter says."""

from __future__ import annotations

import re

from spaniel.reading.charset import decode_text
from spaniel.reading.dates import day_of
from spaniel.reading.document import READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.fences import CodeBlocks
from spaniel.reading.front_matter import split
from spaniel.reading.hygiene import one_line, scrub
from spaniel.reading.markdown import AT_LEAST
from spaniel.reading.markdown_cleaning import clean_markdown
from spaniel.reading.whitespace import shortened, tidy_markdown, unix_lines

HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<marked>[^\n]*?)[ \t#]*$|^(?P<lined>[^\s#>|`~*+-][^\n]{0,300}+)\n(?:=+|-{2,})[ \t]*$",
    re.MULTILINE,
)
LINK = re.compile(r"!?\[([^\[\]]*+)\]\([^()\s]*+\)")
EMPHASIS = re.compile(r"(\*\*|__|\*|`)(?=\S)([^*_`]++)\1")
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
TOP = 1 << 16  # characters in which the first heading is looked for


def read_markdown(body: bytes | str, url: str | None, charset: str | None) -> Document:
    decoded = unix_lines(body if isinstance(body, str) else decode_text(body, charset))
    text, invisible, controls = scrub(decoded)
    told, rest = split(text)
    cleaned = clean_markdown(rest, url, len(body) // 2 + AT_LEAST)
    markdown = tidy_markdown(cleaned.text, _mend)
    short = shortened(markdown, 4 * len(body) + AT_LEAST)
    language = told.get("lang") or told.get("language") or ""
    return Document(
        markdown=short,
        title=told.get("title") or first_heading(short),
        language=language if LANGUAGE.fullmatch(language) else None,
        kind="markdown",
        metadata=_metadata(told),
        hygiene=Hygiene(cleaned.hidden, invisible, controls, cleaned.harmful),
        notes=(READING_CUT,) if cleaned.cut or short is not markdown else (),
    )


def _mend(line: str, _: str, following: str) -> str:
    """Two blanks at the end break the line, and white space at the end does not stay: a backslash says the same."""
    return f"{line.rstrip()}\\" if line.endswith("  ") and line.strip() and following.strip() else line


def _metadata(told: dict[str, str]) -> Metadata:
    return Metadata(
        title=told.get("title") or None,
        description=told.get("description") or told.get("summary") or None,
        author=told.get("author") or None,
        published=day_of(told.get("date") or told.get("published")),
        modified=day_of(told.get("lastmod") or told.get("updated") or told.get("modified")),
    )


def first_heading(markdown: str) -> str | None:
    """The text of the first heading outside code."""
    top, at = markdown[:TOP], 0
    blocks = CodeBlocks(top)
    while at < len(top):
        block = blocks.next(at)
        found = HEADING.search(top, at, block.start if block else len(top))
        if found and (text := _text(found["marked"] or found["lined"] or "")):
            return text
        if block is None:
            return None
        at = block.end
    return None


def _text(heading: str) -> str | None:
    """A heading without its marks."""
    bare = EMPHASIS.sub(r"\2", LINK.sub(r"\1", heading))
    return one_line(ESCAPE.sub(r"\1", bare))

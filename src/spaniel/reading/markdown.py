"""The content as Markdown: the tree is put in order first, turbohtml writes it, the text is tidied after (FR-WF-13a)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from turbohtml import Element, Markdown, Text

from spaniel.reading.code import set_code
from spaniel.reading.links import MANY, set_links
from spaniel.reading.math import FORMULA, write_math
from spaniel.reading.tables import set_tables
from spaniel.reading.whitespace import tidy_markdown

if TYPE_CHECKING:
    from turbohtml import Document

RAISED = re.compile(r"[+\-−–]?[\dn]{1,4}")
ESCAPED_UNDERSCORE = re.compile(r"(?<=\w)\\_(?=\w)")
CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
FENCE_START = re.compile(r"^[ >*+\-\d.)]*(?:```|~~~)")


@cache
def style() -> Markdown:
    return Markdown(
        tables=Markdown.Tables(header="detect", cell_blocks="text"),
        document=Markdown.Document(line_break="backslash"),
        links=Markdown.Links(autolink=False),
        converters={FORMULA: write_math},
    )


def to_markdown(doc: Document, root: Element, url: str | None) -> tuple[str, int]:
    """Markdown of `root`, and how many harmful link targets were taken away."""
    set_code(root)
    set_tables(root)
    harmful = set_links(doc, root, url)
    _set_terms(root)
    _set_small_things(root)
    return tidy_markdown(_lines(root.to_markdown(style()))), harmful


def _set_terms(root: Element) -> None:
    """A term of a definition list and a summary stand out from what follows them."""
    for term in root.select("dt,summary")[: 4 * MANY]:
        if term.select_one("h1,h2,h3,h4,h5,h6,p,div,pre,ul,ol,strong,b,table") is None and next(term.stripped_strings, None):
            term.wrap_children(Element("strong"))


def _set_small_things(root: Element) -> None:
    for power in root.select("sup")[:MANY]:
        text = power.text.strip()
        if RAISED.fullmatch(text) and power.select_one("a") is None and _follows_a_value(power):
            power.insert_before(Text("^"))
    for reading in root.select("rt")[:MANY]:
        reading.insert_before(Text("("))
        reading.insert_after(Text(")"))
    root.remove("rp")


def _follows_a_value(power: Element) -> bool:
    before = power.previous_sibling
    text = before.data if isinstance(before, Text) else before.text if isinstance(before, Element) else ""
    return bool(text) and (text[-1].isalnum() or text[-1] in ")]")


def _lines(markdown: str) -> str:
    """What the writer leaves: breaks that break nothing, and backslashes inside words."""
    if "\\" not in markdown:
        return markdown
    lines = markdown.split("\n")
    inside = False
    for i, line in enumerate(lines):
        if FENCE_START.match(line):
            inside = not inside
        elif not inside and "\\" in line:
            lines[i] = _line(line, lines[i + 1] if i + 1 < len(lines) else "")
    return "\n".join(lines)


def _line(line: str, following: str) -> str:
    bare = line.rstrip("\\")
    if (len(line) - len(bare)) % 2 and not (bare.strip("> ") and following.strip("\\> ")):
        line = line[:-1].rstrip()  # a break before nothing
    if "\\_" not in line:
        return line
    if "`" not in line:
        return ESCAPED_UNDERSCORE.sub("_", line)
    parts, end = [], 0
    for span in CODE_SPAN.finditer(line):
        parts += [ESCAPED_UNDERSCORE.sub("_", line[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, ESCAPED_UNDERSCORE.sub("_", line[end:])])

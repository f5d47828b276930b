"""Code blocks: exact text, language, no line numbers (FR-WF-13a)."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from turbohtml import Element, Text

from spaniel.reading.code_labels import drop_labels, drop_numbers, is_gutter
from spaniel.reading.nesting import INDENTED, INDENTING

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = 2000  # blocks of code that are looked into; in 745 real pages there are 79 at most
LINES = 5000  # elements in a block that may be its lines
GUTTER = (
    ".linenos,.lineno,.linenodiv,.line-numbers-rows,.gutter,.hljs-ln-numbers,.rouge-gutter,.blob-num,.ln,.lnt,.linenumber,"
    ".line-number,.linenum,.line-num,.lineNumber,.react-syntax-highlighter-line-number,.CodeMirror-linenumber,.crayon-num"
)
TABLES = "table.highlighttable,table.rouge-table,table.hljs-ln,table.lntable,figure.highlight table"
LINE = "div,li,p,tr"
INDENT = 4  # characters, of a list or a quote around the code
NAMED = re.compile(
    r"(?:^|[\s;])(?:language|lang|highlight-source|highlight-text|highlight|brush|code|sourcecode|src|syntax)[-:_]\s*([\w+#.-]+)",
    re.IGNORECASE,
)
BESIDE = re.compile(r"(?:^|\s)(?:hljs|sourceCode|src|highlight|prettyprint|code|CodeMirror|prism)\s+([\w+#-]+)(?:\s|$)")
NO_LANGUAGE = frozenset(
    {
        "default",
        "none",
        "text",
        "plain",
        "plaintext",
        "nohighlight",
        "txt",
        "block",
        "wrapper",
        "source",
        "box",
        "container",
        "highlight",
    }
)


def set_code(root: Element, room: int) -> bool:
    """Give every `pre` one `code` child with its text to the letter and its language as a class.

    Indented lines of code may take no more than `room` characters for that; answer whether some had to go.
    """
    for table in _outermost(root.select(TABLES)):
        _unwrap_gutter(table)
    cut = False
    for block in _without_gutters(_outermost(root.select("pre"))):
        for gutter in block.select(GUTTER):
            gutter.decompose()
        language = _language(block)
        drop_labels(block, language)
        drop_numbers(block, block.text.strip("\n"))
        text, room = _indentable(_exact(block), block, room)
        cut = cut or room < 0
        block.clear()
        block.append(Element("code", {"class": f"language-{language}"} if language else {}, [Text(text)]))
    return cut


def _outermost(elements: list[Element]) -> list[Element]:
    """Those that stand in none of the others: what is done to one is done to all that it holds."""
    found: dict[Element, None] = {}
    for element in elements[:MANY]:
        if not any(up in found for up in element.ancestors):
            found[element] = None
    return list(found)


def _without_gutters(blocks: list[Element]) -> list[Element]:
    """A block of nothing but numbers beside one of as many lines is no code; a table of the two is its code."""
    kept = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if following is None or not is_gutter(block, following):
            kept.append(block)
            continue
        table = block.closest("table")
        block.decompose()
        if table is not None and len(table.select("pre")) == 1:
            table.replace_with(following)
    return kept


def _indentable(text: str, block: Element, room: int) -> tuple[str, int]:
    """The code, or as many of its lines as can be indented in what room there is; and the room that is left."""
    around = block.closest(INDENTED)
    if around is None or room < 0:
        return ("" if around is not None else text), room
    depth = sum(1 for up in block.ancestors if isinstance(up, Element) and up.tag in INDENTING)
    lines = text.count("\n") + 1
    left = room - INDENT * depth * lines
    if left >= 0:
        return text, left
    return "\n".join(text.split("\n", room // (INDENT * depth))[:-1]), left


def _unwrap_gutter(table: Element) -> None:
    """A table of two cells, line numbers and code, is its code."""
    for number in table.select(f"td.gl,{GUTTER}"):
        number.decompose()
    inner = table.select_one("pre")
    if inner is not None:
        table.replace_with(inner)
    else:
        table.tag = "pre"


def _exact(block: Element) -> str:
    for rest in block.select("br"):
        rest.replace_with(Text("\n"))
    lines = block.select(LINE)
    if lines and len(lines) < LINES and "\n" not in block.text.strip():
        return "\n".join(line.text for line in lines if not line.select_one(LINE))
    return block.text.replace("\r\n", "\n").strip("\n")


def _language(block: Element) -> str | None:
    for element in _around(block):
        names = element.attr("class") or ""
        for pattern in (NAMED, BESIDE):
            for found in pattern.finditer(names[:300]):
                if (name := _clean(found[1])) is not None:
                    return name
        for attribute in ("data-lang", "data-language", "data-code-language"):
            if (name := _clean(element.attr(attribute) or "")) is not None:
                return name
    return None


def _around(block: Element) -> Iterator[Element]:
    """Where a language is written: on the code, the block, and the two boxes around it."""
    if (inner := block.select_one("code")) is not None:
        yield inner
    yield block
    up = block.parent
    for _ in range(2):
        if not isinstance(up, Element) or up.tag == "body":
            return
        yield up
        up = up.parent


def _clean(name: str) -> str | None:
    name = name.strip().lower().removeprefix("source-")
    return name if name and len(name) <= 20 and name not in NO_LANGUAGE and re.fullmatch(r"[\w+#.-]+", name) else None

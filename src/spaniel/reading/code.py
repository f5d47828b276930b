"""Code blocks: exact text, language, no line numbers (FR-WF-13a)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turbohtml import Element, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

MANY = 5000
GUTTER = (
    ".linenos,.lineno,.linenodiv,.line-numbers-rows,.gutter,.hljs-ln-numbers,.rouge-gutter,.blob-num,.ln,.lnt,.linenumber,"
    ".line-number"
)
LINE = "div,li,p,tr"
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


def set_code(root: Element) -> None:
    """Give every `pre` one `code` child with its text to the letter and its language as a class."""
    for table in root.select(
        "table.highlighttable,table.rouge-table,table.hljs-ln,table.lntable,figure.highlight table"
    ):
        _unwrap_gutter(table)
    for block in root.select("pre")[:MANY]:
        for gutter in block.select(GUTTER):
            gutter.decompose()
        language = _language(block)
        text = _exact(block)
        block.clear()
        block.append(Element("code", {"class": f"language-{language}"} if language else {}, [Text(text)]))


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
    if lines and len(lines) < MANY and "\n" not in block.text.strip():
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

"""The HTML reader: one page from bytes to Document, read from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.reading.charset import parse_page
from spaniel.reading.clean import clean
from spaniel.reading.content import keep_content
from spaniel.reading.document import Document, Hygiene
from spaniel.reading.markdown import to_markdown
from spaniel.reading.math import set_math
from spaniel.reading.metadata import read_head
from spaniel.reading.page import Facts

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element


def read_html(body: bytes | str, url: str | None, charset: str | None) -> Document:
    tree = parse_page(body, charset)
    head = read_head(tree, url)
    root = _body(tree)
    set_math(tree)
    hidden = clean(root)
    facts = Facts(
        url or "",
        head.title or "",
        head.open_graph,
        head.types,
        head.generator,
        len(root.select("time")),
        len(root.select("img")),
    )
    kind = keep_content(root, facts)
    written = to_markdown(tree, root, url)
    hygiene = Hygiene(hidden, written.invisible, written.controls, written.harmful)
    return Document(written.markdown, head.title, head.language, kind, head.metadata, hygiene)


def _body(tree: Tree) -> Element:
    found = tree.select_one("body") or tree.select_one("frameset") or tree.root
    if found is None:
        raise SpanielError(Code.EXTRACTION_FAILED, error="the page has no elements")
    return found

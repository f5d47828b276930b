"""The HTML reader: one page from bytes to Document, read from top to bottom."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.reading.budgets import parse_within
from spaniel.reading.clean import clean
from spaniel.reading.composed import open_shadow_roots, write_labels
from spaniel.reading.content import keep_content
from spaniel.reading.dates import day_in_text
from spaniel.reading.document import CHARSET_GUESSED, READING_CUT, Document, Hygiene
from spaniel.reading.hygiene import one_line
from spaniel.reading.images import take_from_noscript
from spaniel.reading.links import has_base
from spaniel.reading.markdown import Written, to_markdown
from spaniel.reading.math import set_math
from spaniel.reading.metadata import Told, read_head
from spaniel.reading.page import facts_of
from spaniel.reading.steps import Steps
from spaniel.reading.swallowed import ENOUGH, FEW_LETTERS, closed_where_it_opens
from spaniel.reading.walls import has_wall_words

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element


def read_html(body: bytes | str, url: str | None, charset: str | None, *, walls: bool = False) -> Document:
    read = _read(body, url, charset, walls=walls)
    if len(read.markdown) >= FEW_LETTERS or len(body) < FEW_LETTERS:
        return read
    mended = closed_where_it_opens(body if isinstance(body, bytes) else body.encode("utf-8", "replace"))
    if mended is None:
        return read
    again = _read(mended if isinstance(body, bytes) else mended.decode("utf-8"), url, charset, walls=walls)
    return again if len(again.markdown) > ENOUGH * len(read.markdown) else read


def _read(body: bytes | str, url: str | None, charset: str | None, *, walls: bool) -> Document:
    steps = Steps()
    tree, cut, guessed, source = parse_within(body, charset, url)
    steps.run("shadow roots", partial(open_shadow_roots, tree, source), None)
    head = read_head(tree, url, source, steps)
    del source  # of some pages a copy
    root = _body(tree)
    based = tree if has_base(tree) else None
    wall_words = None
    if walls:
        wall_words = steps.run("walls", lambda: has_wall_words(root, free=head.signals.get("free") is not False), None)
    steps.run("math", lambda: set_math(tree), None)
    steps.run("drawings", lambda: write_labels(tree), None)
    steps.run("images", lambda: take_from_noscript(tree), None)
    hidden = clean(tree, root)
    facts = facts_of(head, root, url or "")
    metadata = head.metadata
    if metadata.published is None:
        metadata = replace(metadata, published=steps.run("metadata", lambda: day_in_text(root), None))
    kind, too_many, opened_by = keep_content(root, facts, steps)
    if opened_by and metadata.author is None:
        metadata = replace(metadata, author=opened_by)
    written = to_markdown(based, root, url, len(body), steps)
    if head.told is not None and not written.markdown:
        written = _from_linked_data(head.told, url, steps)
    hygiene = Hygiene(hidden, written.invisible, written.controls, written.harmful)
    notes = {READING_CUT: cut or too_many or written.cut, CHARSET_GUESSED: guessed}
    return Document(
        *(
            written.markdown,
            head.title,
            head.language,
            kind,
            metadata,
            hygiene,
            tuple(filter(notes.get, notes)),
            head.signals,
        ),
        types=tuple(name for raw in dict.fromkeys(head.types) if (name := one_line(raw))),
        generator=one_line(head.generator) or "",
        wall_words=wall_words,
    ).with_failures(steps.failures)


def _from_linked_data(told: Told, url: str | None, steps: Steps) -> Written:
    """A shell that scripts would fill may still say in its linked data what it is about: better than nothing."""
    text = told.text if "</" in told.text else f"<p>{escape(told.text)}</p>".replace("\n\n", "</p><p>")
    return markdown_of(f"<h1>{escape(told.name or '')}</h1>{text}", url, steps)


def markdown_of(html: str, url: str | None, steps: Steps | None = None) -> Written:
    """A piece of HTML, all of it."""
    tree = parse_within(html, None).tree
    root = _body(tree)
    take_from_noscript(tree)
    clean(tree, root)
    return to_markdown(tree, root, url, len(html), steps or Steps())


def _body(tree: Tree) -> Element:
    found = tree.select_one("body") or tree.select_one("frameset") or tree.root
    if found is None:
        raise SpanielError(Code.EXTRACTION_FAILED, error="the page has no elements")
    return found

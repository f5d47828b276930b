"""The HTML reader: one page from bytes to Document, read from top to bottom.

If hardly anything was read, the page may have its text in an element that is never closed, such as a title without its
end tag. A browser shows nothing of such a page, but its text is there. Comments and templates are never opened this
way: text hidden from people is hidden there."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, partial
from html import escape

from spaniel.errors import Code, SpanielError
from spaniel.reading.content import keep_content
from spaniel.reading.document import CHARSET_GUESSED, READING_CUT, Document, Hygiene
from spaniel.reading.html.clean import clean, open_shadow_roots, write_labels
from spaniel.reading.html.links import fill_from_noscript, has_base
from spaniel.reading.html.math import mark_formulas
from spaniel.reading.html.parse import parse_html
from spaniel.reading.html.walls import has_wall_words
from spaniel.reading.markdown.writer import WrittenMarkdown, to_markdown
from spaniel.reading.metadata.dates import day_in_text
from spaniel.reading.metadata.head import LinkedDataText, head_facts, read_head
from spaniel.reading.steps import OptionalSteps
from spaniel.reading.text.scrub import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Element

    from spaniel.reading.parts import PageParts


MIN_MARKDOWN = 300  # characters of Markdown
MIN_GAIN = 4  # times as much as was read at first
OPENING = re.compile(  # no sign is looked at twice, however many tags have no end
    rb"<(?:(?P<comment>!--)|(?P<name>title|style|textarea|script|xmp|iframe|noembed)(?=[\s/>])[^<>]*+>)", re.IGNORECASE
)
# Where the end was lost. In a script `<` may mean anything: there, what begins a part of a page.
NEXT_TAG = re.compile(rb"<")
NEXT_PART = re.compile(rb"</head\b|<(?:body|main|article|header|h1|h2)\b", re.IGNORECASE)


def close_unclosed_element(page: bytes) -> bytes | None:
    """The page with an end for the first element that has none; nothing where all have theirs."""
    at = 0
    while opening := OPENING.search(page, at):
        name = b"" if opening["comment"] else opening["name"].lower()
        end = _end_of(name).search(page, opening.end())
        if end is None:
            return _close_at(page, opening.end(), name)
        at = end.end()
    return None


@cache
def _end_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"</" + name + rb"(?=[\s/>])" if name else rb"--!?>", re.IGNORECASE)


def _close_at(page: bytes, begin: int, name: bytes) -> bytes | None:
    where = NEXT_PART if name == b"script" else NEXT_TAG
    place = where.search(page, begin) if name else None
    return None if place is None else page[: place.start()] + b"</" + name + b">" + page[place.start() :]


def read_html(
    body: bytes | str, url: str | None, charset: str | None, *, walls: bool = False, parts: PageParts | None = None
) -> Document:
    read = _read_page(body, url, charset, walls=walls, parts=parts)
    if len(read.markdown) >= MIN_MARKDOWN or len(body) < MIN_MARKDOWN:
        return read
    mended = close_unclosed_element(body if isinstance(body, bytes) else body.encode("utf-8", "replace"))
    if mended is None:
        return read
    again = _read_page(
        mended if isinstance(body, bytes) else mended.decode("utf-8"), url, charset, walls=walls, parts=parts
    )
    return again if len(again.markdown) > MIN_GAIN * len(read.markdown) else read


def _read_page(
    body: bytes | str, url: str | None, charset: str | None, *, walls: bool, parts: PageParts | None
) -> Document:
    steps = OptionalSteps()
    tree, cut, guessed, source = parse_html(body, charset, url)
    steps.run("shadow roots", partial(open_shadow_roots, tree, source), None)
    head = read_head(tree, url, source, steps)
    del source  # of some pages a copy
    root = _body(tree)
    based = tree if has_base(tree) else None
    wall_words = None
    if walls:
        wall_words = steps.run("walls", lambda: has_wall_words(root, free=head.signals.get("free") is not False), None)
    if parts is not None:
        parts.apply(root)
    steps.run("math", lambda: mark_formulas(tree), None)
    steps.run("drawings", lambda: write_labels(tree), None)
    steps.run("images", lambda: fill_from_noscript(tree), None)
    hidden = clean(tree, root, whole=parts is not None and not parts.chooses_content)
    facts = head_facts(head, root, url or "")
    metadata = head.metadata
    if metadata.published is None:
        metadata = replace(metadata, published=steps.run("metadata", lambda: day_in_text(root), None))
    kind, too_many, opened_by = "text", False, None
    if parts is None or parts.chooses_content:
        kind, too_many, opened_by = keep_content(root, facts, steps)
    if opened_by and metadata.author is None:
        metadata = replace(metadata, author=opened_by)
    written = to_markdown(based, root, url, len(body), steps)
    if head.linked_data_text is not None and not written.markdown:
        written = _markdown_from_linked_data(head.linked_data_text, url, steps)
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


def _markdown_from_linked_data(linked: LinkedDataText, url: str | None, steps: OptionalSteps) -> WrittenMarkdown:
    """A shell that scripts would fill may still say in its linked data what it is about: better than nothing."""
    text = linked.text if "</" in linked.text else f"<p>{escape(linked.text)}</p>".replace("\n\n", "</p><p>")
    return html_to_markdown(f"<h1>{escape(linked.name or '')}</h1>{text}", url, steps)


def html_to_markdown(html: str, url: str | None, steps: OptionalSteps | None = None) -> WrittenMarkdown:
    """A piece of HTML, all of it."""
    tree = parse_html(html, None).tree
    root = _body(tree)
    fill_from_noscript(tree)
    clean(tree, root)
    return to_markdown(tree, root, url, len(html), steps or OptionalSteps())


def _body(tree: Tree) -> Element:
    found = tree.select_one("body") or tree.select_one("frameset") or tree.root
    if found is None:
        raise SpanielError(Code.EXTRACTION_FAILED, error="the page has no elements")
    return found

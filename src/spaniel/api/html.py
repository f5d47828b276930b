"""Markdown as HTML, for readers. Whatever the Markdown holds: no script, no HTML of its own, no unsafe address."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import pyromark

if TYPE_CHECKING:
    from collections.abc import Iterator

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
SAFE = ("http://", "https://", "mailto:")
TAGS = {
    "Paragraph": "p", "BlockQuote": "blockquote", "Emphasis": "em", "Strong": "strong", "Strikethrough": "del",
    "Item": "li", "TableHead": "thead", "TableRow": "tr", "TableCell": "td", "Table": "table",
}  # fmt: skip


def html_of(markdown: str, base: str = "") -> str:
    """A fragment of HTML; relative addresses are joined to `base`."""
    return "".join(_Writer(base).write(markdown))


def targets_of(markdown: str) -> Iterator[tuple[bool, str]]:
    """The addresses of links and images as they are written: whether it is an image, and the address."""
    for event in pyromark.events(markdown, options=OPTIONS):
        if isinstance(event, dict) and isinstance(start := event.get("Start"), dict):
            for name in ("Link", "Image"):
                if name in start:
                    yield name == "Image", str(start[name]["dest_url"])


class _Writer:
    def __init__(self, base: str) -> None:
        self._base = base
        self._open: list[str] = []  # end tags
        self._image: list[str] | None = None  # the text of an image so far
        self._in_head = False

    def write(self, markdown: str) -> Iterator[str]:
        for event in pyromark.events(markdown, options=OPTIONS):
            name, value = next(iter(event.items())) if isinstance(event, dict) else (event, None)
            if name == "Start":
                yield from self._start(value)
            elif name == "End":
                yield from self._end(value)
            else:
                yield from self._text(name, value)

    def _start(self, tag: Any) -> Iterator[str]:
        name, value = next(iter(tag.items())) if isinstance(tag, dict) else (tag, {})
        if name == "Image":
            self._image = []
            self._open.append(self._address(value["dest_url"]))
            return
        begin, end = self._tags(name, value)
        self._open.append(end)
        yield begin

    def _tags(self, name: str, value: Any) -> tuple[str, str]:
        if name == "Heading":
            level = f"h{str(value.get('level', 'H1'))[-1]}"
            return f"<{level}>", f"</{level}>\n"
        if name == "CodeBlock":
            return "<pre><code>", "</code></pre>\n"
        if name == "List":
            start = value if isinstance(value, int) else value.get("start") if isinstance(value, dict) else None
            return ("<ul>\n", "</ul>\n") if start is None else (f'<ol start="{int(start)}">\n', "</ol>\n")
        if name == "Link":
            address = self._address(value["dest_url"])
            return (f'<a href="{address}" rel="nofollow noopener noreferrer">', "</a>") if address else ("", "")
        if name == "TableHead":
            self._in_head = True
            return "<thead><tr>", "</tr></thead>\n"
        if name == "TableCell":
            cell = "th" if self._in_head else "td"
            return f"<{cell}>", f"</{cell}>"
        if (tag := TAGS.get(name)) is None:  # such as HtmlBlock: its text is escaped
            return "", ""
        return f"<{tag}>", f"</{tag}>" if tag in ("em", "strong", "del") else f"</{tag}>\n"

    def _end(self, name: Any) -> Iterator[str]:
        key = next(iter(name)) if isinstance(name, dict) else name
        end = self._open.pop()
        if key == "Image":
            text, self._image = "".join(self._image or ()), None
            if end:
                yield f'<img src="{end}" alt="{escape(text)}" loading="lazy">'
            else:
                yield escape(text)
            return
        if key == "TableHead":
            self._in_head = False
        yield end

    def _text(self, name: str, value: Any) -> Iterator[str]:
        text = {"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}.get(name)
        if self._image is not None:
            self._image.append(str(value) if value is not None else " ")
        elif text is not None:
            yield text
        elif name == "Code":
            yield f"<code>{escape(str(value))}</code>"
        elif name == "TaskListMarker":
            yield f'<input type="checkbox" disabled{" checked" if value else ""}> '
        elif value is not None:  # text, and HTML as text
            yield escape(str(value))

    def _address(self, written: str) -> str:
        address = urljoin(self._base, written) if self._base else written
        if address.startswith("#") or address.lower().startswith(SAFE):
            return escape(address)
        return ""

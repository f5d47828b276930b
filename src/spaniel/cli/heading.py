"""The title above the text: reading keeps a page's headline apart from its content, and a reader wants both."""

from __future__ import annotations

import re

HEADING = re.compile(r"^# ", re.MULTILINE)
NEAR = 3000  # characters in which a page's own heading stands
MEANINGFUL = re.compile(r"([\\`*_\[\]<>]|&(?=#?\w+;))")


def under_title(markdown: str, title: str | None) -> str:
    """Markdown that begins with the page's title, unless it has a heading of its own or there is nothing to head."""
    if not title or not markdown or HEADING.search(markdown, 0, NEAR):
        return markdown
    escaped = MEANINGFUL.sub(r"\\\1", title)
    return f"# {escaped}\n\n{markdown}"

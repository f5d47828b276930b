"""The title above the text: reading keeps a page's headline apart from its content, and a reader wants both, once."""

from __future__ import annotations

import re

HEADING = re.compile(r"^# ", re.MULTILINE)
NEAR = 3000  # characters in which a page's own heading stands
MEANINGFUL = re.compile(r"([\\`*_\[\]<>]|&(?=#?\w+;))")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
TARGET = re.compile(r"\]\([^)]*\)")


def under_title(markdown: str, title: str | None) -> str:
    """Markdown that begins with the page's title, unless it says its title itself or has a heading of its own."""
    if not title or not markdown or HEADING.search(markdown, 0, NEAR) or _says(markdown[:NEAR], title):
        return markdown
    escaped = MEANINGFUL.sub(r"\\\1", title)
    return f"# {escaped}\n\n{markdown}"


def _says(text: str, title: str) -> bool:
    """Whether a line of the text is the title, as a heading of any level or otherwise."""
    wanted = _bare(title)
    return bool(wanted) and any(_bare(TARGET.sub("]", IMAGE.sub("", line))) == wanted for line in text.split("\n"))


def _bare(text: str) -> str:
    """Letters and digits: what two spellings of a title have in common."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())

"""Links in MDX: Markdown whose tags are components, with statements and comments of a program between its paragraphs.

What is no Markdown is made blank, so that all else keeps its place. Tags begin no block, and an indent is no code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.health.documents import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.mention import Found

VALUE = re.compile(r"(?<==)\{[^{}\r\n]*+\}")  # what an attribute gets from the program
WRITTEN = re.compile(r"\S")


def links(text: str) -> Iterator[Found]:
    return markdown.links(without_program(text), mdx=True)


def without_program(text: str) -> str:
    """The text with marks that mean nothing in place of comments and values, character for character."""
    parts: list[str] = []
    at = 0
    while (begin := text.find("{/*", at)) >= 0 and (end := text.find("*/", begin + 3)) >= 0:
        parts += text[at:begin], WRITTEN.sub("_", text[begin:end])
        at = end
    return VALUE.sub(lambda found: f'"{" " * (len(found[0]) - 2)}"', "".join([*parts, text[at:]]))

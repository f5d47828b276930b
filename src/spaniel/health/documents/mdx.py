"""Links in MDX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.health.documents import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.mention import Found


def links(text: str) -> Iterator[Found]:
    return markdown.links(text, mdx=True)

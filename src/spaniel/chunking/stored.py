"""Chunks as a cache keeps them: offsets, counts and headings, read back without a tokenizer (D2-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

from spaniel.chunking.chunks import Chunk, chunk_of
from spaniel.chunking.gather import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

# Raised whenever the same Markdown is cut or headed otherwise than before: what an older Spaniel kept is then cut anew,
# so that a hit equals a fresh fetch (D2-02). Without a number it is from before headings were plain text.
RULES = 3


class Boundaries(TypedDict):
    """Plain JSON values. A row is start, end, tokens, and the index of its heading path, which many chunks share; then,
    of a piece of a split code block, the fence lines that were added."""

    rules: NotRequired[int]
    document: str
    headings: list[list[str]]
    rows: list[list[int | str]]


def boundaries(chunks: Sequence[Chunk]) -> Boundaries:
    headings: dict[tuple[str, ...], int] = {}
    rows: list[list[int | str]] = []
    for chunk in chunks:
        row: list[int | str] = [chunk.start, chunk.end, chunk.token_count]
        row.append(headings.setdefault(chunk.heading_path, len(headings)))
        if chunk.opened or chunk.closed:
            row += [chunk.opened, chunk.closed]
        rows.append(row)
    document = chunks[0].document if chunks else ""
    return {"rules": RULES, "document": document, "headings": [list(path) for path in headings], "rows": rows}


def rebuild(markdown: str, stored: Boundaries) -> list[Chunk]:
    """The very chunks that `boundaries` was given, from the Markdown that they came from.

    A ValueError where they were cut by other rules: then the Markdown has to be cut again.
    """
    if stored.get("rules") != RULES:
        raise ValueError("these chunks were cut by another version")
    document = stored["document"]
    headings = [tuple(path) for path in stored["headings"]]
    chunks: list[Chunk] = []
    for start, end, tokens, heading, *fences in stored["rows"]:
        piece = Piece(int(start), int(end), int(tokens), *map(str, fences))
        chunks.append(chunk_of(markdown, piece, headings[int(heading)], document))
    return chunks

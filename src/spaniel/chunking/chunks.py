"""Markdown to chunks: blocks gathered up to a number of tokens, each chunk with the headings it stands under."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.blocks import outline, view_of
from spaniel.chunking.gather import gather
from spaniel.chunking.headings import paths
from spaniel.chunking.job import Job
from spaniel.chunking.split import split
from spaniel.chunking.tokens import Cl100k, cl100k, counting
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.chunking.gather import Piece
    from spaniel.chunking.tokens import TokenCounter

DEFAULT, LEAST, MOST = 600, 128, 2048  # tokens (FR-WF-02a)


class Chunk(NamedTuple):
    """A piece of a document, with the number of its tokens and where it stands.

    `text` is the Markdown from `start` to `end`. In a split code block it is that between `opened` and `closed`, the
    fence lines that were added so that it stays a code block.
    """

    heading: str
    text: str
    token_count: int
    heading_path: tuple[str, ...]
    start: int
    end: int
    document: str  # a hash of the whole Markdown
    opened: str = ""
    closed: str = ""

    @property
    def id(self) -> str:
        """The same for the same text at the same place of the same document."""
        return f"{self.document}:{self.start}-{self.end}"

    def answer(self) -> dict[str, object]:  # D2-28: these three and no more
        """What the tool answers: heading, text, token_count."""
        return {"heading": self.heading, "text": self.text, "token_count": self.token_count}

    def record(self) -> dict[str, object]:
        """Everything, for those who keep chunks: also the id, the path of headings, and the place in the Markdown."""
        place = {"heading_path": " > ".join(self.heading_path), "start": self.start, "end": self.end}
        return {"id": self.id, **self.answer(), **place}

    def __repr__(self) -> str:
        start = self.text if len(self.text) <= 40 else f"{self.text[:40]}…"
        return f"Chunk({self.heading[:40]!r}, {start!r}, {self.token_count} tokens, {self.start}-{self.end})"


def chunk(markdown: str, max_tokens: int = DEFAULT, counter: TokenCounter | None = None) -> list[Chunk]:
    """Cut Markdown into chunks of at most `max_tokens` tokens each, in order, nothing lost but white space between."""
    if max_tokens not in range(LEAST, MOST + 1):  # nor is a half of one, or a string
        reason = f"{max_tokens} is not between {LEAST} and {MOST}"
        raise SpanielError(Code.BAD_ARGS, field="max_chunk_tokens", reason=reason)
    if not isinstance(markdown, str):
        raise SpanielError(Code.BAD_ARGS, field="markdown", reason=f"must be text, not {type(markdown).__name__}")
    return chunk_at(markdown, int(max_tokens), counter or cl100k())


def chunk_at(markdown: str, limit: int, counter: TokenCounter) -> list[Chunk]:
    """What `chunk` does, at any limit."""
    document = _digest(markdown)
    view = view_of(markdown)
    job = Job(markdown, view, counting(markdown, counter), isinstance(counter, Cl100k), limit)
    found = outline(markdown, view)
    pieces = gather(job, found.starts, lambda start, end: split(job, found, start, end))
    above = paths(view, found.hashes, [piece.start for piece in pieces])
    return [chunk_of(markdown, piece, path, document) for piece, path in zip(pieces, above, strict=True)]


def chunk_of(markdown: str, piece: Piece, path: tuple[str, ...], document: str) -> Chunk:
    start, end, tokens, before, after = piece
    text = markdown[start:end]
    if before or after:
        text = before + text + after
    return Chunk(path[-1] if path else "", text, tokens, path, start, end, document, before, after)


def _digest(markdown: str) -> str:
    from hashlib import sha256

    try:
        return sha256(markdown.encode()).hexdigest()[:16]
    except UnicodeEncodeError as error:
        reason = f"character {error.start} is half of a surrogate pair"
        raise SpanielError(Code.BAD_ARGS, field="markdown", reason=reason) from None

"""Markdown to chunks: blocks gathered up to a number of tokens, each chunk with the headings it stands under."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.chunking.blocks import outline, view_of
from spaniel.chunking.gather import gather
from spaniel.chunking.headings import paths
from spaniel.chunking.job import SplitJob
from spaniel.chunking.split import split
from spaniel.chunking.tokens import Cl100k, cl100k, counting
from spaniel.defaults import CHUNK_TOKENS
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.chunking.blocks import MarkdownOutline
    from spaniel.chunking.gather import Piece
    from spaniel.chunking.tokens import TokenCounter

TINY = 200  # characters of a page that is no chunk of its own: a title page, or one with a picture


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


def chunk(
    markdown: str,
    max_tokens: int = CHUNK_TOKENS.default,
    counter: TokenCounter | None = None,
    *,
    pages: Sequence[int] = (),
) -> list[Chunk]:
    """Cut Markdown into chunks of at most `max_tokens` tokens each, in order, nothing lost but white space between.

    `pages` are the places where pages begin (`Document.pages` of a PDF): no chunk continues on the next page, except
    after a tiny page.
    """
    if max_tokens not in range(CHUNK_TOKENS.low, CHUNK_TOKENS.high + 1):  # nor is a half of one, or a string
        reason = f"{max_tokens} is not between {CHUNK_TOKENS.low} and {CHUNK_TOKENS.high}"
        raise SpanielError(Code.BAD_ARGS, field="max_chunk_tokens", reason=reason)
    if not isinstance(markdown, str):
        raise SpanielError(Code.BAD_ARGS, field="markdown", reason=f"must be text, not {type(markdown).__name__}")
    return chunk_at(markdown, int(max_tokens), counter or cl100k(), pages)


def chunk_at(markdown: str, limit: int, counter: TokenCounter, pages: Sequence[int] = ()) -> list[Chunk]:
    """What `chunk` does, at any limit."""
    document = _digest(markdown)
    view = view_of(markdown)
    found = outline(markdown, view)
    sections = _sections(markdown, pages)
    if len(sections) == 1:
        pieces = _pieces(markdown, view, found, limit, counter)
    else:
        pieces = []
        for start, end in sections:
            part = markdown[start:end]
            inside = view_of(part)
            shifted = _pieces(part, inside, outline(part, inside), limit, counter)
            pieces += [piece._replace(start=piece.start + start, end=piece.end + start) for piece in shifted]
    above = paths(view, found.hashes, [piece.start for piece in pieces])
    return [chunk_of(markdown, piece, path, document) for piece, path in zip(pieces, above, strict=True)]


def _pieces(text: str, view: str, found: MarkdownOutline, limit: int, counter: TokenCounter) -> list[Piece]:
    job = SplitJob(text, view, counting(text, counter), isinstance(counter, Cl100k), limit)
    return gather(job, found.starts, lambda start, end: split(job, found, start, end))


def _sections(markdown: str, pages: Sequence[int]) -> list[tuple[int, int]]:
    """From where to where a chunk may reach: a page, with the tiny ones before it."""
    starts = [0]
    for page in pages:
        if len(markdown[starts[-1] : page].strip()) >= TINY:
            starts.append(page)
    return list(zip(starts, [*starts[1:], len(markdown)], strict=True))


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

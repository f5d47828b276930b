"""Splits Markdown into chunks: blocks packed up to a token limit, each chunk with its heading path."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from spaniel.chunking.blocks import outline, paths, view_of
from spaniel.chunking.split import Piece, SplitJob, gather, split
from spaniel.chunking.tokens import Cl100k, cl100k, counting
from spaniel.defaults import CHUNK_TOKENS
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.chunking.blocks import MarkdownOutline
    from spaniel.chunking.tokens import TokenCounter


TINY = 200  # characters (chosen): a smaller page, such as a title page, is merged with the next


class Chunk(NamedTuple):
    """A piece of a document with its token count and position.

    `text` is the Markdown from `start` to `end`. In a split code block it is surrounded by `opened` and `closed`, the
    fence lines that keep it a code block.
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
        """An id that is stable for the same place in the same document."""
        return f"{self.document}:{self.start}-{self.end}"

    def answer(self) -> dict[str, object]:  # D2-28: these three and no more
        """Return the fields of the tool's answer: heading, text, token_count."""
        return {"heading": self.heading, "text": self.text, "token_count": self.token_count}

    def record(self) -> dict[str, object]:
        """Return all fields for storage: also the id, the heading path and the position in the Markdown."""
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
    """Split Markdown into chunks of at most `max_tokens` tokens, in order; only white space between them is lost.

    `pages` are the offsets at which pages begin (`Document.pages` of a PDF): no chunk continues on the next page,
    except after a tiny page.

    >>> [(piece.heading, piece.token_count) for piece in chunk("# Title\\n\\nSome words.")]
    [('Title', 6)]
    """
    if max_tokens not in range(CHUNK_TOKENS.low, CHUNK_TOKENS.high + 1):  # also refuses 0.5 and strings
        reason = f"{max_tokens} is not between {CHUNK_TOKENS.low} and {CHUNK_TOKENS.high}"
        raise SpanielError(Code.BAD_ARGS, field="max_chunk_tokens", reason=reason)
    if not isinstance(markdown, str):
        raise SpanielError(Code.BAD_ARGS, field="markdown", reason=f"must be text, not {type(markdown).__name__}")
    return chunk_at(markdown, int(max_tokens), counter or cl100k(), pages)


def chunk_at(markdown: str, limit: int, counter: TokenCounter, pages: Sequence[int] = ()) -> list[Chunk]:
    """Like `chunk`, with any limit."""
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
    """Return the ranges that a chunk must not cross: a page, with the tiny ones before it."""
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


# Raised whenever the same Markdown gives other chunks or headings than before: chunks stored by an older version are
# then computed again, so that a cache hit equals a fresh fetch (D2-02). Entries without a number are the oldest.
RULES = 3


class Boundaries(TypedDict):
    """Chunk boundaries as JSON values. A row is start, end, tokens and the index of its heading path.

    The row of a piece of a split code block also has the fence lines that were added.
    """

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
    """Return the chunks that were given to `boundaries`, from the same Markdown.

    Raises `ValueError` if another version cut them: then the Markdown has to be split again.
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

"""The answer of FR-WF-03: the view of an outcome that `web_fetch` returns, as a Python object and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.chunking import Chunk, fit
from spaniel.pipeline.outcome import moment, shortened
from spaniel.reading.document import page_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Trace, TraceStep

NO_LIMIT = 1 << 62


class Answer(NamedTuple):
    """A page: its text as Markdown, the same text in chunks, and its metadata.

    `title` is the headline for readers, the same as `metadata["title"]`; `page_title` is the text of the page's
    `<title>`, which often has the name of the site in it. `notes` says what is special about this answer.
    `as_dict()` is what the `web_fetch` tool returns to a model.
    """

    requested_url: str
    final_url: str
    fetched_at: datetime
    title: str | None
    language: str | None
    markdown: str
    chunks: Sequence[Chunk]
    rendering_method: str
    notes: tuple[str, ...]
    metadata: Mapping[str, Any]
    served_at: datetime | None = None  # when the cache served it
    trace: Sequence[TraceStep] = ()
    page_title: str | None = None
    pages: Sequence[int] = ()  # where each page of a PDF starts in the Markdown
    picture: bytes | None = None  # a PNG of the page, if requested

    def chunk_records(self) -> list[dict[str, object]]:
        """The chunks as records for storage; a chunk of a PDF has the number of the page it starts on.

        A chunk that starts on a tiny page may continue on the next: `pages` then has the first and last number.
        """
        return [{**chunk.record(), **self._pages_of(chunk)} for chunk in self.chunks]

    def _pages_of(self, chunk: Chunk) -> dict[str, object]:
        if not self.pages:
            return {}
        first, last = page_at(self.pages, chunk.start), page_at(self.pages, max(chunk.start, chunk.end - 1))
        return {"page": first} if first == last else {"page": first, "pages": [first, last]}

    @property
    def note(self) -> str | None:
        """All notes in one line, or None."""
        return ", ".join(self.notes) or None  # D2-05

    def as_dict(self, max_bytes: int | None = None) -> dict[str, object]:
        """What the tool returns, for JSON. With `max_bytes`, chunks are left out at the end until it fits."""
        return fit(self.fields(), self.chunks, NO_LIMIT if max_bytes is None else max_bytes)

    def fields(self) -> dict[str, object]:
        """The same before it has any chunks."""
        fields: dict[str, object] = {
            "requested_url": self.requested_url,
            "final_url": self.final_url,
            "fetched_at": moment(self.fetched_at),
            "title": self.page_title,  # FR-WF-13e: the `<title>`, not the headline
            "language": self.language,
            "chunks": [],
            "rendering_method": self.rendering_method,
            "truncated": False,
            "note": self.note,
            "served_at": moment(self.served_at) if self.served_at else None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def __repr__(self) -> str:
        size = f"{len(self.markdown)} characters in {len(self.chunks)} chunks"
        return f"Answer({shortened(self.final_url)!r}, {shortened(self.title)!r}, {size}, {self.note or 'no notes'})"


def answer_from(outcome: Outcome, max_tokens: int, trace: Trace) -> Answer:
    """The page in chunks; raises the refusal if there is no page."""
    found = outcome.require()
    page = found.page
    with trace.step("chunk"):
        chunks = found.cut(max_tokens)
    return Answer(
        requested_url=outcome.requested_url,
        final_url=page.final_url,
        fetched_at=found.fetched_at,
        title=page.headline,
        language=page.language,
        markdown=page.markdown,
        chunks=chunks,
        rendering_method=found.rendering_method,
        notes=outcome.caveats,
        metadata=page.metadata,
        served_at=outcome.served_at,
        trace=outcome.steps,
        page_title=page.title,
        pages=page.pages,
        picture=found.picture,
    )


def fitted(answer: Answer, max_bytes: int | None, trace: Trace) -> dict[str, object]:
    """The response within a budget of bytes, as the last step of a fetch."""
    with trace.step("fit") as step:
        fields = answer.as_dict(max_bytes)
        step.text = "no budget" if max_bytes is None else "cut" if fields["truncated"] else "whole"
    return fields

"""The answer of FR-WF-03, as an object for Python and as JSON for everybody else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.chunking import Chunk, fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.pipeline.trace import TraceStep

CACHE_HIT = "cache_hit"
NO_LIMIT = 1 << 62


class Answer(NamedTuple):
    """A page, understood and cut into chunks; `as_dict` is what a tool call returns."""

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
    served_at: datetime | None = None  # of a cache hit
    trace: Sequence[TraceStep] = ()
    fitted: Mapping[str, object] | None = None  # the response, where the fetch was given a budget of bytes

    @property
    def note(self) -> str | None:
        return ", ".join(self.notes) or None  # D2-05

    def as_dict(self, max_bytes: int | None = None) -> dict[str, object]:
        """The response schema, cut to a budget of bytes if there is one: this, or the fetch's own (FR-WF-03a)."""
        if max_bytes is None and self.fitted is not None:
            return dict(self.fitted)
        fields: dict[str, object] = {
            "requested_url": self.requested_url,
            "final_url": self.final_url,
            "fetched_at": moment(self.fetched_at),
            "title": self.title,
            "language": self.language,
            "chunks": [],
            "rendering_method": self.rendering_method,
            "truncated": False,
            "note": self.note,
            "served_at": moment(self.served_at) if self.served_at else None,
        }
        present = {name: value for name, value in fields.items() if value is not None}
        return fit(present, self.chunks, NO_LIMIT if max_bytes is None else max_bytes)


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

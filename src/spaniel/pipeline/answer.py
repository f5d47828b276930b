"""The answer of FR-WF-03: the view of an outcome that `web_fetch` gives, as an object for Python and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.chunking import Chunk, fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.trace import Trace, TraceStep

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

    @property
    def note(self) -> str | None:
        return ", ".join(self.notes) or None  # D2-05

    def as_dict(self, max_bytes: int | None = None) -> dict[str, object]:
        """The response schema, cut to a budget of bytes if there is one (FR-WF-03a)."""
        return fit(self.fields(), self.chunks, NO_LIMIT if max_bytes is None else max_bytes)

    def fields(self) -> dict[str, object]:
        """The same before it has any chunks."""
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
        return {name: value for name, value in fields.items() if value is not None}


def answer_from(outcome: Outcome, max_tokens: int, trace: Trace) -> Answer:
    """The page in chunks; raises the refusal where there is none."""
    found = outcome.require()
    page = found.page
    with trace.step("chunk"):
        chunks = page.cut(max_tokens)
    return Answer(
        requested_url=outcome.requested_url,
        final_url=page.final_url,
        fetched_at=found.fetched_at,
        title=page.title,
        language=page.language,
        markdown=page.markdown,
        chunks=chunks,
        rendering_method=found.rendering_method,
        notes=outcome.caveats,
        metadata=page.metadata,
        served_at=outcome.served_at,
        trace=outcome.steps,
    )


def fitted(answer: Answer, max_bytes: int | None, trace: Trace) -> dict[str, object]:
    """The response within a budget of bytes, as the last step of a fetch."""
    with trace.step("fit") as step:
        fields = answer.as_dict(max_bytes)
        step.text = "no budget" if max_bytes is None else "cut" if fields["truncated"] else "whole"
    return fields


def moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

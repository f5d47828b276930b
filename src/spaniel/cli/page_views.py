"""An outcome as text, in the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.page_output import as_line, as_markdown
from spaniel.pipeline.answer import fitted
from spaniel.pipeline.outcome import CACHE_HIT, moment

if TYPE_CHECKING:
    import argparse

    from spaniel.cli.page_output import Output
    from spaniel.errors import SpanielError
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.trace import Trace


class Seen(NamedTuple):
    """A fetch that ended in a page, as it is shown."""

    outcome: Outcome
    answer: Answer
    trace: Trace


def format_of(args: argparse.Namespace, view: str) -> str:
    """The format that was asked for; what `json` means is its profile's."""
    return "record" if args.format == "json" and view == "record" else str(args.format)


def page_text(kind: str, seen: Seen, args: argparse.Namespace, output: Output) -> str:
    """A page in one of the formats."""
    outcome, answer, trace = seen
    if kind == "json":
        return as_line(fitted(answer, args.max_bytes, trace))
    if kind == "page":
        return as_line(outcome.as_dict())
    if kind == "record":
        return record_line(outcome, answer.chunk_records() if args.chunks else None)
    if kind == "markdown":
        return as_markdown(facts_of(answer), answer.markdown, output)
    urls = {"requested_url": answer.requested_url, "final_url": answer.final_url}
    return "".join(as_line({**urls, **record}) for record in answer.chunk_records())


def refusal_text(kind: str, outcome: Outcome, error: SpanielError) -> str:
    """The place of an error among pages that programs read; empty for formats that have none."""
    if kind == "record":
        return record_line(outcome)
    if kind == "page":
        return as_line(outcome.as_dict())
    return as_line({"requested_url": outcome.requested_url, **error.as_dict()}) if kind == "json" else ""


def record_line(outcome: Outcome, chunks: list[dict[str, object]] | None = None) -> str:
    from spaniel.pipeline.record import record_of

    return record_of(outcome, chunks).as_json().decode() + "\n"


def facts_of(answer: Answer) -> dict[str, object]:
    """What the front matter of a page says; the first tells pages apart."""
    return {
        "url": answer.requested_url,
        "final_url": answer.final_url if answer.final_url != answer.requested_url else None,
        "title": answer.title,
        "language": answer.language,
        "author": answer.metadata.get("author"),
        "published": answer.metadata.get("published"),
        "fetched_at": moment(answer.fetched_at),
        "notes": [note for note in answer.notes if note != CACHE_HIT],  # that is about today, not about the page
    }

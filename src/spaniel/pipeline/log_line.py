"""The line that every fetch leaves in the log, however it ended (FR-WF-19c): no query, no credentials."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.pipeline.outcome import Outcome
    from spaniel.reading import Document

log = logging.getLogger("spaniel.fetch")


def write_log_line(outcome: Outcome, seconds: float) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    last = outcome.last
    host, url = _shown(outcome.canonical_url or outcome.requested_url)
    if not host and outcome.refusal is not None and outcome.refusal.code is Code.INVALID_HOST:
        host = str(outcome.refusal.details.get("host", ""))  # as it was written: the form is why it was refused
    method = outcome.found.rendering_method if outcome.found else last.rung if last else None
    fields: dict[str, object] = {
        "requested_host": host,
        "url": url,
        "final_url": _shown(outcome.final_url or outcome.requested_url)[1],
        "redirects": len(outcome.chain),
        "rendering_method": method,
        "cache_hit": outcome.cache_hit,
        "ms": round(seconds * 1000),
    }
    if outcome.refusal is not None:
        fields |= {"error_code": str(outcome.refusal.code), "phase": last.phase if last else "start"}
        if "field" in outcome.refusal.details:  # of bad_args: which one, or which setting
            fields["field"] = outcome.refusal.details["field"]
    event = str(outcome.refusal.code) if outcome.refusal else "fetch_complete"
    log.info(event, extra={"fields": fields})


def logged(document: Document, url: str | None) -> Document:
    """A document whose optional steps of reading did not all succeed leaves a line for each that failed (D2-41)."""
    for failure in document.failures:
        step, _, cause = failure.partition(": ")
        log.warning(
            "reading_step_failed", extra={"fields": {"url": _shown(url or "")[1], "step": step, "error": cause}}
        )
    return document


def _shown(text: str) -> tuple[str, str]:
    """Host and URL, as they may be written down; nothing of what is no URL."""
    try:
        url = parse(text)
    except SpanielError:
        return "", ""
    return url.host, url.redacted

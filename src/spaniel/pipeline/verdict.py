"""What became of a page, in one word: the verdict that a record gives on a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from spaniel.errors import Code

if TYPE_CHECKING:
    from spaniel.errors import SpanielError
    from spaniel.pipeline.outcome import Found, Outcome

Verdict = Literal["ok", "moved", "changed", "blocked", "rate-limited", "dead", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

GONE = frozenset({404, 410})
CLOSED = frozenset({401, 402, 403, 407, 451, 999})
FORBIDDEN = frozenset(
    {
        Code.ROBOTS_DISALLOWED,
        Code.SSRF_BLOCKED,
        Code.PORT_BLOCKED,
        Code.INVALID_HOST,
    }
)
RATE_LIMIT = "rate_limit"  # the type of a page that says "not now"


def verdict_of(outcome: Outcome) -> Verdict:
    """Of the URL that was asked for: a copy that stands in for it, an archive's or a mirror's, is no sign of life."""
    found = outcome.found
    if found is None:
        return _of_refusal(outcome.refusal)
    if outcome.is_substitute:
        return _of_refusal(outcome.last.error if outcome.last else None)
    return _of_type(found.page.page_type) if found.page.page_type else _of_page(found)


def _of_page(found: Found) -> Verdict:
    if found.page.chain:
        return "moved"
    return "changed" if found.kept is not None and found.kept.how == "changed" else "ok"


def _of_type(page_type: str) -> Verdict:
    return "rate-limited" if page_type == RATE_LIMIT else "blocked"


def _of_refusal(error: SpanielError | None) -> Verdict:
    """A server that is silent, slow or broken today says nothing about the page."""
    if error is None:
        return "unknown"
    status, page_type = error.details.get("status"), error.details.get("page_type")
    if page_type:
        return _of_type(str(page_type))
    if status == 429 or (status == 503 and "retry_after" in error.details):
        return "rate-limited"
    if status in GONE:
        return "dead"
    return "blocked" if status in CLOSED or error.code in FORBIDDEN else "unknown"

"""The fetch checklist of ingestion: nine steps, each ticked where it happened and crossed where it did not (FG-44)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.pipeline.outcome import Outcome

ASKED = ("fetch", "render")  # the steps of a trace that are a request


class Check(NamedTuple):
    """One step of the list."""

    step: str
    done: bool
    detail: str


def checklist(outcome: Outcome) -> list[Check]:
    """Read off what the fetch left behind: nothing is ticked because it should have happened."""
    return [
        Check("URL validated and normalized", outcome.canonical_url is not None, outcome.canonical_url or ""),
        _seen(outcome, "robots.txt checked for the domain", ("robots",)),
        _cache_checked(outcome),
        _seen(outcome, "Request sent with proper headers and timeout", ASKED),
        Check("Response status handled", outcome.status is not None, _statuses(outcome)),
        _extracted(outcome),
        Check("Metadata extracted", _has_metadata(outcome), ", ".join(_metadata(outcome))),
        _seen(outcome, "Cache updated with new content, hash and headers", ("write_cache",), good=("ok",)),
        Check("Extraction metadata recorded", outcome.found is not None, _recorded(outcome)),
    ]


def _steps(outcome: Outcome, names: Iterable[str]) -> list[str]:
    """How the steps of these names ended, each way once."""
    return list(dict.fromkeys(step.outcome for step in outcome.steps if step.name in names))


def _seen(outcome: Outcome, step: str, names: tuple[str, ...], good: tuple[str, ...] | None = None) -> Check:
    ends = _steps(outcome, names)
    done = bool(ends) if good is None else any(end in good for end in ends)
    return Check(step, done, ", ".join(ends) or _why_not(outcome))


def _why_not(outcome: Outcome) -> str:
    if outcome.cache_hit:
        return "served from the cache"
    return str(outcome.refusal.code) if outcome.refusal else "not needed"


def _cache_checked(outcome: Outcome) -> Check:
    ends = _steps(outcome, ("check_cache",))
    done = bool(ends) and "bypassed" not in ends
    return Check("Cache checked; conditional headers set if cached", done, ", ".join(ends) or _why_not(outcome))


def _statuses(outcome: Outcome) -> str:
    """What each attempt met, in order."""
    told = [f"{attempt.rung}: {attempt.status or attempt.outcome}" for attempt in outcome.attempts]
    return ", ".join(told) or (f"{outcome.status}, when it was fetched" if outcome.status else _why_not(outcome))


def _extracted(outcome: Outcome) -> Check:
    page = outcome.found.page if outcome.found else None
    if page is None:
        return Check("Content extracted and converted to Markdown", False, _why_not(outcome))
    told = page.page_type or f"{page.reader}, {len(page.markdown)} characters"
    return Check("Content extracted and converted to Markdown", bool(page.markdown) and not page.page_type, told)


def _metadata(outcome: Outcome) -> list[str]:
    page = outcome.found.page if outcome.found else None
    return [name for name, value in page.metadata.items() if value] if page else []


def _has_metadata(outcome: Outcome) -> bool:
    """A page that says nothing about itself has been asked all the same."""
    return outcome.found is not None and not outcome.found.page.page_type


def _recorded(outcome: Outcome) -> str:
    if outcome.found is None:
        return _why_not(outcome)
    return f"{outcome.found.method}, {outcome.found.fetched_at:%Y-%m-%d %H:%M} UTC, status {outcome.status}"

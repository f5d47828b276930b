"""What report formats share: their interface, and words for verdicts and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import shown
from spaniel.health.links import Place, Remark, word_of
from spaniel.verdicts import CONTRADICTED, DEAD_AFTER, MEANINGS, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.health.links import Checked
    from spaniel.health.summary import Summary

    Seen = tuple[str, str]  # when (UTC), and the verdict


class ReportContext(NamedTuple):
    """What a report says besides results."""

    started: str = ""  # UTC
    version: str = ""  # of Spaniel
    color: bool = False
    verbose: bool = False  # what is well is listed too
    history: Callable[[str], Sequence[Seen]] | None = None  # of a URL, the oldest first
    is_known: Callable[[Checked, Place], bool] | None = None  # an old debt, which a baseline has
    fail_on: frozenset[str] | None = None  # verdicts and findings that make the run fail; None: the usual ones


class Report(Protocol):
    """One way to tell results. Nothing is told before it is known; `close` comes once, also after an interruption."""

    def add(self, checked: Checked) -> None: ...

    def close(self, summary: Summary) -> None: ...


LONGEST = 2000  # characters of a URL or reason

WORDS: tuple[Verdict | Remark, ...] = (  # that links are shown with, the worst first
    *(Verdict.DEAD, Verdict.FAILING, Verdict.CHANGED, Verdict.MOVED),
    *(remark for remark in Remark if remark.is_other_page),
    *(Verdict.BLOCKED, Verdict.RATE_LIMITED, Verdict.UNKNOWN, Verdict.OK, Verdict.SKIPPED),
)


def meaning(word: Verdict | Remark) -> str:
    return MEANINGS[word] if isinstance(word, Verdict) else word.meaning


def label(checked: Checked) -> str:
    """The word for a link, with how far a failing one is on its way."""
    if checked.verdict is Verdict.FAILING and checked.failures and checked.evidence.method != "disk":
        return f"failing ({min(checked.failures, DEAD_AFTER)} of {DEAD_AFTER})"
    return word_of(checked)


def details(checked: Checked) -> list[str]:
    """What is to be said beside the verdict, a line each; safe to print."""
    lines = [shown(checked.reason, LONGEST)] if checked.reason and checked.verdict is not Verdict.MOVED else []
    if checked.move is not None:
        how = "for good" if checked.move.is_permanent else "for now"
        suspect = f", suspect: {checked.move.why_suspect or 'not the same page'}" if checked.move.is_suspect else ""
        lines.append(f"leads {how} to {shown(checked.move.to, LONGEST)}{shown(suspect, LONGEST)}")
    lines += [f"{each.what} was {shown(each.old, LONGEST)}, is {shown(each.new, LONGEST)}" for each in checked.changes]
    if checked.changes and checked.text_changed is not None:
        lines.append("the text is another" if checked.text_changed else "the text is the same as last time")
    lines.extend(shown(finding.text, LONGEST) for finding in checked.findings)
    if checked.archived:
        lines.append(f"an archive has it: {shown(checked.archived, LONGEST)}")
    return list(dict.fromkeys(lines))  # what a finding says may be the reason too


def is_worth_telling(checked: Checked) -> bool:
    """Whether somebody may want to do something about a link."""
    telling = checked.verdict in CONTRADICTED or checked.verdict in UNVERIFIED or checked.verdict is Verdict.MOVED
    return telling or bool(checked.findings)


def places_of(checked: Checked) -> tuple[Place, ...]:
    """Where a link is written; a link of the command line is written nowhere, and told once."""
    return checked.link.places or (Place(""),)


def position(place: Place) -> str:
    """`file:line:column`, as editors understand it."""
    parts = [shown(place.file, LONGEST), *(str(number) for number in (place.line, place.column) if number)]
    return ":".join(parts)


def totals(summary: Summary) -> str:
    """All figures in a line."""
    shown_as = summary.words
    order = (*Verdict, *(remark for remark in Remark if remark.is_other_page))
    counts = ", ".join(f"{shown_as[each.value]} {each.value}" for each in order if shown_as[each.value])
    links = "1 link" if summary.links == 1 else f"{summary.links:,} links"
    extras = [f"{count} {name}" for name, count in sorted(summary.remarks.items()) if not shown_as[name]]
    extras += [f"{summary.known} known from the baseline"] if summary.known else []
    extras += [f"{summary.fixed} of the baseline well again"] if summary.fixed else []
    return f"{links}: {counts or 'nothing to check'}" + (f" ({', '.join(extras)})" if extras else "")


def warnings(summary: Summary) -> list[str]:
    """What must be known before the figures are believed."""
    lines = []
    if summary.no_network:
        lines.append("Names could not be looked up: taken for trouble with this network; no link is called dead.")
    if summary.interrupted:
        lines.append("The run was interrupted: links that were not reached are not in these figures.")
    return lines

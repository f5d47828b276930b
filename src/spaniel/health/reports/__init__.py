"""Reports of a check, for people and for programs.

Each format is a module of this package with the name of the format. Its `open_report` takes a stream and the context.
`spaniel.cli.check.FORMATS` lists the formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import shown
from spaniel.health.links import Place, Remark, word_of
from spaniel.verdicts import CONTRADICTED, DEAD_AFTER, MEANINGS, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.summary import Summary


class ReportContext(NamedTuple):
    """What a report shows besides results."""

    started: str = ""  # UTC
    version: str = ""  # of Spaniel
    color: bool = False
    verbose: bool = False  # list links without a problem, too
    history: Callable[[str], Sequence[tuple[str, str]]] | None = (
        None  # takes a URL; times (UTC) and verdicts, oldest first
    )
    is_known: Callable[[Checked, Place], bool] | None = None  # whether the baseline has the failure; None: no baseline
    fail_on: frozenset[str] | None = None  # verdicts and findings that make the run fail; None: the default

    def is_known_failure(self, checked: Checked, place: Place) -> bool:
        return self.is_known is not None and self.is_known(checked, place)


class Report(Protocol):
    """One format. `close` is called once, also after an interruption."""

    def add(self, checked: Checked) -> None: ...

    def close(self, summary: Summary) -> None: ...


def open_report(name: str, out: TextIO, context: ReportContext) -> Report:
    """Open a report in the format with this name. Only its module is imported."""
    report: Report = import_module(f"{__name__}.{name}").open_report(out, context)
    return report


LONGEST = 2000  # characters of a URL or reason

WORDS: tuple[Verdict | Remark, ...] = (  # that links are shown with, worst first
    *(Verdict.DEAD, Verdict.FAILING, Verdict.CHANGED, Verdict.MOVED),
    *(remark for remark in Remark if remark.is_other_page),
    *(Verdict.BLOCKED, Verdict.RATE_LIMITED, Verdict.UNKNOWN, Verdict.OK, Verdict.SKIPPED),
)


def meaning(word: Verdict | Remark) -> str:
    return MEANINGS[word] if isinstance(word, Verdict) else word.meaning


def label(checked: Checked) -> str:
    """Return the word for a link; a failing one with the number of failed checks."""
    if checked.verdict is Verdict.FAILING and checked.failures and checked.evidence.method != "disk":
        return f"failing ({min(checked.failures, DEAD_AFTER)} of {DEAD_AFTER})"
    return word_of(checked)


def details(checked: Checked) -> list[str]:
    """Return the lines that explain the verdict; safe to print."""
    lines = [shown(checked.reason, LONGEST)] if checked.reason and checked.verdict is not Verdict.MOVED else []
    if checked.move is not None:
        how = "permanently" if checked.move.is_permanent else "temporarily"
        suspect = f", suspect: {checked.move.why_suspect or 'not the same page'}" if checked.move.is_suspect else ""
        lines.append(f"moved {how} to {shown(checked.move.to, LONGEST)}{shown(suspect, LONGEST)}")
    lines += [f"{each.what} was {shown(each.old, LONGEST)}, is {shown(each.new, LONGEST)}" for each in checked.changes]
    if checked.changes and checked.text_changed is not None:
        lines.append("the text changed" if checked.text_changed else "the text did not change")
    lines.extend(shown(finding.text, LONGEST) for finding in checked.findings)
    if checked.archived:
        lines.append(f"archived copy: {shown(checked.archived, LONGEST)}")
    return list(dict.fromkeys(lines))  # a finding may repeat the reason


def needs_attention(checked: Checked) -> bool:
    """Whether a link has a problem, may have one, or has moved."""
    verdict = checked.verdict
    return verdict in CONTRADICTED or verdict in UNVERIFIED or verdict is Verdict.MOVED or bool(checked.findings)


def places_of(checked: Checked) -> tuple[Place, ...]:
    """Return where a link is written; one empty place for a link of the command line."""
    return checked.link.places or (Place(""),)


def position(place: Place) -> str:
    """Return `file:line:column`, as editors understand it."""
    parts = [shown(place.file, LONGEST), *(str(number) for number in (place.line, place.column) if number)]
    return ":".join(parts)


def totals(summary: Summary) -> str:
    """Return the counts in one line."""
    shown_as = summary.words
    order = (*Verdict, *(remark for remark in Remark if remark.is_other_page))
    counts = ", ".join(f"{shown_as[each.value]} {each.value}" for each in order if shown_as[each.value])
    links = "1 link" if summary.links == 1 else f"{summary.links:,} links"
    extras = [f"{count} {name}" for name, count in sorted(summary.remarks.items()) if not shown_as[name]]
    extras += [f"{summary.known} known from the baseline"] if summary.known else []
    extras += [f"{summary.fixed} from the baseline fixed"] if summary.fixed else []
    return f"{links}: {counts or 'nothing to check'}" + (f" ({', '.join(extras)})" if extras else "")


def warnings(summary: Summary) -> list[str]:
    """Return what limits the meaning of the counts."""
    lines = []
    if summary.no_network:
        lines.append("DNS lookups failed, probably because this machine is offline; no link is reported as dead.")
    if summary.interrupted:
        lines.append("The run was interrupted: links that were not checked are not counted.")
    return lines

"""A run in figures, and the exit code that follows from them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.health.links import Remark, word_of
from spaniel.verdicts import CONTRADICTED, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.health.links import Checked

ALL_HOLD, CONTRADICTED_CODE, UNVERIFIED_CODE = 0, 1, 3
NOTHING = "none"  # of --fail-on: nothing makes a run fail


class Summary:
    """Counts of a run. What a baseline knows is counted apart, and fails nothing."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.remarks: Counter[str] = Counter()
        self.words: Counter[str] = Counter()  # as links are shown: a parked page is not shown as ok
        self.places = 0  # that mention the links
        self.known = 0  # links that failed, and that the baseline has
        self.fixed = 0  # entries of the baseline that are well again
        self.suspect = 0  # moves to an end that is not the page
        self.seconds = 0.0
        self.interrupted = False
        self.no_network = False
        self._counting: Counter[str] = Counter()  # what the exit code looks at

    def add(self, checked: Checked, *, known: bool = False) -> None:
        self.verdicts[checked.verdict] += 1
        self.places += max(1, len(checked.link.places))
        self.suspect += bool(checked.move and checked.move.is_suspect)
        remarks = {each.remark for each in checked.findings} if checked.findings else ()
        self.words[word_of(checked)] += 1
        for name in remarks:
            self.remarks[name] += 1
        if known:
            self.known += 1
            return
        self._counting[checked.verdict] += 1
        for name in remarks:  # `Counter.update` takes three times as long
            self._counting[name] += 1

    @property
    def links(self) -> int:
        return sum(self.verdicts.values())

    def exit_code(self, fail_on: frozenset[str] | None = None) -> int:
        """0: all that was asserted holds. 1: something is contradicted. 3: nothing is, but something could not be told.

        With `fail_on` its verdicts and findings give 1, and nothing else gives anything but 0.
        """
        if fail_on is not None:
            return CONTRADICTED_CODE if any(self._counting[name] for name in fail_on) else ALL_HOLD
        if any(self._counting[verdict] for verdict in CONTRADICTED):
            return CONTRADICTED_CODE
        return UNVERIFIED_CODE if self.interrupted or any(self._counting[each] for each in UNVERIFIED) else ALL_HOLD


def fails(checked: Checked, fail_on: frozenset[str] | None) -> bool:
    """Whether a result makes a run exit with 1: the same for the exit code and every report."""
    if fail_on is None:
        return checked.verdict in CONTRADICTED
    return checked.verdict in fail_on or any(finding.remark in fail_on for finding in checked.findings)


def read_fail_on(given: Iterable[str]) -> frozenset[str] | None:
    """What `--fail-on` names, with commas or repeated; None where it was not given."""
    names = [name.strip() for text in given for name in text.split(",") if name.strip()]
    if not names:
        return None
    known = {*(each.value for each in Verdict), *(each.value for each in Remark)}
    for name in names:
        if name not in known and name != NOTHING:
            reason = f"'{name}' is neither a verdict nor a finding; there are {', '.join(sorted(known))} and {NOTHING}"
            raise SpanielError(Code.BAD_ARGS, field="--fail-on", reason=reason)
    return frozenset(names) - {NOTHING}

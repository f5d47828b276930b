"""What a report is: told each result as it comes, closed with the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.health.summary import Summary
    from spaniel.health.verdict import Checked, Place

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

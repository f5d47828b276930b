"""Annotations on the lines of a pull request: GitHub reads these workflow commands from the output of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.reports import LONGEST, details, label, needs_attention, places_of, totals, warnings
from spaniel.health.summary import fails
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked, Place
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary


class GithubReport:
    """Writes one line for each place. Line ends are escaped, so that no URL or file name can start a command."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context

    def add(self, checked: Checked) -> None:
        if needs_attention(checked):
            for place in places_of(checked):
                self._write(checked, place)

    def close(self, summary: Summary) -> None:
        for line in warnings(summary):
            self._out.write(f"::warning title=Link check::{_message(line)}\n")
        self._out.write(f"::notice title=Link check::{_message(totals(summary))}\n")

    def _write(self, checked: Checked, place: Place) -> None:
        known = self._context.is_known_failure(checked, place)
        level = "error" if not known and fails(checked, self._context.fail_on) else "warning"
        if known or (level != "error" and checked.verdict is Verdict.MOVED):
            level = "notice"
        where = {
            "file": place.file,
            "line": place.line or "",
            "col": place.column or "",
            "title": f"Link {label(checked)}",
        }
        properties = ",".join(f"{name}={_property(str(value))}" for name, value in where.items() if value)
        text = ": ".join((checked.link.url, "; ".join(details(checked)) or label(checked)))
        self._out.write(f"::{level} {properties}::{_message(text)}\n")


def _message(text: str) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return shown(text, 2 * LONGEST)


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


open_report = GithubReport

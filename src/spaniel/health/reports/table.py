"""The report for a terminal: the problems, file by file, then the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.reports import LONGEST, details, label, needs_attention, places_of, totals, warnings
from spaniel.verdicts import CONTRADICTED, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked, Place
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary

RED, YELLOW, GREEN, DIM, PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m", "\x1b[0m"


class TableReport:
    """Rows are kept until the end, to be sorted by file and line."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context
        self._rows: list[tuple[Place, Checked]] = []

    def add(self, checked: Checked) -> None:
        if self._context.verbose or needs_attention(checked):
            self._rows.extend((place, checked) for place in places_of(checked))

    def close(self, summary: Summary) -> None:
        file = None
        for place, checked in sorted(self._rows, key=lambda row: (row[0], row[1].link.url)):
            if place.file != file:
                file = place.file
                self._out.write(f"{shown(file, LONGEST)}\n" if file else "")
            self._write_row(place, checked)
        for line in warnings(summary):
            self._out.write(self._colored(line, YELLOW) + "\n")
        self._out.write(totals(summary) + "\n")

    def _write_row(self, place: Place, checked: Checked) -> None:
        where = f"{place.line}:{place.column}" if place.column else str(place.line or "")
        known = self._context.is_known_failure(checked, place)
        word = f"{label(checked) + (' (known)' if known else ''):<18}"
        color = DIM if known else _color(checked)
        head = f"  {where:>7}  " if place.file else ""
        self._out.write(f"{head}{self._colored(word, color)} {shown(checked.link.url, LONGEST)}\n")
        indent = " " * (len(head) + 19)
        for line in details(checked):
            self._out.write(f"{indent}{self._colored(line, DIM)}\n")

    def _colored(self, text: str, color: str) -> str:
        return f"{color}{text}{PLAIN}" if self._context.color and color else text


def _color(checked: Checked) -> str:
    if checked.verdict in CONTRADICTED:
        return RED
    if checked.verdict in UNVERIFIED or checked.findings or checked.verdict is Verdict.MOVED:
        return YELLOW
    return GREEN if checked.verdict is Verdict.OK else DIM


open_report = TableReport

"""Markdown, for a comment on a pull request or an issue of a scheduled run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.links import word_of
from spaniel.health.reports import (
    LONGEST,
    WORDS,
    details,
    label,
    meaning,
    needs_attention,
    places_of,
    position,
    totals,
    warnings,
)
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary

MOST_PLACES = 20  # in one row
_SIGNS = re.compile(r"([\\`*_{}\[\]<>|#~@$!&])")


class MarkdownReport:
    """Writes a section with a table for each verdict, worst first."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context
        self._rows: dict[str, list[Checked]] = {}

    def add(self, checked: Checked) -> None:
        if self._context.verbose or needs_attention(checked):
            self._rows.setdefault(word_of(checked), []).append(checked)

    def close(self, summary: Summary) -> None:
        write = self._out.write
        write(f"# Links\n\n{_plain(totals(summary))}\n")
        for line in warnings(summary):
            write(f"\n> {_plain(line)}\n")
        for word in WORDS:
            rows = self._rows.get(word.value)
            if rows:
                write(f"\n## {word.value.capitalize()} ({len(rows)})\n\n{meaning(word)}\n\n")
                write("| link | why | where |\n|---|---|---|\n")
                for checked in sorted(rows, key=lambda row: (row.link.places, row.link.url)):
                    write(self._row(checked))

    def _row(self, checked: Checked) -> str:
        why = [*([label(checked)] if checked.verdict is Verdict.FAILING else []), *details(checked)]
        places = [position(place) for place in places_of(checked)]
        more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
        where = ", ".join(_code(place) for place in places[:MOST_PLACES] if place) + more
        return f"| {_code(checked.link.url)} | {'; '.join(map(_plain, why))} | {where} |\n"


def _plain(text: str) -> str:
    """Escape text, so that the name of a page or file cannot become a mention, a link or markup."""
    return _SIGNS.sub(r"\\\1", shown(text, LONGEST))


def _code(text: str) -> str:
    """Write text as a code span in a table cell. A back-tick or a bar cannot end it."""
    text = shown(text, LONGEST).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    padding = " " if "`" in text else ""
    return f"{fence}{padding}{text}{padding}{fence}"


open_report = MarkdownReport

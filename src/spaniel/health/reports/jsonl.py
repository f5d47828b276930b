"""One JSON object per line: each result as soon as it is known, without the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.health.reports.json import as_json, result_object

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary


class JsonLinesReport:
    """Writes each result at once."""

    def __init__(self, out: TextIO, _: ReportContext) -> None:
        self._out = out

    def add(self, checked: Checked) -> None:
        self._out.write(as_json(result_object(checked)) + "\n")

    def close(self, _: Summary) -> None:
        self._out.flush()


open_report = JsonLinesReport

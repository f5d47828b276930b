"""Every report by the name of its format."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.reports.kind import Report, ReportContext

FORMATS = {
    "table": "table.TableReport",
    "json": "json.DocumentReport",
    "jsonl": "json.LinesReport",
    "junit": "junit.JunitReport",
    "markdown": "markdown.MarkdownReport",
    "html": "html.HtmlReport",
    "sarif": "sarif.SarifReport",
    "github": "github.GithubReport",
}


def open_report(format: str, out: TextIO, context: ReportContext) -> Report:  # noqa: A002  as the option is called
    """A report that writes to `out`. Only the one that is asked for is imported."""
    module, _, name = FORMATS[format].partition(".")
    made: Report = getattr(import_module(f"spaniel.health.reports.{module}"), name)(out, context)
    return made

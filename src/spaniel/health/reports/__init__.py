"""Reports of a check: for a terminal, for people, for programs that read them. `FORMATS` has them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.health.reports.github import GithubReport
from spaniel.health.reports.html import HtmlReport
from spaniel.health.reports.json import DocumentReport, LinesReport
from spaniel.health.reports.junit import JunitReport
from spaniel.health.reports.markdown import MarkdownReport
from spaniel.health.reports.report import Report, ReportContext
from spaniel.health.reports.sarif import SarifReport
from spaniel.health.reports.table import TableReport

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


__all__ = ["FORMATS", "Report", "ReportContext"]

FORMATS: dict[str, Callable[[TextIO, ReportContext], Report]] = {
    "table": TableReport,
    "json": DocumentReport,
    "jsonl": LinesReport,
    "junit": JunitReport,
    "markdown": MarkdownReport,
    "html": HtmlReport,
    "sarif": SarifReport,
    "github": GithubReport,
}

"""Reports of a check: for a terminal, for people, for programs that read them."""

from spaniel.health.reports.kind import Report, ReportContext
from spaniel.health.reports.table_of_formats import FORMATS

__all__ = ["FORMATS", "Report", "ReportContext"]

"""What came of a run: counted as records come, written as JSON, shown as a table."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

MOST_HOSTS = 10_000  # of failures, whose counts are kept; the hosts of a run may be millions
TOLD_HOSTS = 10


class Tally:
    """Counts over records, in flat memory."""

    def __init__(self) -> None:
        self.records = 0
        self.with_text = 0
        self.characters = 0
        self._codes: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._failing: Counter[str] = Counter()

    def add(self, record: Mapping[str, object]) -> None:
        self.records += 1
        markdown, error = record.get("markdown"), record.get("error")
        if isinstance(markdown, str) and markdown:
            self.with_text += 1
            self.characters += len(markdown)
        if (status := record.get("status")) is not None:
            self._statuses[str(status)] += 1
        if verdict := record.get("verdict"):
            self._verdicts[str(verdict)] += 1
        if error:
            self._codes[str(error.get("code", "unknown") if isinstance(error, dict) else error)] += 1
            self._count_host(str(record.get("final_url") or record.get("requested_url") or ""))

    def _count_host(self, url: str) -> None:
        host = url.partition("://")[2].partition("/")[0]
        if host in self._failing or len(self._failing) < MOST_HOSTS:
            self._failing[host] += 1

    @property
    def failed(self) -> int:
        return self._codes.total()

    def as_dict(self) -> dict[str, object]:
        return {
            "records": self.records,
            "ok": self.records - self.failed,
            "failed": self.failed,
            "failed_by_code": dict(self._codes.most_common()),
            "by_status": dict(self._statuses.most_common()),
            "by_verdict": dict(self._verdicts.most_common()),
            "with_text": self.with_text,
            "characters": self.characters,
            "failing_hosts": dict(self._failing.most_common(TOLD_HOSTS)),
        }


def write_summary(path: str, summary: Mapping[str, object]) -> None:
    """The whole file or none."""
    text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
    try:
        write_atomically(path, text.encode("utf-8", "backslashreplace"), None)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None


def summary_table(summary: Mapping[str, object]) -> Table:
    """Two columns for a terminal; counts of counts stand below what they are of."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in summary.items():
        words = name.replace("_", " ")
        if not isinstance(value, dict):
            table.add_row(Text(words), Text(_written(value)))
        elif value:
            table.add_row(Text(words), "")
            for part, count in value.items():
                table.add_row(Text(f"  {part}"), Text(_written(count)))
    return table


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

"""Results for programs: one JSON object per line, or one document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.reports.kind import ReportContext
    from spaniel.health.summary import Summary
    from spaniel.health.verdict import Checked

_SURROGATES = re.compile("[\ud800-\udfff]")


def as_object(checked: Checked) -> dict[str, object]:
    """Everything that is known of a link. Keys are always there; what is not known is null or empty."""
    link, evidence, move = checked.link, checked.evidence, checked.move
    return {
        "url": link.url,
        "verdict": checked.verdict.value,
        "reason": checked.reason,
        "code": checked.code,
        "places": [place._asdict() for place in link.places],
        "fragments": list(link.fragments),
        "moved": None if move is None else move._asdict(),
        "changes": [change._asdict() for change in checked.changes],
        "text_sha256": checked.text_sha256,
        "text_changed": checked.text_changed,
        "findings": [{"remark": each.remark.value, "text": each.text} for each in checked.findings],
        "failures": checked.failures,
        "archived": checked.archived,
        "evidence": {**evidence._asdict(), "chain": [hop._asdict() for hop in evidence.chain]},
    }


def summary_object(summary: Summary) -> dict[str, object]:
    return {
        "links": summary.links,
        "places": summary.places,
        "verdicts": dict(sorted(summary.verdicts.items())),
        "findings": dict(sorted(summary.remarks.items())),
        "suspect_moves": summary.suspect,
        "known": summary.known,
        "fixed": summary.fixed,
        "seconds": round(summary.seconds, 3),
        "interrupted": summary.interrupted,
        "no_network": summary.no_network,
    }


class LinesReport:
    """Each result as soon as it is known. The figures are not among them: every line is a link."""

    def __init__(self, out: TextIO, _: ReportContext) -> None:
        self._out = out

    def add(self, checked: Checked) -> None:
        self._out.write(written(as_object(checked)) + "\n")

    def close(self, _: Summary) -> None:
        self._out.flush()


class DocumentReport:
    """One object: the results in the order in which they came, and the figures."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out = out
        about = written({"version": context.version, "started": context.started})
        out.write(f'{{"spaniel": {about}, "results": [')
        self._between = "\n"

    def add(self, checked: Checked) -> None:
        self._out.write(self._between + written(as_object(checked)))
        self._between = ",\n"

    def close(self, summary: Summary) -> None:
        self._out.write(f'\n], "summary": {written(summary_object(summary))}}}\n')


def written(value: object) -> str:
    """As JSON. A lone surrogate, of a file's name that is no UTF-8, would make it unreadable to strict readers."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)

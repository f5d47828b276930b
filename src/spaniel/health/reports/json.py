"""Results for programs: one JSON object per line, or one document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from spaniel.errors import json_safe

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.reports.report import ReportContext
    from spaniel.health.summary import Summary
    from spaniel.verdicts import Evidence

_encode = msgspec.json.Encoder().encode
_SURROGATES = re.compile("[\ud800-\udfff]")


def as_object(checked: Checked) -> dict[str, object]:
    """Everything that is known of a link. Keys are always there; what is not known is null or empty."""
    link, move = checked.link, checked.move
    return {
        "url": link.url,
        "verdict": checked.verdict,
        "reason": checked.reason,
        "code": checked.code,
        "places": [{"file": file, "line": line, "column": column} for file, line, column, _ in link.places],
        "fragments": link.fragments,
        "moved": None if move is None else move._asdict(),
        "changes": [change._asdict() for change in checked.changes] if checked.changes else (),
        "text_sha256": checked.text_sha256,
        "text_changed": checked.text_changed,
        "findings": [{"remark": remark, "text": text} for remark, text, _ in checked.findings]
        if checked.findings
        else (),
        "failures": checked.failures,
        "archived": checked.archived,
        "evidence": _evidence(checked.evidence),
    }


def _evidence(evidence: Evidence) -> dict[str, object]:
    """As `_asdict`, which takes twice as long, and its chain with names too."""
    method, status, chain, final_url, phase, attempts, address, at, seconds = evidence
    return {
        "method": method,
        "status": status,
        "chain": [hop._asdict() for hop in chain] if chain else (),
        "final_url": final_url,
        "phase": phase,
        "attempts": attempts,
        "address": address,
        "at": at,
        "seconds": seconds,
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
    try:
        return json_safe(_encode(value).decode())
    except UnicodeEncodeError:
        text = _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        return json_safe(text)

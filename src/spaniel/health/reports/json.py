"""One JSON document: the results in the order of the checks, and the counts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec

from spaniel.errors import json_safe

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary
    from spaniel.verdicts import Evidence

_encode = msgspec.json.Encoder().encode
_SURROGATES = re.compile("[\ud800-\udfff]")


def result_object(checked: Checked) -> dict[str, object]:
    """Return a result as an object. It has always the same keys; unknown values are null or empty."""
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
    """Like `_asdict`, which takes twice as long, but with names in the chain, too."""
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


def as_json(value: object) -> str:
    """Encode as JSON. A lone surrogate, from a file name that is not UTF-8, is replaced: strict readers refuse it."""
    try:
        return json_safe(_encode(value).decode())
    except UnicodeEncodeError:
        text = _SURROGATES.sub("\ufffd", json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        return json_safe(text)


class JsonReport:
    """Writes one object, result by result."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out = out
        about = as_json({"version": context.version, "started": context.started})
        out.write(f'{{"spaniel": {about}, "results": [')
        self._between = "\n"

    def add(self, checked: Checked) -> None:
        self._out.write(self._between + as_json(result_object(checked)))
        self._between = ",\n"

    def close(self, summary: Summary) -> None:
        self._out.write(f'\n], "summary": {as_json(summary_object(summary))}}}\n')


open_report = JsonReport

"""SARIF 2.1.0, for code scanning: each result at its line."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import quote

from spaniel.errors import shown
from spaniel.health.links import Remark, file_name
from spaniel.health.reports import LONGEST, details, label, meaning, needs_attention, places_of
from spaniel.health.reports.json import as_json
from spaniel.health.summary import fails
from spaniel.verdicts import CONTRADICTED, UNVERIFIED, Verdict

if TYPE_CHECKING:
    from typing import TextIO

    from spaniel.health.links import Checked, Place
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RULES: dict[str, Verdict | Remark] = {each.value: each for each in (*Verdict, *Remark)}
INDEX = {name: number for number, name in enumerate(RULES)}


class SarifReport:
    """Writes one run, with a result for each place of a link that needs attention, and for each finding."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context
        self._between = "\n"
        about = {"name": "Spaniel", "semanticVersion": context.version, "rules": [_rule(name) for name in RULES]}
        tool = as_json({"driver": {key: value for key, value in about.items() if value}})
        out.write(f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"tool": {tool}, ')
        out.write('"columnKind": "unicodeCodePoints", "results": [')

    def add(self, checked: Checked) -> None:
        if not needs_attention(checked):
            return
        results = [(checked.verdict.value, _message(checked))] if _has_own_result(checked) else []
        results += [
            (finding.remark.value, f"{shown(checked.link.url, LONGEST)}: {shown(finding.text, LONGEST)}")
            for finding in checked.findings
        ]
        for place in places_of(checked):
            for rule, text in results:
                self._write(checked, place, rule, text)

    def close(self, summary: Summary) -> None:
        run = {"executionSuccessful": not summary.interrupted}
        if self._context.started:
            run["startTimeUtc"] = self._context.started  # type: ignore[assignment]
        self._out.write(f'\n], "invocations": [{as_json(run)}]}}]}}\n')

    def _level_of(self, checked: Checked, rule: str) -> str:
        """Return the level; an error makes the run fail."""
        level, fail_on = _level(rule), self._context.fail_on
        if level != "error" and (fail_on is None or rule not in fail_on):
            return level
        return "error" if fails(checked, fail_on) else "warning"

    def _write(self, checked: Checked, place: Place, rule: str, text: str) -> None:
        known = self._context.is_known_failure(checked, place)
        fingerprint = sha256(f"{place.file}\n{checked.link.url}\n{rule}".encode("utf-8", "surrogatepass")).hexdigest()
        result = {
            "ruleId": rule,
            "ruleIndex": INDEX[rule],
            "level": self._level_of(checked, rule),
            "message": {"text": text},
            "locations": [_location(place, checked.link.url)],
            "partialFingerprints": {"link/v1": fingerprint},
        }
        if self._context.is_known is not None:
            result["baselineState"] = "unchanged" if known else "new"
        self._out.write(self._between + as_json(result))
        self._between = ",\n"


def _has_own_result(checked: Checked) -> bool:
    """Whether the verdict is a result; not if a finding already reports the same problem."""
    if checked.verdict in (Verdict.OK, Verdict.SKIPPED):
        return False
    return all(finding.remark is not Remark.FRAGMENT_MISSING for finding in checked.findings)


def _rule(name: str) -> dict[str, object]:
    words = name.replace("-", " ")
    return {
        "id": name,
        "name": "Link" + words.title().replace(" ", ""),
        "shortDescription": {"text": f"Link: {words}"},
        "fullDescription": {"text": meaning(RULES[name])},
        "defaultConfiguration": {"level": _level(name)},
    }


def _level(rule: str) -> str:
    of = RULES[rule]
    if isinstance(of, Remark):
        return of.level
    return "error" if of in CONTRADICTED else "warning" if of in UNVERIFIED else "note"


def _message(checked: Checked) -> str:
    return "\n".join([f"{shown(checked.link.url, LONGEST)} is {label(checked)}", *details(checked)])


def _location(place: Place, url: str) -> dict[str, object]:
    if place.file in ("", "-"):
        return {"logicalLocations": [{"fullyQualifiedName": url}]}
    physical: dict[str, object] = {"artifactLocation": _artifact(place.file)}
    if place.line:
        physical["region"] = {"startLine": place.line, **({"startColumn": place.column} if place.column else {})}
    return {"physicalLocation": physical}


def _artifact(file: str) -> dict[str, object]:
    """Return the URI of a file. A relative name is relative to the folder in which the check ran."""
    path = file_name(file).replace(os.sep, "/").removeprefix("./")
    uri = quote(path.encode("utf-8", "surrogateescape"), safe="/~!$&'()*+,;=@")
    if file.startswith("/"):
        return {"uri": f"file://{uri}"}
    return {"uri": uri, "uriBaseId": "%SRCROOT%"}


open_report = SarifReport

"""A JUnit file for CI servers: one test for each place of a link."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import shown
from spaniel.health.links import word_of
from spaniel.health.reports import LONGEST, details, label, places_of, position
from spaniel.health.summary import fails
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from spaniel.health.links import Checked, Place
    from spaniel.health.reports import ReportContext
    from spaniel.health.summary import Summary


class LinkTest(NamedTuple):
    """A link at one place, as a test."""

    place: Place
    url: str
    element: str  # failure or skipped; "" if the test passes
    seconds: float
    message: str
    text: str


class JunitReport:
    """Links that contradict what is expected are failures; links that could not be checked are skipped tests."""

    def __init__(self, out: TextIO, context: ReportContext) -> None:
        self._out, self._context = out, context
        self._cases: list[LinkTest] = []

    def add(self, checked: Checked) -> None:
        message, text = label(checked), "\n".join(details(checked))
        for place in places_of(checked):
            known = self._context.is_known_failure(checked, place)
            element = _element(checked, self._context.fail_on, known=known)
            self._cases.append(LinkTest(place, checked.link.url, element, checked.evidence.seconds, message, text))

    def close(self, summary: Summary) -> None:
        write = self._out.write
        self._cases.sort(key=lambda case: case[:2])
        attributes = f'name="links" {_counts(self._cases)} time="{summary.seconds:.3f}"'
        write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {attributes}>\n')
        for file, cases in groupby(self._cases, key=lambda case: case.place.file):
            self._write_suite(file or "links", list(cases))
        write("</testsuites>\n")

    def _write_suite(self, name: str, cases: list[LinkTest]) -> None:
        seconds = sum(case.seconds for case in cases)
        started = self._context.started.rstrip("Z")  # the format has no time zone
        self._out.write(f'  <testsuite name={_attribute(name)} {_counts(cases)} time="{seconds:.3f}"')
        self._out.write(f" timestamp={_attribute(started)}>\n" if started else ">\n")
        for case in cases:
            place = case.place
            where = f" ({position(place)})" if place.line else ""
            self._out.write(f"    <testcase classname={_attribute(name)} name={_attribute(case.url + where)}")
            self._out.write(f' file={_attribute(place.file)} line="{place.line}"' if place.line else "")
            self._out.write(f' time="{case.seconds:.3f}"')
            self._out.write(f">\n      {_outcome(case)}\n    </testcase>\n" if case.element else "/>\n")
        self._out.write("  </testsuite>\n")


def _outcome(case: LinkTest) -> str:
    if case.element == "failure":
        return (
            f"<failure message={_attribute(case.message)} type={_attribute(case.message)}>{_text(case.text)}</failure>"
        )
    return f"<skipped message={_attribute(': '.join(filter(None, (case.message, case.text))))}/>"


def _element(checked: Checked, fail_on: frozenset[str] | None, *, known: bool) -> str:
    """A test fails if the link makes the run fail, and passes if the link is shown as ok or moved."""
    if not known and fails(checked, fail_on):
        return "failure"
    return "" if word_of(checked) in (Verdict.OK, Verdict.MOVED) and not known else "skipped"


def _counts(cases: Iterable[LinkTest]) -> str:
    elements = [case.element for case in cases]
    failures, skipped = elements.count("failure"), elements.count("skipped")
    return f'tests="{len(elements)}" failures="{failures}" errors="0" skipped="{skipped}"'


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # loads an HTTP client

    return quoteattr(shown(text, LONGEST))  # escapes the characters that XML does not allow


def _text(text: str) -> str:
    lines = (shown(line, LONGEST) for line in text.split("\n"))
    return "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


open_report = JunitReport

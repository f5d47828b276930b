"""Reports: the same results in every format, with hostile names of links and files."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif

from spaniel.cli.check import FORMATS
from spaniel.errors import SpanielError
from spaniel.health.baseline import Baseline, write_baseline
from spaniel.health.links import Checked, Link, LinkFinding, Place, Remark
from spaniel.health.reports import ReportContext, open_report
from spaniel.health.summary import Summary, read_fail_on
from spaniel.verdicts import Change, Evidence, Hop, Move, Verdict

if TYPE_CHECKING:
    from pathlib import Path

STARTED = "2026-11-16T12:00:00Z"
CONTEXT = ReportContext(started=STARTED, version="1.2.3")
HOSTILE = 'https://example.com/"><script>alert(1)</script>|`a`&%0A::error::x\x1b[31m\n\u202e\ud800'
HOSTILE_FILE = 'docs/a,b:c%\r\n::error::"<x>|`\udcff.md'


def link(url: str, *places: Place) -> Link:
    return Link(url, places=places)


RESULTS = [
    Checked(link("https://ok.example/", Place("a.md", 1, 2)), Verdict.OK, evidence=Evidence("HEAD", 200, at=STARTED)),
    Checked(
        link("https://moved.example/a/b", Place("a.md", 3, 4), Place("b.md", 9, 1)),
        Verdict.MOVED,
        evidence=Evidence("GET", 200, (Hop("https://moved.example/a/b", 301),), "https://moved.example/"),
        move=Move("https://moved.example/", is_permanent=True, is_suspect=True, why_suspect="the site's front page"),
    ),
    Checked(
        link("https://changed.example/x", Place("db/changed.example.yaml", 5)),
        Verdict.CHANGED,
        "the content is another",
        changes=(Change("length", "10", "12"),),
        text_changed=False,
    ),
    Checked(link("https://blocked.example/", Place("a.md", 4, 1)), Verdict.BLOCKED, "403 Forbidden"),
    Checked(link("https://slow.example/", Place("a.md", 5, 1)), Verdict.RATE_LIMITED, "429 Too Many Requests"),
    Checked(link("https://failing.example/", Place("a.md", 6, 1)), Verdict.FAILING, "404 Not Found", failures=2),
    Checked(
        link("https://dead.example/", Place("a.md", 7, 1)), Verdict.DEAD, "410 Gone", archived="https://arch.ive/1"
    ),
    Checked(
        link("https://unknown.example/", Place("-", 8)), Verdict.UNKNOWN, "timeout", evidence=Evidence(phase="connect")
    ),
    Checked(link("mailto:a@b.example", Place("a.md", 9, 1)), Verdict.SKIPPED, "not a web address"),
    Checked(
        link("https://soft.example/"),
        Verdict.OK,
        findings=(LinkFinding(Remark.SOFT_404, "looks like the page for missing pages"),),
    ),
    Checked(link(HOSTILE, Place(HOSTILE_FILE, 1, 1)), Verdict.DEAD, HOSTILE),
]


def report_text(name: str, results: list[Checked] | None = None, context: ReportContext = CONTEXT) -> str:
    out = io.StringIO()
    report, summary = open_report(name, out, context), Summary()
    for checked in RESULTS if results is None else results:
        report.add(checked)
        summary.add(checked)
    report.close(summary)
    return out.getvalue()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_lists_problems_without_control_characters(name: str) -> None:
    text = report_text(name)
    for host in ("moved", "changed", "blocked", "slow", "failing", "dead", "unknown", "soft"):
        assert f"https://{host}.example/" in text
    assert "\x1b" not in text
    assert "\u202e" not in text or name in ("json", "jsonl")
    text.encode("utf-8")  # for any file name


@pytest.mark.parametrize("name", FORMATS)
def test_report_without_links_is_complete(name: str) -> None:
    text = report_text(name, [])
    match name:
        case "json" | "sarif":
            json.loads(text)
        case "junit" | "html":
            assert text.rstrip().endswith(("</testsuites>", "</html>"))
        case "jsonl":
            assert text == ""
        case _:
            assert "nothing to check" in text


@pytest.mark.req("DB-09")
def test_table_is_grouped_by_file_and_line() -> None:
    lines = report_text("table").splitlines()
    assert lines.index("a.md") < next(n for n, line in enumerate(lines) if "6:1" in line)
    assert [line.split()[0] for line in lines if line.startswith("  ") and "https://" in line and line[8].isdigit()][-1]
    assert any("failing (2 of 3)" in line for line in lines)
    assert not any("ok.example" in line for line in lines)
    assert lines[-1].startswith("11 links: 1 ok, 1 moved, 1 changed, 1 blocked, 1 rate-limited, 1 failing, 2 dead")


def test_reason_is_not_repeated() -> None:
    missing = LinkFinding(Remark.FRAGMENT_MISSING, "a.md has no anchor 'x'")
    anchor = Checked(link("a.md", Place("a.md", 1, 1)), Verdict.FAILING, missing.text, findings=(missing,))
    moved = RESULTS[1]._replace(reason="It redirects permanently.")
    text = report_text("table", [anchor, moved])
    assert text.count("has no anchor") == 1
    assert "It redirects" not in text
    assert "moved permanently to" in text


def test_verbose_lists_all_links_and_colors_are_optional() -> None:
    assert "ok.example" in report_text("table", context=CONTEXT._replace(verbose=True))
    assert "\x1b[31m" in report_text("table", RESULTS[5:6], CONTEXT._replace(color=True))


def test_json_lines_have_all_fields() -> None:
    objects = [json.loads(line) for line in report_text("jsonl").splitlines()]
    assert [each["verdict"] for each in objects] == [checked.verdict.value for checked in RESULTS]
    moved = objects[1]
    assert moved["moved"] == RESULTS[1].move._asdict()  # type: ignore[union-attr]
    assert moved["evidence"]["chain"] == [{"url": "https://moved.example/a/b", "status": 301}]
    assert moved["places"][1] == {"file": "b.md", "line": 9, "column": 1}
    assert len({tuple(each) for each in objects}) == 1  # the same keys in each
    assert objects[-1]["url"] == HOSTILE.replace("\ud800", "\ufffd")


def test_json_report_has_counts() -> None:
    document = json.loads(report_text("json"))
    assert len(document["results"]) == document["summary"]["links"] == len(RESULTS)
    assert document["summary"]["verdicts"]["dead"] == 2
    assert document["spaniel"] == {"version": "1.2.3", "started": STARTED}


def test_junit_is_valid_for_another_reader() -> None:
    suites = JUnitXml.fromstring(report_text("junit").encode())
    cases = [case for suite in suites for case in suite]
    assert len(cases) == suites.tests == len(RESULTS) + 1  # one link has two places
    assert suites.failures == sum(
        len(case.result) == 1 and "Failure" in type(case.result[0]).__name__ for case in cases
    )
    assert suites.failures == 4
    assert suites.skipped == 5
    named = {case.name: case for case in cases}
    assert named["https://failing.example/ (a.md:6:1)"].result[0].message == "failing (2 of 3)"
    assert "404 Not Found" in named["https://failing.example/ (a.md:6:1)"].result[0].text


def test_markdown_report_escapes_untrusted_text() -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(report_text("markdown"))
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(report_text("markdown"))
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("<a ") == 0
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == 9 + 8  # links that need attention, and a header for each table
    assert "failing (2 of 3)" in html


def test_sarif_conforms_to_its_schema() -> None:
    text = report_text("sarif")
    run = Sarif.model_validate_json(text).runs[0]
    assert run.results is not None
    assert run.tool.driver.rules is not None
    assert all(result.rule_id == run.tool.driver.rules[result.rule_index or 0].id for result in run.results)
    raw = json.loads(text)["runs"][0]
    failing = next(result for result in raw["results"] if result["ruleId"] == "failing")
    assert failing["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a.md", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 6, "startColumn": 1},
    }
    assert {result["ruleId"]: result["level"] for result in raw["results"]} == {
        "moved": "note", "changed": "error", "blocked": "warning", "rate-limited": "warning", "failing": "error",
        "dead": "error", "unknown": "warning", "soft-404": "warning",
    }  # fmt: skip
    assert len({result["partialFingerprints"]["link/v1"] for result in raw["results"]}) == len(raw["results"])
    for result in raw["results"]:
        physical = result["locations"][0].get("physicalLocation")
        assert physical is None or physical["artifactLocation"]["uri"].isascii()


def test_github_annotations_escape_line_ends() -> None:
    lines = report_text("github").splitlines()
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)
    assert len(lines) == 11  # ten places that need attention, and the counts
    assert (
        "::error file=a.md,line=6,col=1,title=Link failing (2 of 3)::https://failing.example/: 404 Not Found" in lines
    )
    hostile = next(line for line in lines if "script" in line)
    assert "%2Cb%3Ac%25%0D%0A" in hostile


def test_html_report_runs_own_script_and_links_web_urls_only() -> None:
    page = report_text("html", [*RESULTS, Checked(link("javascript:alert(1)"), Verdict.SKIPPED, "not a web address")])
    assert page.count("<script>") == 1
    assert "alert(1)</script>" not in page
    assert 'href="javascript' not in page
    assert "default-src 'none'" in page


def test_html_report_shows_the_history_of_each_link() -> None:
    past = [
        ("2026-11-01T00:00:00Z", "ok"),
        ("2026-11-08T00:00:00Z", "failing"),
        ("2026-11-09T00:00:00Z", "of a later version"),
    ]
    page = report_text("html", RESULTS[5:6], CONTEXT._replace(history=lambda _: past))
    assert page.count("<i class=") == 3
    assert '<i class="bad" title="2026-11-08T00:00:00Z failing">' in page


@pytest.mark.req("DB-09")
@pytest.mark.parametrize(
    ("verdicts", "fail_on", "code"),
    [
        ("ok moved skipped", "", 0),
        ("ok blocked", "", 3),
        ("ok unknown rate-limited", "", 3),
        ("unknown failing", "", 1),
        ("dead", "", 1),
        ("changed", "", 1),
        ("", "", 0),
        ("moved", "moved", 1),
        ("dead unknown", "moved,changed", 0),
        ("dead", "none", 0),
        ("unknown", "unknown", 1),
    ],
)
def test_exit_code_follows_from_verdicts(verdicts: str, fail_on: str, code: int) -> None:
    summary = Summary()
    for verdict in verdicts.split():
        summary.add(Checked(link("https://example.com/"), Verdict(verdict)))
    assert summary.exit_code(read_fail_on([fail_on])) == code


def test_fail_on_accepts_findings_and_refuses_unknown_names() -> None:
    summary = Summary()
    summary.add(RESULTS[9])
    assert summary.exit_code() == 0
    assert summary.exit_code(read_fail_on(["dead", "soft-404"])) == 1
    with pytest.raises(SpanielError, match="'broken' is neither"):
        read_fail_on(["dead,broken"])


def test_interrupted_run_has_exit_code_3() -> None:
    summary = Summary()
    summary.interrupted = True
    assert summary.exit_code() == 3
    out = io.StringIO()
    open_report("table", out, CONTEXT).close(summary)
    assert "interrupted" in out.getvalue()


def test_known_failures_are_reported_and_do_not_fail(tmp_path: Path) -> None:
    path = str(tmp_path / "known.json")
    assert write_baseline(path, RESULTS) == 4
    baseline = Baseline.read(path)
    summary = Summary()
    for checked in RESULTS:
        summary.add(checked, known=baseline.covers_all(checked))
    assert (summary.known, summary.exit_code()) == (4, 3)  # some could still not be checked
    elsewhere = RESULTS[5]._replace(link=link("https://failing.example/", Place("new.md", 1, 1)))
    assert not baseline.covers_all(elsewhere)
    again = RESULTS[5]._replace(verdict=Verdict.OK)
    baseline.saw(again)
    assert baseline.fixed == [("a.md", "https://failing.example/")]
    assert not baseline.covers_all(again)
    context = CONTEXT._replace(is_known=baseline.covers)
    assert "failing (2 of 3) (known)" in report_text("table", context=context)
    assert "::notice file=a.md,line=6" in report_text("github", context=context)
    assert JUnitXml.fromstring(report_text("junit", context=context).encode()).failures == 0


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": 2, "known": []}', '{"version": 1, "known": [1]}', "[" * 100_000]
)
def test_invalid_baseline_is_refused_with_a_hint(tmp_path: Path, content: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(content)
    with pytest.raises(SpanielError, match="--write-baseline"):
        Baseline.read(str(path))


@pytest.mark.parametrize("known", [None, False, True], ids=["no baseline", "new", "known"])
@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_reports_every_finding_and_verdict(name: str, verdict: Verdict, known: bool | None) -> None:
    context = CONTEXT._replace(verbose=True, is_known=None if known is None else lambda *_: bool(known))
    for fail_on in (None, frozenset[str](), frozenset(remark.value for remark in Remark)):
        results = [
            Checked(
                link(f"https://{remark.value}.example/", Place("a.md", 1, 1)),
                verdict,
                findings=(LinkFinding(remark, "why"),),
            )
            for remark in Remark
        ]
        text = report_text(name, results, context._replace(fail_on=fail_on))
        for remark in Remark:
            assert f"{remark.value}.example" in text
        if name == "sarif":
            run = Sarif.model_validate_json(text).runs[0]
            rules = [rule.id for rule in run.tool.driver.rules or []]
            assert rules == [*(each.value for each in Verdict), *(each.value for each in Remark)]
            assert {each.rule_id for each in run.results or []} <= set(rules)

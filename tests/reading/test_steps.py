"""Optional steps of reading: where one fails, the page is read without it, with a note and a line in the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import spaniel
from spaniel.pipeline.reading_process import LENGTHS, fields, understood
from spaniel.reading import content
from spaniel.reading.formats import html
from spaniel.reading.markdown import writer
from spaniel.reading.metadata import head
from spaniel.reading.steps import OptionalSteps
from tests.reading.mutants_of_pages import mutants

GOLDEN = Path(__file__).parent / "golden"
PAGES = [page.read_bytes() for page in sorted(GOLDEN.glob("*.html"))]
TEXT = "The gate at the end of the garden has been open since Tuesday, and two of the goats are in the orchard again. "
PAGE = (
    "<title>Goats</title><meta name=author content=Ada><main><h1>Goats</h1>"
    + f"<p>{TEXT * 2}</p>" * 4
    + "<p>So <math><mi>k</mi></math> it is.</p><table><tr><th>a<th>b<tr><td>1<td>2</table></main>"
)
STEPS = {
    "math": (html, "mark_formulas"),
    "images": (html, "fill_from_noscript"),
    "reviews": (content, "drop_doubtful_reviews"),
    "threads": (content, "PostThread"),
    "facts": (content, "find_product_facts"),
    "headings": (content, "drop_empty_headings"),
    "echoes": (content, "drop_duplicates"),
    "tables": (writer, "prepare_tables"),
    "code": (writer, "prepare_code"),
    "metadata": (head, "page_title"),
}


def fail(*_given: object, **_named: object) -> None:
    raise LookupError("secret words of the page")


@pytest.mark.req("D2-41")
@pytest.mark.parametrize("step", STEPS)
def test_page_is_read_without_a_step_that_fails(
    step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert spaniel.extract(PAGE).notes == ()
    monkeypatch.setattr(*STEPS[step], fail)
    with caplog.at_level(logging.WARNING, "spaniel"):
        document = spaniel.extract(PAGE, url="https://example.org/goats?token=t0ps3cret")
    assert document.markdown.count(TEXT.strip()) == 8
    assert document.notes == ("reading_step_failed",)
    (line,) = [record for record in caplog.records if record.getMessage() == "reading_step_failed"]
    fields = line.__dict__["fields"]
    assert (fields["step"], fields["error"].split()[0]) == (step, "LookupError")
    assert fields["url"].startswith("https://example.org/goats")
    assert "secret" not in str(fields)
    assert "t0ps3cret" not in str(fields)


@pytest.mark.req("D2-41")
def test_step_that_fails_halfway_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop_all(_out: object, keep: list[bool]) -> None:
        keep[:] = [False] * len(keep)
        fail()

    monkeypatch.setattr(content, "drop_duplicates", drop_all)
    assert spaniel.extract(PAGE).markdown.count(TEXT.strip()) == 8


@pytest.mark.req("D2-41")
def test_failures_come_back_from_the_process_that_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "PostThread", fail)
    document = spaniel.extract(PAGE)
    message = fields(document)
    size, _ = LENGTHS.unpack(message[: LENGTHS.size])
    head, body = message[LENGTHS.size : LENGTHS.size + size], message[LENGTHS.size + size :]
    assert understood(json.loads(head), body) == document
    assert len(document.failures) == 1


@pytest.mark.req("D2-41")
def test_essential_step_that_fails_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "clean", fail)
    with pytest.raises(spaniel.SpanielError, match="LookupError") as raised:
        spaniel.extract(PAGE)
    assert raised.value.code == "extraction_failed"


@pytest.mark.req("D2-41")
@pytest.mark.parametrize("given", [{"content_type": 5}, {"url": 5}, {"html": 5}])
def test_wrong_type_of_argument_is_bad_args(given: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"html": b"<p>x", **given}
    with pytest.raises(spaniel.SpanielError) as raised:
        spaniel.extract(**arguments)
    assert raised.value.code == "bad_args"


def test_memory_error_is_no_failed_step() -> None:
    def exhaust() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        OptionalSteps().run("tables", exhaust, None)


@pytest.mark.req("D2-41")
@pytest.mark.parametrize(
    "page",
    [
        '<body class="topic"><span class="bbp-author-name">M</span><div class="bbp-reply-content"><p>Hi</p></div>',
        '<body class="topic"><div class=bbp-author-name>Ann</div><div class=bbp-topic-content>Hi there</div>',
        # The element with a post's date is also the one with another post's text.
        "<table class=list><tr class=even><td class=last-poster><summary class=published datetime=2013-05-03>2013-05-03 "
        "03:27 Hi<tr class=even><td class=topic><table><td class=last-poster><time class=published datetime=2012-10-22>"
        "2012-10-22 18:59",
    ],
)
def test_page_that_is_its_own_post_is_read(page: str) -> None:
    document = spaniel.extract(page)
    assert document.failures == ()
    assert "Hi" in document.markdown


@pytest.mark.req("D2-41")
def test_mutated_pages_raise_nowhere_not_even_inside_a_step() -> None:
    """The long form is in tests/torture/test_reading.py."""
    failed = {
        failure: page
        for page in mutants(PAGES, 600, seed=1)
        for failure in spaniel.extract(page, url="https://example.org/forum/goats").failures
    }
    assert failed == {}

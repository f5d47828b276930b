"""Which links are excluded, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import link_filter, read_ignore_file, sort_mentions
from spaniel.health.links import Link, Place
from spaniel.verdicts import Verdict
from tests.health.gathered import to_links


def mention(url: str, line: int = 1, base: str = "") -> Mention:
    return Mention(url, Place("a.md", line, 1), 0, len(url), "markdown", base)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mailto:a@b.org", "'mailto:'"),
        ("tel:+1", "'tel:'"),
        ("javascript:void(0)", "'javascript:'"),
        ("https://example.com/x", "example"),
        ("https://www.example.org", "example"),
        ("https://a.test/", "example"),
        ("http://localhost:8000/", "private network"),
        ("http://127.0.0.1/", "private network"),
        ("http://[::1]/", "private network"),
        ("http://192.168.1.1/x", "private network"),
        ("http://intranet/x", "private network"),
        ("https://one.org/{{ page }}", "placeholder"),
        ("https://one.org/${x}", "placeholder"),
        ("http://www.w3.org/2000/svg", "vocabulary"),
        ("https://one.org/", ""),
        ("https://myexample.com/", ""),
        ("https://example.company.org/", ""),
        ("http://8.8.8.8/", ""),
        ("other.md", ""),
    ],
)
def test_unsupported_link_is_skipped_with_a_reason(url: str, reason: str) -> None:
    found = link_filter().reason(url)
    assert reason in found
    assert bool(found) == bool(reason)


def test_exclude_matches_anywhere_and_include_overrides_it() -> None:
    chosen = link_filter([r"one\.org/private", r"^https://two\."], [r"/public$"])
    assert chosen.reason("https://one.org/private/x") == r"excluded by one\.org/private"
    assert chosen.reason("https://one.org/private/public") == ""
    assert chosen.reason("https://two.org/") == r"excluded by ^https://two\."
    assert chosen.reason("https://three.org/https://two.") == ""
    assert link_filter(include=["example"]).reason("https://example.com/") == ""
    assert link_filter(include=["x"]).reason("https://one.org/") == "not included"


def test_expression_with_exponential_backtracking_is_matched_quickly() -> None:
    """Python's engine would never finish."""
    assert link_filter([r"^(a+)+$"]).reason("https://one.org/" + "a" * 50_000 + "b") == ""
    assert link_filter([r"(a|aa)+x"]).reason("https://one.org/" + "a" * 50_000 + "x") != ""


@pytest.mark.parametrize("expression", ["(", r"(?=a)", r"(a)\1", "a" * 20_000])
def test_invalid_expression_is_refused(expression: str) -> None:
    with pytest.raises(SpanielError, match="expression"):
        link_filter([expression])


def test_lycheeignore_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / ".lycheeignore"
    assert read_ignore_file(str(path)) == ()
    path.write_bytes(b"\xef\xbb\xbf# comment\r\n\r\n^https://one\\.org/\r\n  two  \r\n")
    assert [expression for expression, _ in read_ignore_file(str(path))] == [r"^https://one\.org/", "two"]
    path.write_text("ok\n(\n")
    with pytest.raises(SpanielError, match=r"\.lycheeignore, line 2"):
        read_ignore_file(str(path))
    path.write_bytes(b"x" * (1 << 21))
    with pytest.raises(SpanielError, match="more than"):
        read_ignore_file(str(path))
    path.unlink()
    os.mkfifo(path)  # a pipe without a writer
    with pytest.raises(SpanielError, match="not a regular file"):
        read_ignore_file(str(path))


def test_url_in_many_places_is_one_link() -> None:
    found = to_links(
        [
            mention("https://One.org/a#x", 1),
            mention("https://one.org/a", 2),
            mention("https://one.org:443/a#y", 3),
            mention("https://one.org/a#x", 4),
            mention("https://one.org/b#:~:text=some", 5),
            mention("local.md", 6),
            mention("mailto:a@b", 7),
            mention("https://one .org/", 8),
        ]
    )
    fragments = {1: "x", 3: "y", 4: "x"}
    places = [
        tuple(Place("a.md", line, 1, fragments.get(line, "")) for line in lines) for lines in ((1, 2, 3, 4), (5,), (8,))
    ]
    assert found == [
        Link("https://one.org/a", ("x", "y"), places[0]),
        Link("https://one.org/b", (), places[1]),
        Link("https://one .org/", (), places[2]),
    ]


def test_relative_links_use_base_of_document_then_option() -> None:
    relative = [mention("x/y"), mention("/z", base="https://two.org/b/"), mention("?q", base="rel/")]
    assert [one.url for one in to_links(relative)] == ["https://two.org/z"]
    urls = [one.url for one in to_links(relative, "https://one.org/d/")]
    assert urls == ["https://one.org/d/x/y", "https://two.org/z", "https://one.org/d/?q"]


def test_mentions_are_sorted_into_web_local_and_skipped() -> None:
    urls = ["https://one.org/", "a.md#x", "#y", "mailto:a@b", "mailto:a@b", "//cdn.org/x", "//"]
    found = sort_mentions([mention(url, line) for line, url in enumerate(urls)], link_filter())
    assert [one.url for one in found.web] == ["https://one.org/", "https://cdn.org/x"]
    assert [one.url for one in found.local] == ["a.md#x", "#y"]
    assert [(one.link.url, one.verdict, len(one.link.places)) for one in found.skipped] == [
        ("mailto:a@b", Verdict.SKIPPED, 2),
        ("//", Verdict.SKIPPED, 1),
    ]

"""Links in HTML, reStructuredText, data files, notebooks, sitemaps and text are found at their places."""

from __future__ import annotations

import pytest

from spaniel.errors import SpanielError
from spaniel.health.documents.kinds import kind_of, mentions
from tests.health.documents.cases_other import KINDS
from tests.health.documents.test_markdown import check


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, cases in KINDS.items() for name in cases])
def test_every_link_is_found_at_its_place(kind: str, name: str) -> None:
    check(KINDS[kind][name], kind)
    if kind not in ("notebook", "json"):
        check(KINDS[kind][name].replace("\r\n", "\n").replace("\n", "\r\n"), kind)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.json", '{"url": "https://one.org/y", "x": ["https://no.org/"], "in": {"url": ["https://one.org/z"]}}'),
        ("a.yaml", "url: https://one.org/y\nx: [https://no.org/]\nin:\n  url:\n  - https://one.org/z\n"),
        ("a.csv", "x,url\nhttps://no.org/,https://one.org/y\nhttps://no.org/,https://one.org/z\n"),
    ],
)
def test_field_option_limits_the_links_of_data(file: str, text: str) -> None:
    assert [one.url for one in mentions(text, file, fields=("url",))] == ["https://one.org/y", "https://one.org/z"]
    assert len(list(mentions(text, file))) > 2


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.json", '{"x": {"url": 1}, "y": ["https://no.org/"], "url": [["https://one.org/a"], "https://one.org/b"], "z": "https://no.org/"}'),
        ("a.json", '{"url": [{"x": "https://no.org/"}, "https://one.org/a"], "y": ["https://no.org/", {"url": "https://one.org/b"}, "https://no.org/"]}'),
        ("a.json", '{"url": "https://one.org/a"}\n"https://no.org/"\n{"url": {"url": "https://one.org/b"}}\n"https://no.org/"'),
        ("a.json", ']}{"x": [], "url": "https://one.org/a"}]{"u": "https://no.org/", "url": "https://one.org/b"}'),
        ("a.yaml", "x:\n  url: https://one.org/a\n  b: [c]\ny:\n- https://no.org/\nurl: [[https://one.org/b]]\nz: {a: https://no.org/}\n"),
        ("a.yaml", "url:\n- x: https://no.org/\n- https://one.org/a\ny:\n- https://no.org/\n- url: https://one.org/b\n- https://no.org/\n"),
        ("a.yaml", "url: https://one.org/a\n--- https://no.org/\n---\n? [url]\n: https://no.org/\nurl: https://one.org/b\n"),
        ("a.yaml", "x: &a https://no.org/\nurl:\n  - *a\n  - https://one.org/a\nb: *a\n? url\n: https://one.org/b\n"),
    ],
)  # fmt: skip
def test_field_covers_its_value_and_nothing_after_it(file: str, text: str) -> None:
    assert [one.url for one in mentions(text, file, fields=("url",))] == ["https://one.org/a", "https://one.org/b"]


@pytest.mark.parametrize(
    ("written", "url", "syntax"),
    [
        ("https://one.org/a", "https://one.org/a", "yaml"), ("'https://one.org/c''d'", "https://one.org/c'd", "yaml-single"),
        ('"https://one.org/\\u00fc"', "https://one.org/ü", "json"), ("see https://one.org/a.", "https://one.org/a", "bare"),
        ("'see https://one.org/a'", "https://one.org/a", "bare"), ("|\n  https://one.org/a", "https://one.org/a", "bare"),
    ],
)  # fmt: skip
def test_yaml_value_is_unquoted_by_its_style(written: str, url: str, syntax: str) -> None:
    [found] = mentions(f"a: {written}\n", "a.yaml")
    assert (found.url, found.syntax) == (url, syntax)


def test_bare_url_in_quoted_csv_cell_has_nested_syntax() -> None:
    [found] = mentions('a\n"see ""https://one.org/a"""\n', "a.csv")
    assert found.syntax == "csv-quoted>bare"


@pytest.mark.parametrize(
    ("value", "is_yaml"),
    [
        ("[" * 64 + "]" * 64, True), ("[" * 65 + "]" * 65, False), ("{a: " * 64 + "}" * 64, True), ("{a: " * 65 + "}" * 65, False),
        ("[" + "[1], " * 99 + "]", True), ("[[1], " + "[" * 64 + "]" * 64 + "]", False), ("']'", True), ("']" + "[" * 65 + "'", False),
        ("']" + "]" * 65 + "'", True),
    ],
)  # fmt: skip
def test_too_deeply_nested_yaml_is_read_as_text(value: str, is_yaml: bool) -> None:
    text = f"a: [1]\nb: {value} # https://one.org/comment\n"
    assert len(list(mentions(text, "a.yaml"))) == (0 if is_yaml else 1)


def test_links_of_a_page_have_its_base() -> None:
    page = '<a href="x"><base href="https://one.org/b/"><base href="no"><a href="y">'
    assert [(one.url, one.base) for one in mentions(page, "a.html")] == [
        ("x", "https://one.org/b/"),
        ("y", "https://one.org/b/"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.MD", "", "markdown"),
        ("a.htm", "", "html"),
        ("a.mdx", "", "mdx"),
        ("a.ipynb", "", "notebook"),
        ("a.docx", "# T\n", "markdown"),
        ("x", "text\n\n# T", "markdown"),
        ("x", "text\n\n   [a]: b", "markdown"),
        ("x", "a" * 4094 + "](", "markdown"),
        ("x", "a" * 4095 + "](", "text"),
        ("x", "<html lang=en>", "html"),
        ("x", '<urlset xmlns="x">', "sitemap"),
        ("x", "<feed>", "feed"),
        ("README", "# T\n[a](b)", "markdown"),
        ("x", "<!DOCTYPE html><p>", "html"),
        ("x", ' {"a": 1}', "json"),
        ("x", '{"cells": [], "nbformat": 4}', "notebook"),
        ("x", "<?xml version='1.0'?><urlset>", "sitemap"),
        ("x", "<?xml version='1.0'?><HTML lang=en>", "html"),
        ("x", '{"cell_type": 1}', "notebook"),
        ("x", '[{"a": 1}]', "json"),
        ("x", "[a] b", "text"),
        ("LICENSE", "See https://one.org/", "text"),
        ("", "", "text"),
    ],
)
def test_kind_is_recognized_by_name_or_content(name: str, text: str, kind: str) -> None:
    assert kind_of(name, text) == kind


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(SpanielError, match=r"kind of document.*'docx' is not one of"):
        list(mentions("", "x", "docx"))

"""Headings of which everything below was dropped."""

from __future__ import annotations

import pytest
from turbohtml import parse

from spaniel.reading.content import drop_empty_headings
from spaniel.reading.judge.blocks import segment

GONE = "gone with some words"


def left(html: str) -> str:
    """The blocks that stay, if all that begin with "gone" were dropped before."""
    body = parse(f"<body>{html}</body>", positions=False).select_one("body")
    assert body is not None
    out = segment(body)
    texts = [block.text for block in out.blocks]
    keep = [not text.startswith("gone") for text in texts]
    drop_empty_headings(out, [float(len(text.split())) for text in texts], keep)
    return " ".join(text for text, kept in zip(texts, keep, strict=True) if kept)


@pytest.mark.req("FG-16")
@pytest.mark.parametrize("tag", ["h2", "h3", "h6"])
def test_a_heading_goes_with_all_that_stood_below_it(tag: str) -> None:
    assert left(f"<p>text</p><{tag}>Related</{tag}><p>{GONE}</p>") == "text"
    assert left(f"<{tag}>Related</{tag}><p>{GONE}</p><{tag}>Next</{tag}><p>text</p>") == "Next text"


@pytest.mark.parametrize(
    ("html", "stays"),
    [
        (f"<h2>One</h2><p>{GONE}</p><p>text</p>", "One text"),
        (f"<h2>One</h2><h3>Two</h3><p>text</p><p>{GONE}</p>", "One Two text"),
        (f"<h2><a href=x>One</a></h2><p>{GONE}</p>", "One"),
        (f"<h1>One</h1><p>{GONE}</p>", "One"),
        ("<h2>One</h2><img src=x alt=y><h2>Two</h2><p>text</p>", "One Two text"),
        (f"<p>One</p><p>{GONE}</p>", "One"),
    ],
)
def test_control_other_headings_stay(html: str, stays: str) -> None:
    assert left(html) == stays


def test_a_heading_over_such_headings_goes_too() -> None:
    assert left(f"<p>text</p><h2>One</h2><h3>Two</h3><p>{GONE}</p><h3>Three</h3><p>{GONE}</p>") == "text"

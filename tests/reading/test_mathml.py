"""MathML without TeX: what a formula may not do to its page."""

from __future__ import annotations

import pytest

from spaniel.reading import extract
from spaniel.reading.html import math

POWER = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"


def test_a_formula_that_never_ends_does_not_swallow_the_page() -> None:
    text = "<p>The council met on Monday and spoke about the bridge.</p>" * 20
    markdown = extract(f"<h1>A bridge</h1><math><mtext>{text}").markdown
    assert markdown.count("spoke about the bridge.\n") == 20
    assert "$" not in markdown


@pytest.mark.parametrize("tag", ["msup", "mfrac", "mtable", "mroot", "mmultiscripts", "mfenced", "mover", "munder"])
def test_a_part_that_lacks_its_children_keeps_its_text(tag: str) -> None:
    for inner in ("", "<mi>a</mi>", "<mi>a</mi><mi>b</mi><mi>c</mi><mi>d</mi>"):
        markdown = extract(f"<p>one <math><mi>z</mi><{tag}>{inner}</{tag}></math></p>").markdown
        assert [c for c in "abcd" if f"<mi>{c}" in inner] == sorted(set("abcd").intersection(_letters(markdown)))


def _letters(markdown: str) -> list[str]:
    """Those of the formula that are no part of a command."""
    formula = markdown.partition("$")[2]
    for command in ("frac", "begin", "matrix", "end", "sqrt", "overset", "underset"):
        formula = formula.replace(command, "")
    return list(formula)


def test_what_is_too_deep_keeps_its_text() -> None:
    depth = 3 * math.MAX_DEPTH
    markdown = extract("<p><math>" + "<msqrt><mi>a</mi>" * depth + "<mi>z</mi>").markdown
    assert markdown.count("a") == depth
    assert "z" in markdown
    assert 0 < markdown.count("sqrt") <= math.MAX_DEPTH


def test_only_so_many_nodes_of_a_page_are_written_as_tex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.reading.html.math.MAX_NODES", 8)
    assert extract(f"<p>{POWER}</p><p>{POWER}</p><p>{POWER}</p>").markdown == "$x^2$\n\n$x^2$\n\nx2\n"


@pytest.mark.parametrize("text", ["$", "`", "](http://e.x)", "<script>", "$$ <b>", "\\"])
def test_nothing_in_a_formula_is_read_as_markdown_or_html(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    shown = text.replace("<", "&lt;")
    markdown = extract(f"<p>one <math><mi>{shown}</mi><mtext>a{shown}</mtext><mo>{shown}</mo></math> two</p>").markdown
    [_, inline, _] = markdown_it.MarkdownIt("commonmark").parse(markdown)
    assert {child.type for child in inline.children} == {"text"}

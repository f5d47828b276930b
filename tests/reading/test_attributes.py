"""No attribute may cost a page more than itself: whatever its value, the rest of the page is read."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spaniel.reading import extract
from tests.reading.family import ELEMENTS

URL = "https://example.org/dir/page.html"
NAMES = (
    "href src srcset data-src data-original data-lazy-src data-srcset alt title class id style hidden role lang dir name content property "
    "itemprop rel datetime type colspan rowspan span start value align width cite action data poster background longdesc usemap codebase "
    "ping archive formaction aria-hidden aria-controls data-target data-bs-target data-lang data-language encoding alttext display open "
    "shadowrootmode slot http-equiv charset media sizes xlink:href xml:base onclick is for headers scope reversed"
).split()
VALUES = (
    "//[foo", "http://[", "https://[::1", "//[", "http://]", "//e.x:99999999", "http://e.x:port/", "//\u2100/", "http://\ud800", "http://a\u2488com/",
    "", " ", "\t", "\n", "\0", "#", "?", "/", "//", "///", ":", "http:", "https://", "javascript:", "data:", "mailto:", "\\\\e.x", "%", "%zz", "%00",
    "x" * 70_000, "/" * 3000, "a " * 3000, ",", ", ,", " ,x 2w", "1e999", "-1", "9" * 5000, "\u0663", "²", "NaN", "display:none", "width:calc(", ";:;",
    "opacity:1e999", "left:-\u0661px", "application/ld+json", "math/tex; mode=display", "application/x-tex", "katex-display math MathJax", "highlight language-",
    "highlighttable", "presentation", "navigation", "tabpanel", "until-found", "true", "2024-99-99", "0000-00-00T", "\u202e\u2028\uffff", "]](", "`\"'<>", "refresh",
)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ANY_VALUE = st.one_of(st.sampled_from(VALUES), TEXTS, st.tuples(st.sampled_from(VALUES), TEXTS).map("".join))
ATTRIBUTES = st.dictionaries(st.sampled_from(NAMES), ANY_VALUE, min_size=1, max_size=4)


def tag(name: str, attributes: dict[str, str]) -> str:
    given = "".join(f' {key}="{escape(value, quote=True)}"' for key, value in attributes.items())
    return f"<{name}{given}>"


@pytest.mark.req("FR-WF-13", "FR-WF-13d")
@given(st.sampled_from(ELEMENTS), ATTRIBUTES, st.sampled_from([URL, None]), st.booleans())
@example("a", {"href": "//[foo"}, URL, False)
@example("img", {"src": "//[foo", "alt": "x"}, URL, False)
@example("img", {"data-src": "//[foo", "alt": "x"}, URL, False)
@example("img", {"srcset": " , 2x", "alt": "x"}, URL, False)
@example("base", {"href": "//["}, URL, True)
@example("link", {"rel": "canonical", "href": "//["}, URL, True)
@example("td", {"colspan": "²"}, URL, True)
@example("ol", {"start": "9" * 5000}, URL, True)
def test_whatever_an_attribute_says_the_rest_of_the_page_is_read(
    element: str, attributes: dict[str, str], url: str | None, inside: bool
) -> None:
    opening = tag(element, attributes)
    middle = (
        f"<table><tr><td>cell{opening}inner</{element}></td></tr></table>" if inside else f"{opening}inner</{element}>"
    )
    page = f"<p>before it</p>{middle}<p>after it</p><p>A <a href='x'>link</a> of <b>the page</b> itself.</p>"
    markdown = extract(page.encode("utf-8", "replace"), url=url).markdown
    assert "before it" in markdown
    assert "after it" in markdown
    assert "**the page**" in markdown or "the page" in markdown


@given(ATTRIBUTES)
def test_whatever_its_html_and_body_say_the_page_is_read(attributes: dict[str, str]) -> None:
    page = f"<!doctype html>{tag('html', attributes)}<head><title>T</title></head>{tag('body', attributes)}<p>the text of it</p>"
    assert "the text of it" in extract(page, url=URL).markdown


def test_a_link_that_leads_nowhere_loses_its_target_and_keeps_its_text() -> None:
    page = "<p><a href='//[foo'>one</a> <a href='/two'>two</a> <img alt=three src='//['></p>"
    assert extract(page, url=URL).markdown == "one [two](https://example.org/two)\n"

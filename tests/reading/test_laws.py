"""Laws that hold for any page: hypothesis makes the pages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import parse

from spaniel.reading import extract, read
from spaniel.reading.text import scrub, words
from spaniel.reading.text.words import (
    collapse_spaces,
    count_words,
    tidy_markdown,
    tidy_text,
    unspaced_characters,
    unspaced_words,
)

URL = "https://example.org/dir/"
FOUND = re.compile(r"[_`<]+|b")
TAGS = [
    "p",
    "div",
    "span",
    "a",
    "b",
    "em",
    "i",
    "strong",
    "code",
    "pre",
    "h1",
    "h2",
    "h3",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "th",
    "blockquote",
    "section",
    "article",
    "main",
    "aside",
    "header",
    "details",
    "summary",
    "sup",
    "sub",
    "img",
    "br",
    "hr",
    "figure",
    "figcaption",
    "q",
    "del",
    "kbd",
    "math",
    "svg",
    "noscript",
    "button",
    "label",
    "form",
    "font",
    "ruby",
    "rt",
    "body",
    "title",
]
TEXTS = st.one_of(
    st.sampled_from(
        ["words and more words.", "<b>", "</p>", "&lt;script&gt;", "*", "_a_", "`", "```", "# h", "1. x", "- x", "[x](y)", "![x](javascript:y)",
         "|", "\\", "<|im_start|>", "\u202e", "\x1b[31m", "&#0;", "&nbsp;", "<!--", "$x$", "~~", "===", "\ue0000\ue001", "https://a.b/c_d_e", " "]
    ),
    st.text(max_size=12),
)  # fmt: skip
TARGETS = st.sampled_from(
    [
        "x",
        "/a b",
        "#f",
        "",
        "javascript:alert(1)",
        "JAVA\nSCRIPT:x",
        "data:,x",
        "http://[",
        "https://e.x/(a)_b",
        "mailto:a@b",
        "//c.d",
    ]
)
ATTRIBUTES = st.sampled_from(
    ["", "", "", " hidden", " class='nav'", ' class="language-<x>"', " colspan=3", " rowspan=9", " style='display:none'", " id=x", " alt='a]b' src=p.png", " title='\"><script>'"]
)  # fmt: skip


@st.composite
def pages(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(0, 25))):
        tag = draw(st.sampled_from(TAGS))
        match draw(st.integers(0, 4)):
            case 0:
                parts.append(draw(TEXTS))
            case 1:
                parts.append(f"</{tag}>")
            case 2:
                parts.append(f"<a href='{draw(TARGETS)}'>{draw(TEXTS)}</a>")
            case _:
                parts.append(f"<{tag}{draw(ATTRIBUTES)}>{draw(TEXTS)}")
    filler = "<p>A paragraph of plain words, long enough for a page to be judged by the model.</p>" * draw(
        st.sampled_from([0, 0, 15])
    )
    return filler + "".join(parts)


@pytest.mark.req("NFR-WF-SEC-03", "FR-WF-13a", "FR-WF-13d", "T-WF-EXT-02")
@given(pages())
def test_markdown_has_no_raw_html_and_only_safe_absolute_targets(html: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    page = extract(html, url=URL)
    for token in markdown_it.MarkdownIt("commonmark").enable("table").parse(page.markdown):
        assert token.type != "html_block", page.markdown
        for child in token.children or ():
            assert child.type != "html_inline", page.markdown
            if child.type in ("link_open", "image"):
                target = str(child.attrGet("href") or child.attrGet("src"))
                assert target.startswith(("https://", "http://", "mailto:")), page.markdown


@pytest.mark.req("FR-WF-13b", "T-WF-EXT-03")
@given(pages())
def test_white_space_is_in_order_outside_code(html: str) -> None:
    markdown = extract(html, url=URL).markdown
    assert markdown == "" or (markdown.endswith("\n") and not markdown.endswith("\n\n") and "\r" not in markdown)
    if "```" not in markdown:
        assert "\n\n\n" not in markdown
        assert all(line == line.rstrip() for line in markdown.split("\n"))


@given(pages())
def test_reading_twice_gives_the_same(html: str) -> None:
    assert extract(html, url=URL) == extract(
        html.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"), url=URL
    )


@given(st.binary(max_size=300))
def test_any_bytes_are_read(body: bytes) -> None:
    extract(body, url=URL)


@pytest.mark.req("FR-WF-13b", "FR-WF-13c")
@given(st.text(alphabet="a \t\r\n`~-", max_size=60))
def test_tidying_is_done_once(text: str) -> None:
    once = tidy_text(text)
    assert tidy_text(once) == once
    mended = tidy_markdown(text, lambda line, _before, _next: line)
    assert tidy_markdown(mended, lambda line, _before, _next: line) == mended


@pytest.mark.parametrize(
    "gone",
    ["<ul><li> </li></ul>", "<div><p></p></div>", "<figure><img src=x></figure>", "<p><br><br></p>", "<nav>menu</nav>"],
)
def test_what_is_dropped_leaves_no_blank_lines_behind(gone: str) -> None:
    assert (
        extract(f"<p>one</p>{gone * 3}<p>two</p><pre>a\n\n\n\nb</pre>").markdown
        == "one\n\ntwo\n\n```\na\n\n\n\nb\n```\n"
    )


@given(st.text(alphabet="ab \t\n\u2003\x1c", max_size=80), st.integers(1, 9))
def test_a_long_text_is_taken_apart_as_a_short_one_is(text: str, piece: int) -> None:
    """Long ones are taken apart piece by piece; with small pieces, short ones are too."""
    with pytest.MonkeyPatch.context() as patch:
        whole = tidy_text(text), tidy_markdown(text, lambda line, _before, _next: line)
        patch.setattr(words, "CHUNK", piece)
        patch.setattr(words, "JOINED_AT_ONCE", 3)
        assert (tidy_text(text), tidy_markdown(text, lambda line, _before, _next: line)) == whole
        assert collapse_spaces(text) == " ".join(text.split())
        assert count_words(text) == len(text.split()) + unspaced_words(*unspaced_characters(text))


@given(st.text(alphabet="a_\\`<b>[ ", max_size=60))
def test_a_long_text_is_replaced_in_as_a_short_one_is(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scrub, "LONG_TEXT", 0)
        patch.setattr(scrub, "JOINED_PIECES", 2)
        assert scrub.subn(FOUND, "x", text) == FOUND.subn("x", text)
        assert scrub.subn(FOUND, lambda m: m[0] * 2, text) == FOUND.subn(lambda m: m[0] * 2, text)


@given(st.text(alphabet="ab`~\n<é", max_size=200), st.integers(1, 3))
def test_markdown_that_is_cut_fits_and_leaves_no_fence_open(text: str, lines: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "FENCE_RESERVE", 60)
        markdown = tidy_markdown(f"```\n{text}\n```\n" * lines, lambda line, _before, _next: line)
        cut = words.truncate_markdown(markdown, 120)
        assert len(cut.encode()) <= 120
        after = tidy_markdown(
            f"{cut}\nend  ", lambda line, _before, _next: line
        )  # blanks at the end stay in a fence only
        assert cut == markdown or after.endswith("end\n")


@pytest.mark.req("FR-WF-13b", "FR-WF-13c", "T-WF-EXT-03")
@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("a\n\nb", "a\n\nb\n"),
        ("a\n\n\nb", "a\n\n\nb\n"),  # two blank lines stay
        ("a\n\n\n\nb", "a\n\n\nb\n"),
        ("a\n \n\t\n  \n\n\nb", "a\n\n\nb\n"),
        ("a \t\r\nb\r\n\r\n\r\n\r\nc", "a\nb\n\n\nc\n"),
        ("  a\n\tb", "  a\n\tb\n"),  # what stands before a line is kept
        ("a\n\n\n", "a\n"),
        ("a", "a\n"),
    ],
)
def test_text_keeps_two_blank_lines_and_ends_with_one_newline(text: str, tidied: str) -> None:
    assert read(text.encode(), "text/plain", URL).markdown == tidied


@pytest.mark.req("D2-17", "FR-WF-13b")
def test_inside_a_fence_only_line_ends_change() -> None:
    code = "a  \r\n\r\n\r\n\r\n\tb \r\n"
    assert extract(f"<p>x</p><pre>{code}</pre>").markdown == "x\n\n```\na  \n\n\n\n\tb \n```\n"


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_another_process_with_another_hash_seed_reads_the_same(seed: str) -> None:
    html = "".join(
        f"<div class='c{i % 3} post'><h2>Part {i}</h2><p>{'Words of the part. ' * 9}</p><ul><li>a{i}<li>b</ul></div>"
        for i in range(30)
    )
    code = "import sys, spaniel; sys.stdout.buffer.write(spaniel.extract(sys.stdin.buffer.read(), url='https://e.x/').markdown.encode())"
    out = subprocess.run(
        [sys.executable, "-c", code],
        input=html.encode(),
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": seed},
        timeout=60,
    )
    assert out.stdout.decode() == extract(html, url="https://e.x/").markdown


@pytest.mark.req("D2-18", "FR-WF-13d")
@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("/sub/", "https://example.org/sub/x"),
        ("javascript:alert(1)", "https://example.org/dir/x"),
        ("https://other.example/a/", "https://other.example/a/x"),
    ],
)
def test_a_base_is_honoured_when_it_is_a_web_address(base: str, target: str) -> None:
    assert extract(f"<base href='{base}'><p><a href='x'>x</a></p>", url=URL).markdown == f"[x]({target})\n"


def test_the_parser_alone_would_have_let_a_script_link_through() -> None:
    assert "javascript:" in parse("<a href='javascript:x'>y</a>").to_markdown()

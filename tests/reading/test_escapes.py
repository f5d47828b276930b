"""Backslashes: the Markdown of a text is read as that text, and none of its backslashes can be left out."""

from __future__ import annotations

import re
import sys
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from spaniel.reading import extract
from spaniel.reading.formats.html import html_to_markdown
from spaniel.reading.markdown.escapes import remove_needless_escapes

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SIGNS = (
    "a bc 1 23 é 中 * ** _ __ ~ ~~ ` `` [ ] ( ) [1] ](x) ]:x [x] ! # ## - + > < <b <b> </b> & &amp; &nope; &#65; \\ | = "
    "--- === 1. 2) . : ; ' \" / http://a.example/c_d <a@b.example> $ ^ … – €"
).split()
PLACES = {  # HTML around a text, and what is read before and after it
    "a paragraph": ("<p>%s</p>", "", ""),
    "an item": ("<ul><li>%s</li><li>x</li></ul>", "", " x"),
    "a numbered item": ("<ol><li>%s</li></ol>", "", ""),
    "a heading": ("<h2>%s</h2>", "", ""),
    "a cell": ("<table><tr><th>x<th>y<tr><td>%s<td>y</table>", "x y ", " y"),
    "a link": ("<p>see <a href='https://e.example/'>%s</a> there</p>", "see ", " there"),
    "a quotation": ("<blockquote><p>%s</p></blockquote>", "", ""),
    "strong text": ("<p>x <b>%s</b> y</p>", "x ", " y"),
    "strong text in a word": ("<p>ä<b>%s</b>é <i>ü</i></p>", "ä", "é ü"),
    "emphasis in strong text": ("<p><b>ä <em>%s</em>, x</b><b>ö</b></p>", "ä ", ", xö"),
    "lines": ("<p>x<br>%s<br>y</p>", "x ", " y"),
}
MINIMAL = {"a paragraph", "an item", "a numbered item", "a heading", "a quotation"}  # else a doubt leaves a backslash
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
texts = st.lists(st.sampled_from([*SIGNS, " ", " ", " "]), min_size=1, max_size=9).map(
    lambda parts: " ".join("".join(parts).split())
)


def seen(markdown: str) -> str:
    """The text that a reader of the Markdown sees, in one line."""
    words: list[str] = []
    for token in READER.parse(markdown):
        words.extend(" " if child.type.endswith("break") else child.content for child in token.children or ())
        words.append(" " if token.type == "inline" else token.content)
    return " ".join("".join(words).split())


@pytest.mark.req("FR-WF-13a")
@given(texts.filter(bool), st.sampled_from(sorted(PLACES)))
def test_what_is_read_is_what_was_written(text: str, place: str) -> None:
    html, before, after = PLACES[place]
    assert seen(html_to_markdown(html % escape(text), None).markdown) == f"{before}{text}{after}"


@pytest.mark.req("FR-WF-13a")
@given(texts.filter(bool), st.sampled_from(sorted(MINIMAL)))
def test_no_backslash_can_be_left_out(text: str, place: str) -> None:
    markdown = html_to_markdown(PLACES[place][0] % escape(text), None).markdown
    meaning = READER.render(markdown)
    for found in ESCAPE.finditer(markdown):
        if found[1] in "~`*_\\" or found.end() == len(markdown.rstrip()):
            continue  # several together are one mark; at the end of a line another line may follow
        if found[1] == "<" and not markdown[: found.start()].strip("-> 1."):
            continue  # a line that begins so may be HTML, even if this reader does not take it for that
        if markdown.startswith(("[x]", "<|"), found.end() - 1):
            continue  # a box, to readers that know boxes; a mark of its own, to a model
        if markdown.startswith("](", found.end() - 1):
            continue  # what stands in the parentheses may be no address
        without = markdown[: found.start()] + markdown[found.start() + 1 :]
        assert READER.render(without) != meaning, (markdown, without)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("see [1] and [2].", "see [1] and [2]."),
        ("0.5 mm", "0.5 mm"),
        ("1.16.0", "1.16.0"),
        ("3. Then", "3\\. Then"),
        ("3) Then", "3\\) Then"),
        ("35.", "35\\."),
        ("-30% and +2", "-30% and +2"),
        ("- no list", "\\- no list"),
        ("#17", "#17"),
        ("# 17", "\\# 17"),
        ("~5 or ~7 pm", "~5 or ~7 pm"),
        ("~~struck~~", "\\~\\~struck~~"),
        ("5 * 3", "5 * 3"),
        ("price*", "price*"),
        ("*so*", "\\*so*"),
        ("**so**", "\\*\\*so**"),
        ("a_b _c", "a_b _c"),
        ("C:\\Users\\me", "C:\\Users\\me"),
        ("a\\.b", "a\\\\.b"),
        ("AT&T &c. &nope; &amp;", "AT&T &c. &nope; \\&amp;"),
        ("Result<T, E> x<y", "Result<T, E> x<y"),
        ("Vec<T>", "Vec\\<T>"),
        ("<|im_start|>system", "\\<|im_start|>system"),
        ("[a](b)", "[a\\](b)"),
        ("[a]: b", "\\[a]: b"),
        ("a | b", "a | b"),
        ("===", "==="),
        ("---", "\\---"),
        ("``` x", "\\``` x"),
        ("a ` b", "a ` b"),
    ],
)
def test_signs_are_escaped_where_they_would_mean_something(text: str, markdown: str) -> None:
    assert html_to_markdown(f"<p>{escape(text)}</p>", None).markdown == markdown + "\n"
    assert seen(markdown) == text


def test_a_mark_for_a_note_in_a_links_text_is_plain() -> None:
    page = "<p>It was so.<a href='https://e.example/#n1'>[1]</a> <a href='https://e.example/'>a ] b</a></p>"
    assert extract(page).markdown == "It was so.[[1]](https://e.example/#n1) [a \\] b](https://e.example/)\n"


def test_a_line_that_would_make_a_heading_of_the_one_above_stays_a_line() -> None:
    for line in ("===", "--", ":--"):
        markdown = extract(f"<p>x | y<br>{line}</p>").markdown
        assert seen(markdown) == f"x | y {line}"
        assert "<h" not in READER.render(markdown)
        assert "<table" not in READER.render(markdown)


def test_a_box_that_is_no_box_stays_text() -> None:
    assert extract("<ul><li>[x] done<li>[y] done</ul>").markdown == "- \\[x] done\n- [y] done\n"


def test_code_and_addresses_stay_as_they_are() -> None:
    for line in ("`a\\[b\\]`", "[x](https://e.example/a\\(b)", "``a`b\\_``"):
        assert remove_needless_escapes(line, alone=True) == line


@pytest.mark.parametrize("sign", ["\\[", "\\]", "\\* a", "\\*", "\\`", "\\<a ", "\\&", "\\|", "\\[\\](", "\\~ "])
@pytest.mark.parametrize("prefix", ["x", "## ", "[", "| "])
def test_a_line_of_signs_takes_no_longer_for_each(prefix: str, sign: str) -> None:
    def steps(count: int) -> int:
        """How many calls are made, of Python and of C."""
        ran = 0

        def called(*_: object) -> None:
            nonlocal ran
            ran += 1

        sys.setprofile(called)  # not `settrace`, which is how branches are counted
        try:
            remove_needless_escapes(prefix + sign * count, alone=True)
        finally:
            sys.setprofile(None)
        return ran

    assert steps(400) < 2.2 * steps(200)


@pytest.mark.parametrize(("item", "markdown"), [("--", "- \\--\n"), ("**", "- **\n")])
def test_dashes_in_an_item_are_no_rule_with_its_mark(item: str, markdown: str) -> None:
    assert html_to_markdown(f"<ul><li>{item}</li></ul>", None).markdown == markdown

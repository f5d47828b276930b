"""Headings: they stay with their text and become plain text."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaniel.chunking import chunk
from spaniel.chunking.blocks import LONGEST, outline, view_of
from spaniel.chunking.chunks import Chunk, chunk_at
from spaniel.chunking.plain_text import plain
from spaniel.chunking.tokens import cl100k

COUNT = cl100k().count
PARAGRAPH = " ".join(f"This is sentence number {n}, and it goes on for a while." for n in range(40))
CODE = "```python\n" + "".join(f"print('line number', {n})\n" for n in range(80)) + "```"
LIST = "\n".join(f"- item number {n} of a list that is too long" for n in range(60))
TABLE = "| a | b |\n|---|---|\n" + "\n".join(f"| row {n} | value {n} |" for n in range(60))
UNSPACED = "今日は良い天気ですね。" * 100
LINES = "\n".join(f"line number {n} without an end" for n in range(80))
ONE_WORD = "x" * 4000
TOO_LONG = {"paragraph": PARAGRAPH, "code": CODE, "list": LIST, "table": TABLE, "script without spaces": UNSPACED,
            "lines": LINES, "one word": ONE_WORD, "code in a list": f"- {CODE}"}  # fmt: skip


def is_only_headings(text: str) -> bool:
    return all(re.match(r"#{1,6}\s", line) for line in text.splitlines() if line.strip())


@pytest.mark.req("D2-30", "FR-WF-15b")
@pytest.mark.parametrize("kind", TOO_LONG)
@pytest.mark.parametrize("before", ["", f"{PARAGRAPH}\n\n", "Some words.\n\n", f"{CODE}\n"])
@pytest.mark.parametrize("headings", ["# One\n\n", "# One\n\n## Two\n### Three\n\n\n"])
def test_headings_go_into_the_first_piece(kind: str, before: str, headings: str) -> None:
    markdown = f"{before}{headings}{TOO_LONG[kind]}\n\n# End\n\nThe end."
    chunks = chunk(markdown, 128)
    assert not any(is_only_headings(piece.text) for piece in chunks)
    (headed,) = [piece for piece in chunks if "# One" in piece.text]
    assert headed.start == len(before)  # nothing else stands before them
    assert headed.text.startswith(headings.strip())
    assert headed.token_count == COUNT(headed.text) <= 128
    assert len(headed.text) > len(headings) + 60
    assert headed.heading == "One"
    if kind == "paragraph":
        assert headed.text.endswith(".")
    if "code" in kind:
        assert headed.text.count("```") == 2
        assert "print('line number', 3)" in headed.text


@pytest.mark.req("D2-30")
def test_heading_stays_with_the_first_item() -> None:
    item = "- " + PARAGRAPH
    first, *_ = chunk(f"# Title\n{item}\n{item}", 128)
    assert first.text.startswith("# Title\n- This is sentence number 0")
    assert first.text.endswith(".")


@pytest.mark.req("D2-30", "FR-WF-15b")
def test_sentence_is_not_broken_for_a_heading() -> None:
    sentence = " ".join(["word"] * 118) + "."
    heading = "# " + " ".join(["title"] * 20)
    chunks = chunk(f"{heading}\n\n{sentence} {sentence}", 128)
    assert [piece.text for piece in chunks] == [heading, sentence, sentence]
    assert [piece.heading for piece in chunks] == [heading[2:]] * 3


@pytest.mark.req("D2-30")
def test_last_headings_that_fit_stay_with_the_text() -> None:
    outer = "# " + " ".join(["outer"] * 100)
    chunks = chunk(f"{outer}\n\n## Inner\n\n{' '.join(['word'] * 60)}. {PARAGRAPH}", 128)
    assert chunks[0].text == outer
    assert chunks[1].text.startswith("## Inner\n\nword")


@pytest.mark.req("D2-30")
def test_line_of_code_is_not_broken_for_a_heading() -> None:
    line = " ".join(["word"] * 98)
    chunks = chunk(f"# {'title ' * 22}\n\n```python\n{line}\n{line}\n```", 128)
    assert [piece.text.count(line) for piece in chunks] == [0, 1, 1]
    chunks = chunk(f"# Title\n\n```python\n{line}\n{line}\n```", 128)
    assert [piece.text.count(line) for piece in chunks] == [1, 1]


@pytest.mark.req("D2-30")
def test_heading_before_a_split_heading() -> None:
    first, *_ = chunk(f"# One\n\n## {'two ' * 300}\n\ntext", 128)
    assert first.text.startswith("# One\n\n## two two")


@pytest.mark.req("D2-30")
def test_full_stop_in_a_heading_is_not_a_cut() -> None:
    first, *_ = chunk(f"# 今日。\n\n{'漢字' * 500}", 128)
    assert first.text.startswith("# 今日。\n\n漢字漢字")


@pytest.mark.req("D2-30", "FR-WF-15b")
def test_fitting_block_is_not_split_for_its_heading() -> None:
    rule = (("=" * 64 + ". ") * 40).strip()
    heading = "# " + "title " * 60
    assert len(rule) > 6 * 128
    assert 64 < COUNT(rule) <= 128
    assert [piece.text for piece in chunk(f"{heading}\n\n{rule}\n\nend", 128)][:2] == [
        heading.strip(),
        f"{rule}\n\nend",
    ]


@pytest.mark.req("FR-WF-15a", "D2-30")
def test_headings_before_an_unsplit_block() -> None:
    words, more = " ".join(["word"] * 60), " ".join(["more"] * 100)
    chunks = chunk(f"{words}\n\n# Title\n\n{more}", 128)
    assert [piece.text for piece in chunks] == [f"{words}\n\n# Title", more]


sentences = st.builds(lambda n, end: " ".join(["word"] * n) + end, st.integers(1, 60), st.sampled_from([".", "?", "!"]))
paragraphs = st.lists(sentences, min_size=1, max_size=8).map(" ".join)
titles = st.builds(lambda level, n: "#" * level + " title" * n, st.integers(1, 6), st.integers(1, 40))
pages = st.lists(paragraphs | titles, max_size=12).map("\n\n".join)


@pytest.mark.req("D2-30")
@settings(max_examples=150)
@given(pages, st.sampled_from([24, 40, 128]))
def test_heading_is_separate_only_if_it_does_not_fit(page: str, limit: int) -> None:
    starts = outline(page, view_of(page)).starts
    chunks = chunk_at(page, limit, cl100k())
    for piece, following in pairwise(chunks):
        if is_only_headings(piece.text) and piece.start in starts and following.start in starts:
            headed = starts.index(following.start)
            while headed < len(starts) - 1 and is_only_headings(page[starts[headed] : starts[headed + 1]]):
                headed += 1
            block = page[starts[headed] :].partition("\n\n")[0]
            first, least = piece.start, block
            if COUNT(block) > limit:  # it is split, and each heading goes with it if it fits
                first = max(start for start in starts if start < piece.end)
                least = re.findall(r"[^.!?]+.", block)[0]
            assert COUNT(least) > limit or COUNT(page[first : starts[headed]] + least) > limit


PLAIN = {
    "[Title](https://e.x/a_b_c)": "Title",
    "[Title](<a b> 'why')": "Title",
    "[Ti[t]le](x(y)z)": "Ti[t]le",
    "**Bold** and _soft_ and ***both***": "Bold and soft and both",
    "~~old~~ new": "old new",
    "`code_with_*stars*` here": "code_with_*stars* here",
    "``a ` b``": "a ` b",
    r"1\. snake\_case \[x\] \*": "1. snake_case [x] *",
    "snake_case and 2 * 3 * 4": "snake_case and 2 * 3 * 4",
    "![logo](l.png) Title ![badge](b.svg)": "Title",
    "![logo](l.png)": "logo",
    "[![logo *bold*](l.png)](https://e.x)": "logo bold",
    "[**11.** `x` &amp; y](z)": "11. x & y",
    "<https://e.x/a_b_>": "https://e.x/a_b_",
    '<a id="x"></a>Title<br>two': "Title two",
    "Vec<T>": "Vec<T>",
    "[1.0.0] - 2026-01-01": "[1.0.0] - 2026-01-01",
    "Q&A, R&D; AT&T &c; &#x202e;evil &#27;[0m": "Q&A, R&D; AT&T &c; &#x202e;evil [0m",
    "a ** b": "a ** b",
    "[a](b": "[a](b",
    "C#": "C#",
    "Title ##": "Title",
}


@pytest.mark.req("D2-30", "FR-WF-15c")
@pytest.mark.parametrize("markdown", PLAIN)
def test_heading_is_plain_text(markdown: str) -> None:
    (only,) = chunk(f"# {markdown}\n\ntext")
    assert only.heading == PLAIN[markdown]
    assert only.text.startswith(f"# {markdown}")  # the text keeps its Markdown


BITS = ["a", "b c", "word", " ", "*", "**", "_", "__", " ~~old~~ ", "`", "``", "[", "](x)",
        '](http://e.x/a_b "t")', "]", "(", ")", "!", "![alt](i.png)", r"\*", "\\", r"\[", "é", "漢", "1", "snake_case",
        "<https://e.x>", "<b>", "</b>", "&amp;", ".", ",", '"', "-", "&copy;", "](<a b>)", "](x(y)z)"]  # fmt: skip


def shown_by_commonmark(markdown: str) -> str | None:
    from markdown_it import MarkdownIt

    (line,) = MarkdownIt("commonmark").enable("strikethrough").parseInline(markdown)
    tokens = line.children or []
    text = "".join(token.content for token in tokens if token.type in ("text", "code_inline"))
    pictured = any(token.type == "image" for token in tokens)
    return None if pictured and not text.split() else " ".join(text.split())


@pytest.mark.req("D2-30")
@settings(max_examples=150)
@given(st.lists(st.sampled_from(BITS), min_size=1, max_size=7).map("".join))
def test_plain_text_equals_commonmark(markdown: str) -> None:
    shown = shown_by_commonmark(markdown.strip())
    assert shown is None or " ".join(plain(markdown.strip()).split()) == shown


HOSTILE = ["*", "*a ", "a*", "[", "]", "](x ", '](x "', "![", "[a](b)", "[a](b", "`", "` `` ", "&a", "<a ", "<a b=c",
           "_a_b", "\\", "~~a", "](<", "<a@b", "**x**"]  # fmt: skip


@pytest.mark.req("NFR-WF-PERF-02", "D2-30")
@pytest.mark.parametrize("bit", HOSTILE)
def test_heading_of_a_megabyte_is_shortened(bit: str) -> None:
    chunks = chunk("# " + bit * (1_000_000 // len(bit)) + "\n\ntext")
    assert all(len(piece.heading) <= LONGEST for piece in chunks)
    assert chunks[-1].text == "text"


def test_long_heading_ends_with_an_ellipsis() -> None:
    (only,) = chunk(f"# {'ab ' * LONGEST}\n\n", 2048)[-1:]
    assert only.heading.endswith("…")
    assert len(only.heading) == LONGEST


def test_headings_are_single_lines() -> None:
    piece: Chunk = chunk("# a&#10;b\n\n## [c](d)\n\n" + PARAGRAPH, 128)[-1]
    assert piece.heading_path == ("a b", "c")

"""Markdown as it was written, without what hides or runs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading import read
from spaniel.reading.document import Document, Metadata
from spaniel.reading.markdown.code_blocks import CodeBlock, CodeBlocks
from spaniel.reading.markdown.sanitizer import HARMLESS_TAGS

URL = "https://example.org/dir/page"


def read_markdown(text: str, url: str | None = URL) -> Document:
    return read(text.encode("utf-8", "surrogatepass"), "text/markdown; charset=utf-8", url)


PAGE = """\
# A *title*

A paragraph with `code`, **bold** and [a link](https://e.x/a_(b) "title").

- one
  - two
    ```py
    x = "<script>"  \n    ```
1. a < b & c_d, List<String>, <your-name>

| a | b |
|---|---|
| 1 | `x|y` |

> quoted

<details><summary>More</summary>

H<sub>2</sub>O<br>

</details>

[ref]: https://e.x/there "there"
"""


@pytest.mark.req("FG-15")
def test_markdown_is_passed_on_as_it_was_written() -> None:
    for content_type in ("text/markdown", "text/x-markdown"):
        document = read(PAGE.encode(), content_type, URL)
        assert document.markdown == PAGE
        assert (document.title, document.kind, document.notes) == ("A title", "markdown", ())
    assert read_markdown(PAGE.replace("\n", "\r\n")).markdown == PAGE


def test_front_matter_tells_and_goes() -> None:
    document = read_markdown(
        "---\ntitle: \"A: page\"\nAuthor: Ann O'Nym  # her\ndate: 2024-05-01T10:00:00Z\ndescription: 'Short'\n"
        "lang: en-GB\ntags:\n  - x\n- y\n\n# comment\nlist: [a, b]\n---\n\nText.\n"
    )
    assert document.markdown == "Text.\n"
    assert (document.title, document.language) == ("A: page", "en-GB")
    assert document.metadata == Metadata("A: page", "Short", "Ann O'Nym", published="2024-05-01")


@pytest.mark.parametrize(
    "text",
    [
        "---\njust words\n---\n\nText.\n",
        "---\ntitle: x\n\nno end\n",
        "---\n\nText.\n",
        "--- \n",
        "Text.\n\n---\ntitle: x\n---\n",
    ],
)
def test_what_is_no_front_matter_stays(text: str) -> None:
    assert read_markdown(text).markdown.rstrip() == "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Words.\n\n## [Two](/x) *words* `c`\n", "Two words c"),
        ("A title\n=======\n\n# Another\n", "A title"),
        ("```\n# comment\n```\n\n# Real #\n", "Real"),
        ("no heading\n", None),
        ("#hashtag\n", None),
        ("# 1 \\* 2\n", "1 * 2"),
    ],
)
def test_the_first_heading_is_the_title(text: str, title: str | None) -> None:
    assert read_markdown(text).title == title


@pytest.mark.req("D2-17")
def test_inside_a_fence_only_line_ends_change() -> None:
    code = "````md\r\na  \r\n\r\n\r\n\r\n<script>x</script> [a](javascript:b)\r\n```\r\n\tb \r\n````\r\n"
    assert read_markdown("x\r\n\r\n" + code).markdown == "x\n\n" + code.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("a <script>evil()</script> b", "a  b"),
        ("a <STYLE type=x>\n\np {}\n\n</style> b", "a  b"),
        ("a <!-- secret\n\n```\nmore\n```\n--> b", "a  b"),
        ("a <iframe src=x>in</iframe> b", "a  b"),
        ("a <p hidden>one <p>two</p> three</p> b", "a  b"),
        ("a <span style='display: none'>in</span> b", "a  b"),
        ("a <svg onload=x><script>y</script></svg> b", "a  b"),
        ("a <?php x ?> b <!DOCTYPE x> c", "a  b  c"),
        ("a <img src=x onerror=y> b", "a  b"),
        ("a <b onclick=x>bold</b> b", "a <b>bold</b> b"),
        ("a <form action=x><input name=y>go</form> b", "a go b"),
        ("use the <script> tag", "use the tag"),
        ("<div>\n`<script>x</script>`\n</div>", "<div> \\` \\` </div>"),
        ("<p>\n```\n<script>x</script>\n```", "<p> \\`\\`\\` \\`\\`\\`"),
        ("`a\n- <script>x</script>`", "\\`a - \\`"),
        ("| `a | b<script>x</script>` |\n|-|-|", "| \\`a | b\\` | |-|-|"),
        ("an open <!-- comment", "an open \\<!-- comment"),
        ("<scr<i>ipt>x</scr</i>ipt>", "\\<scr<i>ipt>x\\</scr</i>ipt>"),
    ],
)
def test_raw_html_that_hides_or_runs_goes(written: str, kept: str) -> None:
    document = read_markdown(written)
    assert " ".join(document.markdown.split()) == " ".join(kept.split())


def test_what_is_hidden_is_counted() -> None:
    document = read_markdown("<!-- a --> <p hidden>b</p> <script>c</script> [x](javascript:y) \u200b\x1b[1m")
    found = document.hygiene
    assert (found.hidden_elements, found.dangerous_links, found.invisible_characters, found.control_characters) == (
        3,
        1,
        1,
        1,
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("[x](javascript:alert(1))", "x"),
        ("![x](data:image/png;base64,AAAA)", "x"),
        ("[x](  JaVa&#83;cript:a)", "x"),
        ("[x](javascript\\:a)", "x"),
        ("[x](<javascript:a b>)", "x"),
        ("[x](\njavascript:a)", "x"),
        ("[x](javascript:a((((1)))))", "[x] (javascript:a((((1)))))"),
        ("[![x](data:,y)](javascript:z)", "x"),
        ("<javascript:alert(1)>", ""),
        ("[x][y]\n\n[y]: javascript:z\n", "[x][y]"),
        ("<a href='javascript:x'>y</a>", "y"),
        ("[<b>]: javascript:x", "[<b>] : javascript:x"),
        ("[x](vbscript:y) and [file](file:///etc/passwd)", "x and file"),
        ("`[x](javascript:y)`", "`[x](javascript:y)`"),
        ("``[x](javascript:y)` ``", "``[x](javascript:y)` ``"),
        ("\\`[x](javascript:y)`", "\\`x\\`"),
        ("\\``[x](javascript:y)`", "\\``[x](javascript:y)`"),
        ("`<x|`[x](javascript:y)`", "\\`\\<x|`[x](javascript:y)`"),
        ("\\`` [x](javascript:y) ``", "\\`\\` x \\`\\`"),
    ],
)
def test_targets_that_run_or_hold_data_go(written: str, kept: str) -> None:
    assert read_markdown(written).markdown.strip() == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("[x](y)", "[x](https://example.org/dir/y)"),
        ("[x](../a%20b 'title')", "[x](https://example.org/a%20b 'title')"),
        ("![x](<a b.png>)", "![x](https://example.org/dir/a%20b.png)"),
        ("[x](#top)", "[x](https://example.org/dir/page#top)"),
        ("[x](//e.x/y)", "[x](https://e.x/y)"),
        ("[x](mailto:a@e.x) <https://e.x/> <a@e.x>", "[x](mailto:a@e.x) <https://e.x/> <a@e.x>"),
        ("[y]: /z 'title'", "[y]: https://example.org/z 'title'"),
        (
            "<a class=b href='/z'><img src='i.png' alt='an [x]'></a>",
            "[![an x](https://example.org/dir/i.png)](https://example.org/z)",
        ),
        ("<h2 align=center>\n  Head</h2>\n", "## Head"),
        ("[x]() and [y]", "x and [y]"),
        ("- [ ] task\n- [x] done", "- [ ] task\n- [x] done"),
    ],
)
def test_links_are_made_absolute(written: str, kept: str) -> None:
    assert read_markdown(written).markdown.strip() == kept


def test_without_an_address_relative_links_stay() -> None:
    assert read_markdown("[x](y) ![z](a.png)", url=None).markdown == "[x](y) ![z](a.png)\n"


def test_two_blanks_break_a_line_and_do_not_stay() -> None:
    assert read_markdown("one  \ntwo  \n\nthree   \n").markdown == "one\\\ntwo\n\nthree\n"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("```\nx\n```\ny", CodeBlock(0, 10)),
        ("a\n~~~~\n~~~\n~~~~~\ny", CodeBlock(2, 17)),
        ("``` a`b\nx", None),
        ("    ```\n    x", None),
        ("- a\n\n    ```\n    x\n    ```\ny", CodeBlock(5, 27)),
        ("- ```\n  x\ny", CodeBlock(0, 10, "  ```\n")),
        ("> ```\n> x\ny", CodeBlock(0, 10, ">```\n")),
        ("```\nx", CodeBlock(0, 5, "\n```\n")),
        ("1. a\n   ```\n   x\n   ```\n", CodeBlock(5, 24)),
    ],
)
def test_a_block_ends_where_a_reader_of_markdown_ends_it(text: str, block: CodeBlock | None) -> None:
    assert CodeBlocks(text).next(0) == block


PIECES = st.sampled_from(
    ["words", "`", "``", "```", "```\n", "\n", "\n\n", "    ", "  ", "- ", "> ", "1. ", "<!--", "-->", "<script>", "</script>", "<b>", "</b>", "<p hidden>",
     "</p>", "<a href=javascript:x>", "</a>", "[", "]", "](", ")", "(", "javascript:x", "[x](", "![", "]: ", "<", ">", "\\", "!", "&#58;", "<T>", "<x y=z>",
     "~~~\n", "<style", " hidden>", "'", '"', "<https://e.x>", "# ", "*", "|", "\t", "<?", "?>", "<svg onload=x>", "é\u200b"]
)  # fmt: skip
BARE = re.compile(r"</?([a-zA-Z][\w:-]*)\s*/?>")


@pytest.mark.req("NFR-WF-SEC-03")
@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_text_gives_a_tag_that_acts_or_a_target_that_runs(text: str) -> None:
    """As a reader of Markdown sees it, but for blocks: what it takes for one may be code here, and stays."""
    markdown_it = pytest.importorskip("markdown_it")
    markdown = read_markdown(text).markdown
    for token in markdown_it.MarkdownIt("commonmark").enable("table").parse(markdown):
        for child in token.children or ():
            if child.type == "html_inline":
                bare = BARE.fullmatch(child.content)
                assert bare, (text, markdown)
                assert bare[1] in HARMLESS_TAGS or bare[1].lower() not in ("script", "style", "iframe", "svg"), (
                    text,
                    markdown,
                )
            if child.type in ("link_open", "image"):
                target = str(child.attrGet("href") or child.attrGet("src"))
                assert not target.startswith("javascript"), (text, markdown)


@given(
    st.lists(
        st.sampled_from(["word", " ", "\n", "\n\n", "**", "_", "- ", "# ", "> ", "`", "[a](/b)", "|", "1. ", "é"]),
        max_size=30,
    ).map("".join)
)
def test_every_word_is_kept(text: str) -> None:
    assert read_markdown(text).markdown.count("word") == text.count("word")


@given(st.lists(PIECES, max_size=30).map("".join))
def test_cleaning_twice_changes_no_word(text: str) -> None:
    once = read_markdown(text).markdown
    assert re.findall("words", read_markdown(once).markdown) == re.findall("words", once)

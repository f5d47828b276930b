"""Blocks and heading paths."""

from __future__ import annotations

from itertools import pairwise

import pytest

from spaniel.chunking.blocks import outline, view_of
from spaniel.chunking.chunks import chunk_at
from spaniel.chunking.tokens import cl100k


def blocks(markdown: str) -> list[str]:
    starts = outline(markdown, view_of(markdown)).starts
    return [markdown[a:b].rstrip() for a, b in pairwise(starts)]


@pytest.mark.req("FR-WF-15")
@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("one\ntwo\n\nthree", ["one\ntwo", "three"]),
        ("one\n \t\ntwo", ["one", "two"]),
        ("one\r\n\r\ntwo\r\n", ["one", "two"]),
        ("one\r\rtwo\r", ["one", "two"]),
        ("\n\n  one\n\n\n\n\ntwo\n\n", ["  one", "two"]),
        ("text\n# Title\ntext", ["text", "# Title\ntext"]),
        ("# A\n## B\n\ntext", ["# A", "## B", "text"]),
        (
            "a\n### C\nb\n#### D\nc\n##### E\nd\n###### F\ne",
            ["a", "### C\nb", "#### D\nc", "##### E\nd", "###### F\ne"],
        ),
        ("a\n######\tF\ne\n#######\tG", ["a", "######\tF\ne\n#######\tG"]),
        ("####### seven\n#hashtag\ntext", ["####### seven\n#hashtag\ntext"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\ntext", ["| a | b |\n|---|---|\n| 1 | 2 |", "text"]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_blank_lines_and_headings_separate_blocks(markdown: str, expected: list[str]) -> None:
    assert blocks(markdown) == expected


@pytest.mark.req("FR-WF-15")
@pytest.mark.parametrize(
    "code",
    [
        "```\na\n\n# no heading\n\nb\n```",
        "~~~python\na\n\n```\n\nb\n~~~",
        "````md\n```\n\nb\n```\n````",
        "```\nunclosed\n\n# no heading",
        "```\n\n    ```\n\nindented too far to close\n```",
        "```\n\n``` not closed by this\n\n```",
        "  ```\n\n  a\n  ```",
    ],
)
def test_fenced_code_is_one_block(code: str) -> None:
    assert blocks(f"before\n{code}") == ["before", code]
    if not code.startswith("```\nunclosed"):
        assert blocks(f"{code}\nafter") == [code, "after"]
        assert blocks(f"{code}\n{code}\n\n\nafter") == [code, code, "after"]


@pytest.mark.req("FR-WF-15")
@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("~~~ py `x`\n\n# no\n~~~\n\ntext", ["~~~ py `x`\n\n# no\n~~~", "text"]),
        ('``` {.py title="a b"}\n\n# no\n```\ntext', ['``` {.py title="a b"}\n\n# no\n```', "text"]),
        ("a\r\n\r\n```\r\n\r\n# no\r\n```\r\n\r\nb", ["a", "```\r\n\r\n# no\r\n```", "b"]),
        ("```\na\n```` \n\nb", ["```\na\n````", "b"]),
        ("```js\n```\n```\n```", ["```js\n```", "```\n```"]),
        ("> ```\n> a\n>\n> # b\n> ```\n\ntext", ["> ```\n> a\n>\n> # b\n> ```", "text"]),
        ("- a\n\n  - b\n\n    ```py\n    x\n\n    # no\n    ```\n\n  - c\n\ntext",
         ["- a\n\n  - b\n\n    ```py\n    x\n\n    # no\n    ```\n\n  - c", "text"]),
        ("Title\n=====\n\ntext\n---\n\nmore", ["Title\n=====", "text\n---", "more"]),
        ("a\u2028\u2028b\u2029# no\n\nc", ["a\u2028\u2028b\u2029# no", "c"]),
        ("    code\n\n    # no\n\ntext", ["    code", "    # no", "text"]),
        ("<pre>\n\ntext\n\n</pre>", ["<pre>", "text", "</pre>"]),
    ],
)  # fmt: skip
def test_ambiguous_markdown(markdown: str, expected: list[str]) -> None:
    assert blocks(markdown) == expected
    assert not any(piece.heading for piece in chunk_at(markdown, 8, cl100k()))


@pytest.mark.req("FR-WF-15")
def test_inline_code_is_not_a_fence() -> None:
    assert blocks("``` inline ```\n\ntext") == ["``` inline ```", "text"]
    assert blocks("some ``` text\n\ntext") == ["some ``` text", "text"]


@pytest.mark.req("FR-WF-15")
@pytest.mark.parametrize(
    "markdown",
    [
        "- a\n- b\n  - c",
        "- a\n\n- b\n\n  more of b\n\n    - c\n\n- d",
        "1. a\n\n2. b\n\n   ```\n   code\n\n   code\n   ```\n\n3. c",
        "- ```\n  code\n\n  code\n  ```\n\n- b",
        "Intro:\n- a\n\n- b",
        "* a\n\n\tmore of a",
        "  - a\n\n  - b",
    ],
)
def test_list_is_one_block(markdown: str) -> None:
    assert blocks(f"text\n\n{markdown}\n\ntext") == ["text", markdown, "text"]


@pytest.mark.req("FR-WF-15")
def test_list_of_another_kind_is_another_block() -> None:
    assert blocks("- a\n\n* b\n\n1. c\n\n2) d") == ["- a", "* b", "1. c", "2) d"]
    assert blocks("```\n- a\n```\n\n- b") == ["```\n- a\n```", "- b"]
    assert blocks("text\n\n    indented\n\n    code") == ["text", "    indented", "    code"]


GUIDE = """intro

# Guide

## Install ##

on your machine, one way or another

### Linux

```sh
# not a heading
make
```

### macOS

brew, then make

# C#

the end
"""


@pytest.mark.req("FR-WF-15c", "FR-WF-03b", "T-WF-CHK-03", "D2-19", "D2-28")
def test_chunk_has_the_headings_above_it() -> None:
    chunks = chunk_at(GUIDE, 12, cl100k())
    seen = {piece.text.splitlines()[0]: piece.heading_path for piece in chunks}
    assert seen == {
        "intro": (),
        "on your machine, one way or another": ("Guide", "Install"),
        "```sh": ("Guide", "Install", "Linux"),
        "### macOS": ("Guide", "Install", "macOS"),
        "the end": ("C#",),
    }
    assert all(piece.heading == (piece.heading_path or ("",))[-1] for piece in chunks)


@pytest.mark.req("FR-WF-15c", "T-WF-CHK-03")
def test_heading_line_is_in_the_chunk() -> None:
    (only,) = chunk_at("# Title\n\ntext", 128, cl100k())
    assert (only.heading, only.text) == ("Title", "# Title\n\ntext")


@pytest.mark.req("D2-28")
def test_id_contains_document_and_place() -> None:
    chunks = chunk_at(GUIDE, 14, cl100k())
    again = chunk_at(GUIDE, 14, cl100k())
    other = chunk_at(GUIDE + "more", 14, cl100k())
    assert [piece.id for piece in chunks] == [piece.id for piece in again]
    assert len({piece.id for piece in chunks + other}) == len(chunks) + len(other)


@pytest.mark.req("D2-28", "FR-WF-03b")
def test_fields_of_answer_and_record() -> None:
    piece = chunk_at("# A\n\n## B\n\ntext", 128, cl100k())[0]._replace(heading_path=("A", "B"))
    assert list(piece.answer()) == ["heading", "text", "token_count"]
    assert piece.record() == {
        "id": piece.id, "heading": "A", "text": piece.text, "token_count": piece.token_count,
        "heading_path": "A > B", "start": 0, "end": 15,
    }  # fmt: skip

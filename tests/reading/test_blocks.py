"""How a page is cut into blocks before any of it is judged."""

from __future__ import annotations

import pytest
from turbohtml import parse

from spaniel.reading.judge.blocks import FULL_BLOCK, Outline, segment


def outline(html: str) -> Outline:
    body = parse(f"<body>{html}</body>".encode(), positions=False).select_one("body")
    assert body is not None
    return segment(body)


def texts(html: str) -> list[str]:
    return [block.text for block in outline(html).blocks]


@pytest.mark.req("FG-16")
@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<p>one <b>two</b> three</p><p>four</p>", ["one two three", "four"]),
        ("one<br>two", ["one two"]),
        ("before<p>inside</p>after", ["before", "inside", "after"]),
        ("<div>left<hr>right</div>", ["left", "right"]),
        ("<div> <p> </p> </div>", []),
        ("<ul><li>a</li><li>b</li></ul><ul><li>c</li></ul>", ["a b", "c"]),
        ("<table><tr><th>k</th><td>v</td></tr><tr><td>w</td></tr></table>", ["k v w"]),
        ("<dl><dt>term</dt><dd>what it means</dd></dl>", ["term what it means"]),
        ("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>", ["a", "b c", "d"]),
        ("<table><tr><td><p>layout</p></td><td><p>table</p></td></tr></table>", ["layout", "table"]),
    ],
)
def test_runs_of_text_and_short_items(html: str, blocks: list[str]) -> None:
    assert texts(html) == blocks


def test_a_long_item_stands_alone_and_a_long_list_is_several_blocks() -> None:
    long = "word " * 60
    assert texts(f"<ul><li>a</li><li>{long}</li><li>b</li></ul>") == ["a", long.strip(), "b"]
    many = outline(f"<ul>{'<li>an item</li>' * 1000}</ul>").blocks
    assert 2 <= len(many) <= 10
    assert all(len(block.text) < FULL_BLOCK + 200 for block in many)
    assert sum(block.items for block in many) == 1000


def test_every_container_knows_its_blocks_and_empty_ones_are_not_opened() -> None:
    out = outline("<div class=a><p>one</p><div></div><section><p>two</p><p>three</p></section></div><p>four</p>")
    held = {
        (tag, tuple(block.text for block in out.blocks[first:last]))
        for tag, first, last in zip(out.tag, out.first, out.last, strict=True)
    }
    assert ("div", ("one", "two", "three")) in held
    assert ("section", ("two", "three")) in held
    assert ("body", ("one", "two", "three", "four")) in held
    assert out.tag.count("div") == 1


def test_the_share_of_links_counts_what_stands_inside_them() -> None:
    first, second = outline("<p><a href=x>abc</a> def</p><a href=y><div>ghi</div></a>").blocks
    assert (first.link_chars, second.link_chars) == (3, 3)

"""The rules by which blocks are kept, given how likely each is content: each rule beside what would be without it."""

from __future__ import annotations

import itertools

import pytest
from turbohtml import parse

from spaniel.reading import content
from spaniel.reading.content import ARTICLE_RECALL, MIN_THRESHOLD, decide, threshold
from spaniel.reading.judge.blocks import Outline, segment
from spaniel.reading.judge.columns import KINDS

FIRST = "The harbour board met on Monday evening and talked about the engines of the old ferry until midnight. " * 6
SECOND = "Everybody who lives beside the water remembers another winter without any crossing, and nobody liked it. " * 6
THIRD = "Somebody has counted the seals again, and this year there are eleven more of them than there were before. " * 6


def outline(html: str) -> Outline:
    body = parse(f"<body>{html}</body>", positions=False).select_one("body")
    assert body is not None
    return segment(body)


def kept(html: str, odds: dict[str, float], kind: str = "article") -> list[str]:
    """The first words of the blocks that are kept, if each block is as likely as its first word says."""
    out = outline(html)
    words = [float(block.text.count(" ") + 1) for block in out.blocks]
    likely = [odds[block.text.split(" ")[0]] for block in out.blocks]
    kinds = [0.94 if name == kind else 0.01 for name in KINDS]
    keep = decide(out, words, likely, kinds)
    return [block.text.split(" ")[0] for block, k in zip(out.blocks, keep, strict=True) if k]


SURE = {"The": 0.97, "Everybody": 0.95, "Somebody": 0.93}
COMMENTED = f"<article><p>{FIRST}</p></article><div class=comments><p>{SECOND}</p></div>"


@pytest.mark.req("FG-16")
def test_on_an_article_comments_are_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(COMMENTED, SURE) == ["The"]
    assert kept(COMMENTED, SURE, "forum") == ["The", "Everybody"]  # there they are the content
    assert kept(COMMENTED.replace("comments", "chapter"), SURE) == ["The", "Everybody"]
    monkeypatch.setattr(content, "COMMENT_FACTOR", 1.0)
    assert kept(COMMENTED, SURE) == ["The", "Everybody"]


@pytest.mark.req("FG-16")
def test_comments_are_not_doubted_where_there_is_nothing_else() -> None:
    assert kept(f"<article><p>The end.</p></article><div class=comments><p>{SECOND}</p></div>", SURE) == [
        "The",
        "Everybody",
    ]


@pytest.mark.req("FG-16")
def test_an_article_inside_an_article_is_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = f"<article><p>{FIRST}</p><article><p>{SECOND}</p></article></article>"
    assert kept(nested, SURE) == ["The"]
    assert kept(nested.replace("<article><p>Every", "<section><p>Every"), SURE) == ["The", "Everybody"]
    monkeypatch.setattr(content, "NESTED_ARTICLE_FACTOR", 1.0)
    assert kept(nested, SURE) == ["The", "Everybody"]


@pytest.mark.req("FG-16")
def test_the_threshold_is_where_the_best_f_is_expected() -> None:
    """Of a sure thousand words and a likely hundred: whether the hundred are worth it depends on how likely they are."""
    words = [1000.0, 100.0]
    for likely, least in ((0.7, MIN_THRESHOLD), (0.6, 0.99)):
        right = [0.99 * 1000, 0.99 * 1000 + likely * 100]
        expected = ARTICLE_RECALL * right[1]
        assert (right[1] / (1100 + expected) > right[0] / (1000 + expected)) == (least == MIN_THRESHOLD)
        assert threshold([0.99, likely], words, ARTICLE_RECALL) == least
    assert kept(f"<p>{FIRST * 8}</p><p>{SECOND}</p>", {"The": 0.99, "Everybody": 0.7}) == ["The", "Everybody"]
    assert kept(f"<p>{FIRST * 8}</p><p>{SECOND}</p>", {"The": 0.99, "Everybody": 0.6}) == ["The"]


@pytest.mark.req("FG-16")
def test_the_threshold_has_a_floor() -> None:
    assert threshold([MIN_THRESHOLD + 0.01, MIN_THRESHOLD - 0.01], [10.0, 1000.0], 1.0) == MIN_THRESHOLD
    assert kept(f"<p>{FIRST}</p><p>{SECOND * 8}</p>", {"The": 0.25, "Everybody": 0.19}, "forum") == ["The"]


@pytest.mark.req("FG-16")
def test_what_stood_elsewhere_before_is_not_kept_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that carries its text for phones and for desks; two like paragraphs in one place are another thing."""
    twice = f"<div class=desk><p>{FIRST}</p></div><div class=phone><p>{FIRST}</p></div><p>{SECOND}</p>"
    assert kept(twice, SURE) == ["The", "Everybody"]
    assert kept(f"<div><p>{FIRST}</p><p>{FIRST}</p></div><p>{SECOND}</p>", SURE) == ["The", "The", "Everybody"]
    monkeypatch.setattr(content, "drop_repeats", lambda *_: None)
    assert kept(twice, SURE) == ["The", "The", "Everybody"]


@pytest.mark.req("FG-16")
def test_on_an_article_a_doubtful_stretch_apart_from_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    page = f"<p>{FIRST * 2}</p><div>{THIRD}</div><p>Everybody reads this too.</p>"
    odds = {"The": 0.97, "Somebody": 0.01, "Everybody": 0.68}
    assert kept(page, odds) == ["The"]
    assert kept(page, odds, "documentation") == ["The", "Everybody"]
    monkeypatch.setattr(content, "_drop_strays", lambda *_: None)
    assert kept(page, odds) == ["The", "Everybody"]


@pytest.mark.req("FG-16")
def test_a_likely_block_is_no_stray(monkeypatch: pytest.MonkeyPatch) -> None:
    page = f"<p>{FIRST * 2}</p><div>{THIRD}</div><p>Everybody reads this too.</p>"
    odds = {"The": 0.97, "Somebody": 0.01, "Everybody": 0.82}
    assert kept(page, odds) == ["The", "Everybody"]
    monkeypatch.setattr(content, "SURE", 0.9)
    assert kept(page, odds) == ["The"]


@pytest.mark.req("FG-16")
@pytest.mark.parametrize("tag", ["h2", "h3", "dt", "summary", "figcaption"])
def test_what_stands_between_kept_text_and_belongs_to_it_is_kept(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = f"<p>{FIRST}</p><{tag}>Everybody and nobody</{tag}><p>{THIRD}</p><{tag}>Everybody and more</{tag}>"
    odds = {"The": 0.97, "Everybody": 0.31, "Somebody": 0.95}
    assert kept(page, odds) == ["The", "Everybody", "Somebody"]  # not the last, after which nothing is kept
    assert kept(page.replace(f"<{tag}", "<div").replace(f"</{tag}", "</div"), odds) == ["The", "Somebody"]
    assert kept(page, odds | {"Everybody": 0.01}) == ["The", "Somebody"]
    monkeypatch.setattr(content, "_join_headings", lambda *_: None)
    assert kept(page, odds) == ["The", "Somebody"]


@pytest.mark.req("FG-16")
def test_a_question_between_kept_text_is_kept() -> None:
    page = f"<p>{FIRST}</p><div>Everybody{{}}</div><p>{THIRD}</p>"
    odds = {"The": 0.97, "Everybody": 0.2, "Everybody?": 0.2, "Somebody": 0.95}
    assert kept(page.format("?"), odds) == ["The", "Everybody?", "Somebody"]
    assert kept(page.format(""), odds) == ["The", "Somebody"]


@pytest.mark.req("FG-16")
@pytest.mark.parametrize(("outer", "inner"), [("ul", "li"), ("dl", "dd"), ("blockquote", "p"), ("table", "td")])
def test_a_list_of_which_most_is_kept_is_kept_whole(outer: str, inner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = "<tr>" if outer == "table" else ""
    page = f"<p>{SECOND}</p><{outer}>{row}<{inner}>{FIRST}</{inner}>{row}<{inner}>{THIRD}</{inner}></{outer}>"
    odds = {"Everybody": 0.9, "The": 0.97, "Somebody": 0.2}
    assert kept(page.replace(THIRD, THIRD[:300]), odds, "service") == ["Everybody", "The", "Somebody"]
    assert kept(page.replace(FIRST, FIRST[:300]), odds, "service") == ["Everybody", "The"]  # the smaller part
    assert kept(page.replace(THIRD, THIRD[:300]), odds | {"Somebody": 0.01}, "service") == ["Everybody", "The"]
    assert kept(page.replace(THIRD, THIRD[:300]), odds, "forum") == ["Everybody", "The"]
    monkeypatch.setattr(content, "_complete_lists", lambda *_: None)
    assert kept(page.replace(THIRD, THIRD[:300]), odds, "service") == ["Everybody", "The"]


@pytest.mark.req("FG-16")
def test_the_kind_of_a_page_weighs_and_does_not_switch() -> None:
    """Around a half an article's comments lose their odds little by little."""
    out = outline(COMMENTED)
    words = [float(block.text.count(" ") + 1) for block in out.blocks]
    left = [content._discount_comments(out, words, [0.97, 0.95], firm)[1] for firm in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert left == sorted(left, reverse=True)
    assert left[0] == 0.95
    assert max(a - b for a, b in itertools.pairwise(left)) < 0.55


@pytest.mark.req("FG-16")
def test_in_documentation_what_stands_among_content_is_content(monkeypatch: pytest.MonkeyPatch) -> None:
    page = f"<div><p>{FIRST}</p><p>Everybody</p><p>{THIRD}</p></div><p>Nobody</p>"
    odds = {"The": 0.97, "Everybody": 0.2, "Somebody": 0.95, "Nobody": 0.2}
    assert kept(page, odds, "documentation") == ["The", "Everybody", "Somebody"]
    assert kept(page, odds, "forum") == ["The", "Somebody"]
    monkeypatch.setattr(content, "_fill_documentation", lambda *_: None)
    assert kept(page, odds, "documentation") == ["The", "Somebody"]


@pytest.mark.req("FG-16")
@pytest.mark.parametrize(
    ("title", "likely", "firm", "stays"),
    [
        ("Seals counted again", 0.4, 0.0, True),
        ("Seals counted again", 0.4, 1.0, False),  # an article has its headline for a title
        ("Seals counted again", 0.62, 1.0, True),
        ("Seals counted again", 0.1, 0.0, False),
        ("The Harbour Gazette", 0.1, 1.0, True),  # nothing else says what the heading says
    ],
)
def test_a_heading_that_the_title_repeats_is_kept_where_it_is_likely(
    title: str, likely: float, firm: float, stays: bool
) -> None:
    out = outline(f"<h1>Seals counted again</h1><p>{FIRST}</p>")
    keep = [False, True]
    content._keep_heading(out, [likely, 0.97], keep, title, firm)
    assert keep == [stays, True]

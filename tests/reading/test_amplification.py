"""A page may not eat the machine: a part of the generated family here, all of it with `make torture`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from turbohtml import parse

from spaniel.reading import content, extract, read
from spaniel.reading.document import READING_CUT
from spaniel.reading.html import clean
from spaniel.reading.html import parse as parsing
from spaniel.reading.judge import class_names, model
from spaniel.reading.judge.blocks import MAX_BLOCKS, MAX_CONTAINERS
from tests.reading.family import TRICKS, names, page
from tests.reading.other_kinds import NAMES
from tests.reading.weighing import URL, Scales

needs_proc = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc")
SMALL, LARGE = 15_000, 60_000
EVERY = 113  # a prime: no element, attribute or shape is left out by the sample


@pytest.fixture(scope="module")
def scales() -> Iterator[Scales]:
    with Scales() as process:
        yield process


@needs_proc
@pytest.mark.req("D2-33")
@pytest.mark.parametrize("name", [*TRICKS, *NAMES])
def test_a_trick_takes_no_more_than_its_share(scales: Scales, name: str) -> None:
    cost = scales.weigh(name, LARGE)
    assert not cost.refused
    assert not cost.too_much_memory, cost
    assert not cost.too_much_markdown, cost
    assert cost.seconds < 0.3 or scales.growth(name, SMALL, LARGE) < 9, cost  # two doublings


@needs_proc
@pytest.mark.parametrize("start", range(0, 4 * EVERY, EVERY))
def test_a_page_of_the_family_takes_no_more_than_its_share(scales: Scales, start: int) -> None:
    for name in list(names())[start :: EVERY * 40]:
        cost = scales.weigh(name, LARGE)
        assert not cost.refused, cost
        assert not cost.too_much_memory, cost
        assert not cost.too_much_markdown, cost
        assert cost.seconds < 0.3 or scales.growth(name, SMALL, LARGE) < 9, cost


def test_every_name_makes_a_page() -> None:
    assert sum(len(page(name, 50)) > 0 for name in names({"": ""})) == len(list(names({"": ""})))
    assert len(list(names())) > 100_000


def test_control_a_parser_alone_opens_formatting_again_and_again() -> None:
    body = page("formatting opened again", 20_000)
    assert len(parse(body).select("b")) > 20 * body.count(b"<")
    tree, cut, *_ = parsing.parse_html(body, None)
    assert len(tree.select("b")) <= body.count(b"<")
    assert not cut


@pytest.mark.parametrize(
    "name", [name for name in TRICKS if name.startswith("formatting") and "inside spans" not in name]
)
def test_formatting_is_not_opened_again_without_end(name: str) -> None:
    tree = parsing.parse_html(page(name, 100_000), None).tree
    assert sum(1 for _ in tree.descendants) < 2 * parsing.MAX_REOPENED


def test_formatting_that_is_closed_where_it_was_opened_is_left_alone() -> None:
    body = b"<p>Some <b>bold</b> and <i class='x'>slanted <b>words</b></i> and <code>code</code>.</p>" * 3000
    assert parsing.limit_source(body) == (body, False, False)


def test_formatting_with_a_stand_in_is_formatting_in_the_end() -> None:
    body = "<p><b>" + "".join(f"<i a={i}>" for i in range(600)) + "</b><p>words <b>bold</b>" * 2000
    assert parsing.limit_source(body.encode()).renamed
    assert "words **bold**" in extract(body).markdown


def test_a_page_with_too_many_tags_is_cut_and_says_so() -> None:
    whole = "<p>first</p>" + "<i></i>" * (parsing.MAX_TAGS // 2 - 100) + "<p>last</p>"
    assert "last" in extract(whole).markdown
    assert extract(whole).notes == ()
    longer = extract(whole + "<i></i>" * 5_000 + "<p>beyond</p>")
    assert "last" in longer.markdown
    assert "beyond" not in longer.markdown
    assert longer.notes == (READING_CUT,)


@pytest.mark.usefixtures("either_judge")
@pytest.mark.parametrize(
    ("unit", "most"), [("<p>{}</p>", MAX_BLOCKS), ("<div><i>{}</i></div>", MAX_BLOCKS), ("<b>{}</b>", sys.maxsize)]
)
def test_a_page_with_too_many_blocks_is_cut_and_says_so(unit: str, most: int) -> None:
    document = extract("".join(unit.format(f"w{i}") for i in range(MAX_BLOCKS + 10)))
    assert (document.notes == (READING_CUT,)) is (most == MAX_BLOCKS)
    assert f"w{MAX_BLOCKS + 9}" not in document.markdown or most > MAX_BLOCKS


@pytest.mark.usefixtures("either_judge")
def test_a_page_with_too_many_containers_is_cut_and_says_so() -> None:
    rows = "".join(f"<tr><td>a{i}<td>b" for i in range(MAX_CONTAINERS // 3 + 100))
    document = extract(f"<table><tr><th>x<th>y{rows}</table>")
    assert document.notes == (READING_CUT,)
    assert "a100" in document.markdown


def test_markdown_is_never_much_longer_than_its_page() -> None:
    """Control: what the same links would take if all of them were written out."""
    body = page("a long base and short links", 100_000)
    assert body.count(b"<a ") * 8000 > 40 * len(body)
    document = extract(body, url=URL)
    assert document.notes == (READING_CUT,)
    assert 8000 < len(document.markdown) <= 4 * len(body) + (64 << 10)
    assert document.markdown.count("x") >= body.count(b"<a ")  # the text stays where a target goes


@pytest.mark.parametrize("name", ["breaks in deep quotes", "lines of code in quotes", "numbered lists in lists"])
def test_deep_lists_and_quotes_are_flattened_and_the_page_says_so(name: str) -> None:
    document = extract(page(name, 100_000), url=URL)
    assert document.notes == (READING_CUT,)
    assert max(line.count(">") for line in document.markdown.split("\n")) <= 16


@pytest.mark.parametrize(("tag", "begins"), [("ul", " " * 16), ("ol", " " * 16), ("blockquote", "> " * 12)])
def test_lists_and_quotes_as_deep_as_people_write_them_stay(tag: str, begins: str) -> None:
    item = "" if tag == "blockquote" else "<li>"
    document = extract(f"<{tag}>{item}deep" * 12)
    assert document.notes == ()
    assert document.markdown.split("\n")[-2].startswith(begins)


def test_a_fence_that_is_cut_is_closed() -> None:
    document = extract("<ol><li>" * 16 + "<pre>" + "x\n" * 60_000 + "</pre><p>after</p>")
    assert document.notes == (READING_CUT,)
    assert sum(line.strip().startswith("```") for line in document.markdown.split("\n")) % 2 == 0


def test_a_run_of_breaks_takes_no_longer_than_the_page() -> None:
    spent = []
    for count in (2_000, 16_000):
        before = time.process_time()
        assert extract("<p>a" + "<span><br></span>" * count + "b</p>").markdown.replace("\\", "").split() == ["a", "b"]
        spent.append(time.process_time() - before)
    assert spent[1] < max(0.02, spent[0]) * 27  # three doublings


def test_each_formula_is_written_once() -> None:
    document = extract("<p><span class=math>$x^2$</span> \ue0000\ue001 \ue0000\ue001 \ue0005\ue001</p>")
    assert document.markdown.count("x^2") == 1


def test_what_is_read_once_is_not_remembered_at_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Styles and class names are kept for the next page: not those that no other page will have."""
    asked: list[str] = []

    def hides(style: str) -> bool:
        asked.append(style)
        return False

    def judge_list(names: str) -> tuple[int, float, int]:
        asked.append(names)
        return class_names.NO_SCORE

    monkeypatch.setattr(clean, "hides", hides)
    monkeypatch.setattr(class_names, "_score_list", judge_list)
    monkeypatch.setattr(content, "judge", model.judge)
    extract(f"<p style='{'a:b;' * 9000}' class='{'navAd ' * 9000}'>x")
    assert sorted(map(len, asked)) == [class_names.MAX_NAMES, clean.MAX_STYLE]


@pytest.mark.req("FR-WF-13c")
def test_plain_text_of_many_lines_is_read_as_it_is() -> None:
    body = b"ab\n" * 300_000
    assert read(body, "text/plain", None).markdown.encode() == body

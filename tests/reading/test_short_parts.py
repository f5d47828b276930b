"""Short parts inside the main part of a page: kept beside long prose, whole where a formula stands in them."""

from __future__ import annotations

import random

import pytest

import spaniel

pytestmark = pytest.mark.usefixtures("either_judge")
WORDS = (
    "the coin falls down on one side or other while people watch and wait for what may come after a long evening of play "
    "in town hall near river bank where boats lie still under lamps"
).split()
REVIEWS = ("Very good.", "I like it a lot.", "Not bad at all, thanks.")


def prose(length: int, seed: int = 1) -> str:
    chance = random.Random(seed)
    text = ""
    while len(text) < length:
        text += " ".join(chance.choices(WORDS, k=chance.randint(8, 16))).capitalize() + ". "
    return text


LONG = {
    "one paragraph": f"<h1>Lamp</h1><p>{prose(900)}</p>",
    "three paragraphs": "".join(f"<p>{prose(300, seed)}</p>" for seed in range(3)),
    "bare text": prose(900),
    "a div": f"<div>{prose(900)}</div>",
    "much more": "".join(f"<p>{prose(500, seed)}</p>" for seed in range(12)),
}
PRICE = "<div id=price>Costs 121.50 euros</div>"
TAIL = f"{PRICE}<h2>Reviews</h2>" + "".join(f"<p>{text}</p>" for text in REVIEWS)


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("main", ["<main>", "<div role=main>", "<article>"])
@pytest.mark.parametrize("long", LONG)
def test_short_parts_after_long_prose_are_kept(long: str, main: str) -> None:
    markdown = spaniel.extract(f"<title>Lamp</title><body>{main}{LONG[long]}{TAIL}").markdown
    missing = [part for part in ("Costs 121.50 euros", "## Reviews", *REVIEWS) if part not in markdown]
    assert missing == []


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize(
    "box",
    [
        "<aside><p>Read this other story, too.</p></aside>",
        "<div class=share-buttons><p>Tell your friends.</p></div>",
        "<div class=related-posts><p><a href=/x>Another story of a lamp</a></p></div>",
        "<form><p>Your address, please.</p></form>",
        "<p><a href=/y>Another story</a></p>",
    ],
)
def test_boilerplate_inside_the_main_part_is_not_kept_with_them(box: str) -> None:
    page = f"<title>Lamp</title><main>{LONG['three paragraphs']}{PRICE}{box}</main>"
    markdown = spaniel.extract(page).markdown
    assert "Costs 121.50 euros" in markdown
    for part in ("other story", "friends", "Another story", "address"):
        assert part not in markdown


@pytest.mark.req("FR-WF-13")
def test_heading_does_not_stay_where_its_content_is_dropped() -> None:
    page = (
        f"<title>Lamp</title><main>{LONG['three paragraphs']}<h2>More</h2><div class=related-posts>"
        "<p><a href=/a>One story</a></p><p><a href=/b>Two stories</a></p></div></main>"
    )
    markdown = spaniel.extract(page).markdown
    assert "story" not in markdown
    assert "More" not in markdown


INSIDE = {
    "math": "<math><mi>k</mi></math>",
    "display math": "<math display=block><mi>k</mi></math>",
    "custom element": "<my-term>k</my-term>",
    "custom element with marks": "<my-term><b>k</b></my-term>",
    "unknown element": "<foo>k</foo>",
}


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("paragraphs", [2, 3, 6])
@pytest.mark.parametrize("tag", ["div", "p", "section"])
@pytest.mark.parametrize("inside", INSIDE)
def test_formula_or_custom_element_does_not_split_a_line(inside: str, tag: str, paragraphs: int) -> None:
    line = f"<{tag}>The probability of getting {INSIDE[inside]} heads is small.</{tag}>"
    page = f"<article>{line}" + "".join(f"<p>{prose(300, seed)}</p>" for seed in range(paragraphs)) + "</article>"
    markdown = spaniel.extract(page).markdown.replace("$", "").replace("*", "")
    assert markdown.startswith("The probability of getting k heads is small.\n")


@pytest.mark.req("FR-WF-13")
def test_custom_element_with_blocks_in_it_is_a_block() -> None:
    card = "<my-card><p>The first lamp of them all.</p><p>The second one.</p></my-card>"
    page = f"<article>Before {card} after<p>{prose(300)}</p><p>{prose(300, 2)}</p></article>"
    lines = [line for line in spaniel.extract(page).markdown.split("\n") if line]
    assert lines[:4] == ["Before", "The first lamp of them all.", "The second one.", "after"]

"""The second look at a page: blocks are judged once more by the odds of those around them."""

from __future__ import annotations

import pytest
from turbohtml import parse

from spaniel.reading.judge.blocks import Outline, segment
from spaniel.reading.judge.columns import AGAIN
from spaniel.reading.judge.model import CLEAR, second_pass, second_pass_rows

SENTENCE = "The harbour board met on Monday evening and talked about the engines of the old ferry until midnight. "


def outline(html: str) -> tuple[Outline, list[float]]:
    body = parse(f"<body>{html}</body>", positions=False).select_one("body")
    assert body is not None
    out = segment(body)
    return out, [float(block.text.count(" ") + 1) for block in out.blocks]


def seen(html: str, odds: list[float]) -> list[dict[str, float]]:
    out, words = outline(html)
    rows = second_pass_rows(out, words, odds, range(len(odds)))
    return [dict(zip(AGAIN, row, strict=True)) for row in rows]


@pytest.mark.req("FG-16")
@pytest.mark.parametrize("doubtful", [0.3, 0.5, 0.7])
def test_a_doubtful_block_goes_with_those_around_it(doubtful: float) -> None:
    out, words = outline(f"<div>{f'<p>{SENTENCE}</p>' * 9}</div>")
    among_likely = second_pass(out, words, [0.95] * 4 + [doubtful] + [0.95] * 4)[4]
    among_unlikely = second_pass(out, words, [0.05] * 4 + [doubtful] + [0.05] * 4)[4]
    assert among_unlikely < doubtful < among_likely


@pytest.mark.req("FG-16")
def test_what_is_settled_is_not_looked_at_again() -> None:
    out, words = outline(f"<div>{f'<p>{SENTENCE}</p>' * 5}</div>")
    odds = [0.005, 0.995, 0.5, 0.995, 0.005]
    again = second_pass(out, words, odds)
    assert [again[i] for i in (0, 1, 3, 4)] == [odds[i] for i in (0, 1, 3, 4)]
    assert again[2] != 0.5
    assert odds[2] == 0.5  # what was handed in stays as it was


@pytest.mark.req("FG-16")
def test_a_block_is_seen_with_its_neighbours_its_containers_and_its_make() -> None:
    page = f"<div><section><p>{SENTENCE}</p><p>{SENTENCE}</p></section><section><h2>{SENTENCE}</h2></section></div>"
    first, second, third = seen(page, [0.9, 0.5, 0.001])
    assert (second["own"], second["next"], third["own"], third["next"]) == (0.0, -CLEAR, -CLEAR, -CLEAR)
    assert second["before"] == first["own"] > 2
    assert second["home"] == pytest.approx(0.5)
    assert second["up"] == pytest.approx(0.7)
    assert second["like"] == pytest.approx(0.7)
    assert second["up.up"] == second["page"] == second["near"] == pytest.approx(1.401 / 3)
    assert third["like"] == pytest.approx(0.001)
    assert second["sure"] == pytest.approx(1 / 3)
    assert (second["sure.before"], second["sure.after"]) == (1.0, 0.0)
    assert (first["sure.before"], first["sure.after"]) == (0.0, 0.0)
    assert second["words"] == 18.0

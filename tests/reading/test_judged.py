"""The judge's numbers on pages of our own, beside those that were stored: a judge that drifts is seen without a corpus.

After the model was learnt anew: `python -m tests.reading.test_judged` stores its numbers.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from spaniel.reading import content, extract
from spaniel.reading.judge.model import Judgement

FOLDER = Path(__file__).parent / "judged"
STORED = FOLDER / "numbers.json"
PAGES = sorted(page.stem for page in FOLDER.glob("*.html"))
URL = "https://example.org/2024/a-page-of-our-own"


def judged(name: str, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the judge at work says about a page, and what is made of it."""
    seen: list[Judgement] = []
    judge = getattr(content, "judge")  # noqa: B009 - compiled or not: mypy knows neither

    def watched(body: Any, facts: Any) -> Judgement:
        seen.append(judge(body, facts))
        return seen[-1]

    patch.setattr(content, "judge", watched)
    document = extract((FOLDER / f"{name}.html").read_bytes(), url=URL)
    (found,) = seen
    return {
        "kind": document.kind,
        "kinds": [round(value, 6) for value in found.kinds],
        "odds": [round(value, 6) for value in found.odds],
        "words": [int(value) for value in found.words],
        "markdown": document.markdown.split("\n"),
    }


@pytest.mark.req("FG-16", "FR-WF-13")
@pytest.mark.usefixtures("either_judge")
@pytest.mark.parametrize("name", PAGES)
def test_the_judge_says_of_our_pages_what_it_has_always_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored, found = json.loads(STORED.read_text("utf-8"))[name], judged(name, monkeypatch)
    for numbers in ("kinds", "odds"):
        assert found.pop(numbers) == pytest.approx(stored.pop(numbers), abs=2e-6)
    assert found == stored


def test_the_pages_are_of_several_kinds() -> None:
    stored = json.loads(STORED.read_text("utf-8"))
    assert sorted(stored) == PAGES
    assert len({numbers["kind"] for numbers in stored.values()}) >= 4
    assert sum(len(numbers["odds"]) for numbers in stored.values()) >= 80


def store() -> None:
    setattr(content, "judge", import_module("spaniel.reading.judge.model").judge)  # noqa: B010 - mypy does not know it
    numbers = {}
    for name in PAGES:
        with pytest.MonkeyPatch.context() as patch:
            numbers[name] = judged(name, patch)
    STORED.write_text(json.dumps(numbers, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    store()

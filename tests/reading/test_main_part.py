"""FR-WF-13 step 4: `<main>` and `role="main"` alike are preferred, and what stands before them is treated as what follows."""

from __future__ import annotations

import pytest

import spaniel
from tests.reading.test_short_parts import prose

pytestmark = pytest.mark.usefixtures("either_judge")
BOXES = {
    "stray": "<p>Stray words of no one in particular.</p>",
    "newsletter": "<div class=newsletter><p>Stray: subscribe to our newsletter, it is free of charge.</p></div>",
    "newsletter without a name": "<div><h3>Newsletter</h3><p>Stray: subscribe to our newsletter, every week.</p></div>",
    "comments": "<div class=comments><p>Stray: first! I do not agree with this at all.</p></div>",
    "comments by id": "<section id=comments><h3>Comments</h3><p>Stray: I do not agree with this at all.</p></section>",
}


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("main", ["<main>", "<div role=main>", "<section role=main>"])
def test_what_stands_beside_the_main_part_goes(main: str, box: str, size: int) -> None:
    text = "".join(f"<p>{prose(200, seed)}</p>" for seed in range(size))
    part = f"{main}<h1>Lamp</h1>{text}{main[0]}/{main[1:].split(maxsplit=1)[0].rstrip('>')}>"
    for page in (BOXES[box] + part, part + BOXES[box]):
        markdown = spaniel.extract(f"<title>Lamp</title><body>{page}").markdown
        assert "Stray" not in markdown
        assert text[3:60] in markdown


@pytest.mark.req("FR-WF-13", "D2-08")
def test_main_part_without_text_rules_nothing() -> None:
    text = "".join(f"<p>{prose(200, seed)}</p>" for seed in range(4))
    for main in ("<main></main>", "<div role=main><p>Few words.</p></div>"):
        assert text[3:60] in spaniel.extract(f"<title>Lamp</title><body>{main}<div>{text}</div>").markdown


@pytest.mark.req("FR-WF-13")
def test_title_before_the_main_part_stays() -> None:
    page = f"<title>Site</title><body><h1>Lamps of the river</h1><main><p>{prose(200)}</p></main>"
    assert spaniel.extract(page).markdown.startswith("# Lamps of the river\n")

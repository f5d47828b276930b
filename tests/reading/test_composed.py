"""Text that a browser shows and that stands in buttons, drawings, shadow roots or closed tabs."""

from __future__ import annotations

import pytest

import spaniel
from tests.reading.test_short_parts import prose

pytestmark = pytest.mark.usefixtures("either_judge")
TEXT = "".join(f"<p>{prose(250, seed)}</p>" for seed in range(3))
OPERATION = (
    '<div class="opblock opblock-get"><div class="opblock-summary"><button aria-expanded="false" '
    'class="opblock-summary-control"><span class="opblock-summary-method">{0}</span><div><span><a class="nostyle" '
    'href="#/pet/{1}"><span>/pet/{1}</span></a></span><div class="opblock-summary-description">Find pet {1}</div></div>'
    "</button></div></div>"
)


@pytest.mark.req("FR-WF-13")
def test_operations_of_swagger_ui_are_kept() -> None:
    rows = "".join(OPERATION.format(verb, verb.lower()) for verb in ("GET", "POST", "DELETE"))
    markdown = spaniel.extract(f"<div class=swagger-ui><h2>Petstore</h2><p>A sample server.</p>{rows}</div>").markdown
    for verb in ("GET", "POST", "DELETE"):
        assert verb in markdown
        assert f"/pet/{verb.lower()}" in markdown
        assert f"Find pet {verb.lower()}" in markdown


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize(
    "button", ["<button>Copy it all now</button>", "<button aria-expanded=false>More of it</button>"]
)
def test_control_plain_buttons_go(button: str) -> None:
    assert "it" not in spaniel.extract(f"<main><p>Words.</p>{button}</main>").markdown.split()


@pytest.mark.req("FR-WF-13")
@pytest.mark.parametrize("text", ["", TEXT], ids=["small page", "long page"])
def test_labels_of_a_diagram_are_a_line(text: str) -> None:
    drawing = (
        "<svg><title>Chart</title><g><text>Start <tspan>node</tspan></text></g><foreignObject><div>End node</div>"
        "</foreignObject><text>12</text><g display=none><text>SECRET</text></g><g style='opacity:0'><text>SECRET</text></g>"
        "<text visibility=hidden>SECRET</text><defs><text>SECRET</text></defs></svg>"
    )
    markdown = spaniel.extract(f"<main><h1>Flow</h1>{text}{drawing}</main>").markdown
    assert "Start node · End node" in markdown
    assert "SECRET" not in markdown
    assert "Start" not in spaniel.extract(f"<main><h1>Flow</h1>{text}<div hidden>{drawing}</div></main>").markdown


@pytest.mark.req("FR-WF-13")
def test_declarative_shadow_root_is_read_as_it_is_shown() -> None:
    card = (
        "<x-card><template shadowrootmode=open><p>Inside the shadow.</p><slot></slot><slot name=end>fallback</slot>"
        "</template><p>In the light.</p><p slot=end>At the end.</p><p slot=none>SECRET</p></x-card>"
    )
    for text in ("", TEXT):
        markdown = spaniel.extract(f"<main>{text}{card}</main>").markdown
        places = [markdown.find(part) for part in ("Inside the shadow.", "In the light.", "At the end.")]
        assert -1 not in places
        assert places == sorted(places)
        assert "SECRET" not in markdown
        assert "fallback" not in markdown
    closed = card.replace("=open", "=closed")
    assert "Inside" not in spaniel.extract(f"<main>{closed}</main>").markdown
    plain = "<main><p>x</p><template><p>SECRET</p></template></main>"
    assert "SECRET" not in spaniel.extract(plain).markdown


@pytest.mark.req("D2-08")
@pytest.mark.parametrize("hidden", ["hidden", "style='display:none'", "aria-hidden=true"])
def test_closed_tab_panel_is_kept_and_other_hidden_text_is_not(hidden: str) -> None:
    tabs = "<div role=tablist><a role=tab id=t1>One</a><a role=tab id=t2 aria-controls=p2>Two</a></div>"
    panels = (
        f"<div role=tabpanel {hidden}><p>The first panel has words.</p></div><div id=p2 {hidden}><p>The second panel has "
        f"words.</p></div><div aria-labelledby=t1 {hidden}><p>The third panel has words.</p></div>"
        f"<div aria-labelledby=other {hidden}><p>SECRET words.</p></div><div {hidden}><p>SECRET words.</p></div>"
    )
    markdown = spaniel.extract(f"<main>{TEXT}{tabs}{panels}</main>").markdown
    assert [f"The {place} panel" in markdown for place in ("first", "second", "third")] == [True] * 3
    assert "SECRET" not in markdown

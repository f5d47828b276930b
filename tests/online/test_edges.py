"""Where things give way: memory that is full, pages that vanish between two requests, readers that leave early."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.learnt import Learnt
from spaniel.net.deadline import Deadline
from spaniel.online import canonicalizer as canonicalizer_module
from spaniel.online import visits
from spaniel.online.canonicalizer import deeper_link
from spaniel.reading.metadata.page_facts import PageLink
from spaniel.testing import redirect
from spaniel.url import load
from tests.online.sites import ALLOWLIST
from tests.online.world import Web, World, open_world, sleeping


async def test_with_room_for_one_answer_and_one_page_all_is_told_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for one answer alone: a fold needs those that it has asked for."""
    monkeypatch.setattr(canonicalizer_module, "MAX_REMEMBERED", 8)
    monkeypatch.setattr(visits, "MAX_KEPT", 1)
    canonicalizer = world.canonicalizer(ALLOWLIST)
    urls = [
        "https://euskadi.eus/tramite/eu/12345",
        "http://www.boe.es/buscar/",
        "https://junta.es/tramites/padron-municipal",
    ] * 2
    found = [(await canonicalizer.canonicalize(url)).url for url in urls]
    assert (
        found[:3]
        == found[3:]
        == [
            "https://euskadi.eus/tramite/es/12345",
            "https://www.boe.es/buscar",
            "https://www.junta.es/tramites/padron-municipal",
        ]
    )
    assert len(canonicalizer._remembered) <= 8


@pytest.mark.req("CP-26", "CP-28")
async def test_a_page_that_answers_head_and_not_get_tells_nothing(world: World) -> None:
    url = "https://www.boe.es/buscar/leyes?tipo=leyes&p=7"
    world.web.hangs_up.add(f"GET {url}")
    result = await world.canonicalizer().canonicalize(url)
    assert result.url == "https://www.boe.es/buscar/leyes?tipo=leyes"
    assert result.pagination is not None
    assert result.pagination.total_pages is None


async def test_reading_ends_at_circles_and_off_the_list(world: World) -> None:
    reader = world.canonicalizer(ALLOWLIST)._visits
    assert await reader.read("https://www.junta.es/circulo/a", Deadline(60)) is None
    assert await reader.read("https://www.junta.es/fuera/a", Deadline(60)) is None
    assert not [key for key in world.web.asked if "tienda" in key]


@pytest.mark.req("CP-24", "CP-27")
async def test_what_nobody_answers_is_not_learnt(world: World) -> None:
    world.web.hangs_up |= {"HEAD https://corto.example/", "GET https://corto.example/"}
    world.web.pages["http://junta.es/"] = redirect("https://goo.gl/parado")  # a shortener is never a preferred host
    canonicalizer = world.canonicalizer(ALLOWLIST)
    assert (await canonicalizer.canonicalize("https://corto.example/x")).url == "https://www.seg-social.es/por/fin.html"
    url = "https://junta.es/tramites/padron-municipal"
    assert (await canonicalizer.canonicalize(url)).url == url
    assert canonicalizer.learnt._since.shorteners == {}
    assert "junta.es" not in canonicalizer.learnt._since.preferred_hosts


async def test_whoever_leaves_a_list_early_leaves_nothing_behind(world: World) -> None:
    async for found in world.canonicalizer().many(["https://www.boe.es/buscar"] * 40, at_once=4):
        assert found.canonical is not None
        break
    generator = world.canonicalizer().many(["https://www.boe.es/buscar"] * 40, at_once=4)
    assert (await anext(generator)).canonical is not None
    await generator.aclose()  # type: ignore[attr-defined]


@pytest.mark.req("CP-15")
async def test_no_deeper_link_is_proposed_of_a_page_that_does_not_come(ca_file: str) -> None:
    async with open_world(Web({}), ca_file, http=sleeping) as world:
        assert await world.canonicalizer(seconds=1).deeper_link("http://lento.es/", "Solicitud") is None
    odd = [
        PageLink("no url", "Solicitud de ayuda"),
        PageLink("https://a.es/x/solicitud-ayuda.html", "Solicitud de ayuda"),
    ]
    found = deeper_link(odd, "Solicitud de ayuda", "https://a.es/", load("clara"))
    assert found is not None
    assert found.url == "https://a.es/x/solicitud-ayuda.html"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpanielError, match="cannot be written"):
        Learnt().save(tmp_path / "none" / "learnt.toml")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SpanielError, match="cannot be read"):
        Learnt().save(tmp_path / "folder")
    Learnt().save()  # nothing was asked for, nothing is written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]

"""The result besides the canonical URL: chain, pages, languages, questions; and the number of requests."""

from __future__ import annotations

import pytest

from spaniel.testing import redirect
from spaniel.url.canonical import Variant
from spaniel.url.questions import RedirectHop
from tests.online.sites import ALLOWLIST, CATALAN, FRENCH, page, versions
from tests.online.world import SLEEPS, Web, World, open_world


@pytest.mark.req("CP-09", "CP-21")
async def test_the_chain_is_kept_with_the_status_of_each_hop(world: World) -> None:
    result = await world.canonicalizer().canonicalize("https://seg-social.es/imv")
    assert result.redirect_chain == [
        RedirectHop(301, "https://www.seg-social.es/imv"),
        RedirectHop(302, "https://www.seg-social.es/wps/portal/wss/internet/Trabajadores/65850d68?utm_source=imv"),
    ]
    assert result.as_dict()["redirect_chain"] == [hop._asdict() for hop in result.redirect_chain]


@pytest.mark.req("CP-11", "CP-26")
@pytest.mark.parametrize(
    ("url", "param", "total"),
    [
        ("https://www.boe.es/buscar/leyes?tipo=leyes&p=7", "p", 12),  # rel=last
        ("https://www.boe.es/buscar/normas?p=3", "p", 9),  # the highest that is linked
        ("https://www.boe.es/buscar/avisos?pagina=2", "pagina", 40),  # the page's own words
        ("https://www.boe.es/buscar/edictos?page=2", "page", None),  # it does not tell
    ],
)
async def test_the_number_of_pages_is_told_where_the_page_tells_it(
    world: World, url: str, param: str, total: int | None
) -> None:
    result = await world.canonicalizer().canonicalize(url)
    assert result.as_dict()["pagination"] == {"paginated": True, "page_param": param, "total_pages": total}


@pytest.mark.req("CP-12", "CP-25")
async def test_french_is_named_where_it_answers_in_french(world: World) -> None:
    result = await world.canonicalizer().canonicalize("https://euskadi.eus/tramite/eu/12345")
    assert result.lang_variants == [
        Variant("es", "https://euskadi.eus/tramite/es/12345", proved=True),
        Variant("eu", "https://euskadi.eus/tramite/eu/12345", proved=True),
        Variant("fr", "https://euskadi.eus/tramite/fr/12345", proved=True),
    ]
    note = next(step.note for step in result.steps if step.rule == "prefer-language")
    assert note == "also in: fr"


@pytest.mark.req("CP-12", "CP-25")
@pytest.mark.parametrize("word", ["es", "cas", "castellano"])
@pytest.mark.parametrize("url", ["https://a.es/{}/x/y", "https://a.es/x/y?lang={}", "https://{}.a.es/x/y"])
async def test_spanish_is_asked_for_by_each_of_its_words(ca_file: str, url: str, word: str) -> None:
    pages = {url.format("ca"): page(CATALAN, lang="ca"), url.format(word): page(lang="es")}
    async with open_world(Web(pages), ca_file) as world:
        result = await world.canonicalizer().canonicalize(url.format("ca"))
    assert result.url == url.format(word)
    assert [variant.lang for variant in result.lang_variants] == ["ca", "es"]


@pytest.mark.req("CP-25")
async def test_without_an_allowlist_a_site_speaks_only_for_itself(ca_file: str) -> None:
    pages = {
        "https://a.es/ca/x/y": page(
            CATALAN, head=versions(es="https://b.es/es/x/y", fr="https://www.a.es/fr/x/y"), lang="ca"
        ),
        "https://b.es/es/x/y": page(lang="es"),
        "https://www.a.es/fr/x/y": page(FRENCH, lang="fr"),
    }
    async with open_world(Web(pages), ca_file) as world:
        result = await world.canonicalizer().canonicalize("https://a.es/ca/x/y")
        assert result.url == "https://a.es/ca/x/y"
        assert {variant.lang for variant in result.lang_variants} == {"ca", "fr"}
        listed = await world.canonicalizer("a.es\nb.es").canonicalize("https://a.es/ca/x/y")
        assert listed.url == "https://b.es/es/x/y"


@pytest.mark.req("CP-16")
async def test_explain_shows_what_was_asked_what_came_back_and_what_followed(world: World) -> None:
    result = await world.canonicalizer().canonicalize("http://viejo.es/tramites/alta")
    [step] = [step for step in result.steps if step.rule == "upgrade-scheme"]
    [exchange] = step.asked
    assert exchange.question == "does viejo.es answer over HTTPS?"
    assert exchange.answer.startswith("no: ")
    assert "HTTP answers 200" in exchange.answer
    assert step.note == "this host has no HTTPS"
    assert not [step for step in result.steps if step.rule == "drop-params" and step.asked]


async def test_each_thing_is_asked_once_however_many_urls_want_to_know(world: World) -> None:
    canonicalizer = world.canonicalizer()
    urls = ["http://www.boe.es/buscar/", "http://www.boe.es/buscar", "https://www.boe.es/buscar#a"] * 5
    found = [found async for found in canonicalizer.many(urls)]
    assert [f.canonical and f.canonical.url for f in found] == ["https://www.boe.es/buscar"] * 15
    assert [f.raw for f in found] == urls
    pages = {key: times for key, times in world.web.asked.items() if "robots.txt" not in key}
    assert set(pages.values()) == {1} or pages == {**pages, "HEAD https://www.boe.es/buscar": 2}, pages


async def test_a_list_keeps_its_order_and_a_refusal_its_place(world: World) -> None:
    urls = ["https://www.junta.es/fuera/a", "https://www.junta.es/indice", "no url", "https://mudo.es/x/y"]
    found = [found async for found in world.canonicalizer(ALLOWLIST).many(urls, at_once=2)]
    assert [f.canonical.url if f.canonical else str(f.error.code) if f.error else "" for f in found] == [
        "invalid_host",
        "https://www.junta.es/indice",
        "invalid_url",
        "https://mudo.es/x/y",
    ]


async def test_a_page_that_is_not_there_is_not_asked_for_its_title(world: World) -> None:
    await world.canonicalizer().canonicalize("https://www.junta.es/roto/a")
    assert [key for key in world.web.asked if "/roto/a" in key] == [
        "HEAD https://www.junta.es/roto/a",
        "GET https://www.junta.es/roto/a",  # a HEAD alone is not believed
    ]


@pytest.mark.req("CP-21")
async def test_what_is_canonical_stays_so(world: World) -> None:
    """A second run with the result of the first changes nothing."""
    canonicalizer = world.canonicalizer(ALLOWLIST)
    for url in (
        "https://seg-social.es/imv",
        "https://www.junta.es/padron/",
        "http://viejo.es/tramites/alta",
        "https://web.gencat.cat/ca/tramits/tramit-12345",
        "https://recaudacion.es/pagos/tasas",
        "https://www.cabildo.es/ayudas/vivienda",
    ):
        once = (await canonicalizer.canonicalize(url)).url
        assert (await canonicalizer.canonicalize(once)).url == once


async def test_a_document_is_not_fetched_to_be_read(world: World) -> None:
    await world.canonicalizer().canonicalize("https://www.junta.es/impresos/solicitud")
    assert [key for key in world.web.asked if "/impresos/" in key] == ["HEAD https://www.junta.es/impresos/solicitud"]


@pytest.mark.req("CP-21")
async def test_a_circle_is_left_when_it_closes(world: World) -> None:
    result = await world.canonicalizer().canonicalize("https://www.junta.es/circulo/a")
    assert next(step.note for step in result.steps if step.rule == "follow-redirects").startswith(
        "the redirects go in a circle"
    )
    assert sum(times for key, times in world.web.asked.items() if "/circulo/" in key) == 2


@pytest.mark.parametrize("status", [400, 403, 404, 405, 501])
async def test_a_server_that_does_not_know_head_is_asked_with_get(world: World, status: int) -> None:
    """By its answer, or by hanging up."""
    url = "https://www.junta.es/tramites/padron-municipal"
    world.web.hangs_up.add(f"HEAD {url}")
    result = await world.canonicalizer().canonicalize(url)
    assert (result.url, result.flags) == (url, [])
    world.web.hangs_up.clear()
    world.web.pages[url] = (status, {}, b"")
    assert f"status-{status}" in (await world.canonicalizer().canonicalize(url)).flags


@pytest.mark.req("CP-22")
async def test_silence_on_the_port_of_https_proves_nothing(ca_file: str) -> None:
    web = Web({"http://lento.es/": page(), "http://lento.es/a/b": page()}, {"lento.es": SLEEPS})
    async with open_world(web, ca_file) as world:
        result = await world.canonicalizer(seconds=4).canonicalize("http://lento.es/a/b")
    assert "http-only" not in result.flags
    assert "no-answer" in result.flags


@pytest.mark.req("CP-24")
@pytest.mark.parametrize("target", ["https://tienda.example/", "https://www.junta.es:8443/", "https://nadie.es/"])
async def test_a_bare_domain_that_leads_elsewhere_is_no_form_of_it(world: World, target: str) -> None:
    world.web.pages["http://junta.es/"] = redirect(target)
    url = "https://junta.es/tramites/padron-municipal"
    assert (await world.canonicalizer(ALLOWLIST).canonicalize(url)).url == url


@pytest.mark.req("CP-23")
async def test_a_slash_is_kept_only_where_the_page_needs_it(world: World) -> None:
    canonicalizer = world.canonicalizer(ALLOWLIST)
    needed = await canonicalizer.canonicalize("https://www.junta.es/padron/")
    idle = await canonicalizer.canonicalize("https://www.junta.es/becas/")
    assert (needed.url, "trailing-slash-kept" in needed.flags) == ("https://www.junta.es/padron/", True)
    assert (idle.url, "trailing-slash-kept" in idle.flags) == ("https://www.junta.es/becas", False)


@pytest.mark.req("CP-27")
@pytest.mark.parametrize(("bare", "known"), [("https://www.corto.example/", False), ("https://www.boe.es/", True)])
async def test_a_bare_address_that_leads_to_its_own_domain_makes_no_shortener(
    world: World, bare: str, known: bool
) -> None:
    world.web.pages["https://corto.example/"] = redirect(bare)
    result = await world.canonicalizer().canonicalize("https://corto.example/x")
    note = next(step.note for step in result.steps if step.rule == "follow-redirects")
    assert ("a shortener, by what its bare address does" in note) is known


@pytest.mark.req("CP-27")
async def test_a_host_that_sends_one_page_elsewhere_is_no_shortener(world: World) -> None:
    world.web.pages["https://corto.example/"] = page()
    canonicalizer = world.canonicalizer()
    result = await canonicalizer.canonicalize("https://corto.example/x")
    assert result.url == "https://www.seg-social.es/por/fin.html"
    note = next(step.note for step in result.steps if step.rule == "follow-redirects")
    assert not note
    shortened = await world.canonicalizer().canonicalize("https://bit.ly/3abc")
    assert "a shortener, resolved" in [step.note for step in shortened.steps]

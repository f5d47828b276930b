"""Document 3, row by row, against a web of public sites: what each URL becomes when the web is asked.

The table is for editors of the document: read it from the left. `pytest tests/online -s` prints it with what came.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from spaniel.errors import SpanielError
from spaniel.url import Canonical
from tests.online.sites import ALLOWLIST
from tests.online.world import World

SEDE = "https://sede.junta.gob.es"


class Row(NamedTuple):
    """One case of the document."""

    name: str
    ids: str
    written: str | bytes
    stored: str  # or what the refusal says
    flags: str = ""
    kind: str = ""  # the link's class, where the row is about it


ROWS = (
    Row("rule 1: https always", "CP-01", "http://www.boe.es/buscar/", "https://www.boe.es/buscar"),
    Row("rule 1: HTTPS refused", "CP-22", "http://viejo.es/tramites/alta", "http://viejo.es/tramites/alta", "http-only"),
    Row("rule 1: HTTPS reset", "CP-22", "http://cortado.es/tramites/alta", "http://cortado.es/tramites/alta", "http-only"),
    Row("rule 1: no TLS on 443", "CP-22", "http://llano.es/tramites/alta", "http://llano.es/tramites/alta", "http-only"),
    Row("rule 1: another's certificate", "CP-22", "http://prestado.es/tramites/alta", "http://prestado.es/tramites/alta", "http-only"),
    Row("rule 1: HTTPS sends back", "CP-22", "http://vuelta.es/tramites/alta", "http://vuelta.es/tramites/alta", "http-only"),
    Row("rule 1: written with https", "CP-22", "https://viejo.es/tramites/alta", "http://viejo.es/tramites/alta", "http-only"),
    Row("rule 1: neither answers", "CP-21 CP-22", "http://mudo.es/tramites/alta", "https://mudo.es/tramites/alta", "no-answer"),
    Row("rule 2: slash removed", "CP-02 CP-23", "https://sepe.es/HomeSepe/Personas/", "https://www.sepe.es/HomeSepe/Personas"),
    Row("rule 2: at the root", "CP-02", "https://boe.es/", "https://www.boe.es"),
    Row("rule 2: both are there", "CP-23", "https://www.junta.es/indice/", "https://www.junta.es/indice"),
    Row("rule 2: a folder's slash", "CP-23", "https://www.junta.es/becas/", "https://www.junta.es/becas"),
    Row("rule 2: without it, nothing", "CP-23", "https://www.junta.es/padron/", "https://www.junta.es/padron/", "trailing-slash-kept"),
    Row("rule 2: without it, another page", "CP-23", "https://www.junta.es/censo/", "https://www.junta.es/censo/", "trailing-slash-kept"),
    Row("rule 2: neither is there", "CP-23", "https://www.junta.es/nada/", "https://www.junta.es/nada", "status-404"),
    Row("rule 3: tracking dropped", "CP-03", "https://sepe.es/page?utm_source=twitter&lang=es", "https://www.sepe.es/page?lang=es"),
    Row("rule 4: fragment dropped", "CP-06", "https://inclusion.gob.es/extranjeria#requisitos", "https://inclusion.gob.es/extranjeria"),
    Row("rule 5: boe.es", "CP-07", "https://boe.es/buscar/act.php?id=BOE-A-2023-12345", "https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345"),
    Row("rule 5: agenciatributaria.es", "CP-07", "https://agenciatributaria.es/Sede/irpf", "https://sede.agenciatributaria.gob.es/Sede/irpf"),
    Row("rule 5: comunidad.madrid", "CP-07", "https://comunidad.madrid/servicios/empleo", "https://www.comunidad.madrid/servicios/empleo", "host-form-unsure"),
    Row("rule 5: www found out", "CP-24", "https://junta.es/tramites/padron-municipal", "https://www.junta.es/tramites/padron-municipal"),
    Row("rule 5: bare form found out", "CP-24", "https://www.cabildo.es/ayudas/vivienda", "https://cabildo.es/ayudas/vivienda"),
    Row("rule 5: a seat found out", "CP-24", "https://recaudacion.es/pagos/tasas", "https://sede.recaudacion.gob.es/pagos/tasas"),
    Row("rule 5: not under that form", "CP-24", "https://junta.es/solo/aqui", "https://junta.es/solo/aqui", "host-form-unproved"),
    Row("rule 6: case", "CP-08", "https://SEPE.ES/HomeSepe/Personas", "https://www.sepe.es/HomeSepe/Personas"),
    Row("rule 7: the document's chain", "CP-09 CP-21", "https://seg-social.es/imv", "https://www.seg-social.es/wps/portal/wss/internet/Trabajadores/65850d68"),
    *(
        Row(f"rule 7: {status}", "CP-21", f"https://www.seg-social.es/por/{status}", "https://www.seg-social.es/por/fin.html")
        for status in (301, 302, 303, 307, 308)
    ),
    Row("rule 7: five hops", "CP-09 CP-21", "https://www.junta.es/cinco/1", "https://www.junta.es/cinco/6"),
    Row("rule 7: six hops", "CP-09 CP-21", "https://www.junta.es/seis/1", "https://www.junta.es/seis/1", "redirect-limit"),
    Row("rule 7: a circle", "CP-21", "https://www.junta.es/circulo/a", "https://www.junta.es/circulo/a", "redirect-limit"),
    Row("rule 7: off the list, midway", "CP-09 CP-21", "https://www.junta.es/venta/a", "redirect 1 of https://www.junta.es/venta/a: 302 https://tienda.example/oferta"),
    Row("rule 7: off the list, at the end", "CP-09 CP-21", "https://www.junta.es/fuera/a", "redirect 1 of https://www.junta.es/fuera/a: 302 https://tienda.example/compra"),
    Row("rule 7: to a private address", "CP-21", "https://www.junta.es/privado/a", "redirect 1 of https://www.junta.es/privado/a: 302 http://10.0.0.1/admin"),
    Row("rule 7: to a port of no web site", "CP-21", "https://www.junta.es/puerto/a", "Port 22 is not allowed"),
    Row("rule 7: to a page that is gone", "CP-21", "https://www.junta.es/ido/a", "https://www.junta.es/ido/a", "status-404"),
    Row("rule 7: a broken server", "CP-21", "https://www.junta.es/roto/a", "https://www.junta.es/roto/a", "status-500"),
    Row("rule 7: not for everybody", "CP-21", "https://www.junta.es/protegido/a", "https://www.junta.es/protegido/a", "status-403"),
    Row("rule 7: no response", "CP-21", "https://mudo.es/tramites/alta", "https://mudo.es/tramites/alta", "no-answer"),
    Row("rule 7: no such name", "CP-21", "https://nadie.es/tramites/alta", "https://nadie.es/tramites/alta", "no-answer"),
    Row("rule 7: robots.txt forbids", "CP-21", "https://callado.es/tramites/alta", "https://callado.es/tramites/alta", "no-answer"),
    Row("rule 8: sessions", "CP-10", f"{SEDE}/tramite;jsessionid=ABC123?id=456", f"{SEDE}/tramite?id=456"),
    Row("rule 9: rel=last", "CP-11 CP-26", "https://www.boe.es/buscar/leyes?tipo=leyes&p=7", "https://www.boe.es/buscar/leyes?tipo=leyes"),
    Row("rule 10: named by the site", "CP-12 CP-25", "https://web.gencat.cat/ca/tramits/tramit-12345", "https://web.gencat.cat/es/tramits/tramit-12345"),
    Row("rule 10: named in a header", "CP-25", "https://xunta.es/gal/tramites/obras", "https://xunta.es/castellano/tramites/obras"),
    Row("rule 10: asked, in the path", "CP-12 CP-25", "https://euskadi.eus/tramite/eu/12345", "https://euskadi.eus/tramite/es/12345"),
    Row("rule 10: asked, in a parameter", "CP-25", "https://www.dogv.es/avis?lang=ca", "https://www.dogv.es/avis?lang=es"),
    Row("rule 10: asked, in the host", "CP-25", "https://ca.parcs.es/rutes/montseny", "https://es.parcs.es/rutes/montseny"),
    Row("rule 10: no Spanish", "CP-12 CP-25", "https://euskadi.eus/bakarrik/eu/1", "https://euskadi.eus/bakarrik/eu/1", "no-preferred-language"),
    Row("rule 10: Spanish by name only", "CP-25", "https://web.gencat.cat/ca/nomes/catala", "https://web.gencat.cat/ca/nomes/catala", "no-preferred-language"),
    Row("rule 10: Spanish leads home", "CP-25", "https://web.gencat.cat/ca/torna/casa", "https://web.gencat.cat/ca/torna/casa", "no-preferred-language"),
    Row("rule 10: named elsewhere", "CP-25", "https://web.gencat.cat/ca/menteix/aqui", "https://web.gencat.cat/ca/menteix/aqui", "no-preferred-language"),
    Row("class: by its title", "CP-28", "https://www.sepe.es/HomeSepe/Empresas", "https://www.sepe.es/HomeSepe/Empresas", "", "informative"),
    Row("class: a section", "CP-13 CP-28", "https://www.sepe.es/HomeSepe/Personas", "https://www.sepe.es/HomeSepe/Personas", "", "section"),
    Row("class: a home page", "CP-13", "https://www.boe.es", "https://www.boe.es", "", "homepage"),
    Row("shortener: to the list", "CP-18 CP-27", "https://bit.ly/3abc", "https://www.seg-social.es/por/fin.html"),
    Row("shortener: over another", "CP-27", "https://bit.ly/dos", "https://www.seg-social.es/por/fin.html"),
    Row("shortener: off the list", "CP-18 CP-27", "https://bit.ly/compra", "redirect 1 of https://bit.ly/compra: 301 https://tienda.example/compra"),
    Row("shortener: ends at another", "CP-27", "https://bit.ly/parado", "redirect 1 of https://bit.ly/parado: 301 https://goo.gl/parado"),
    Row("shortener: to nothing", "CP-27", "https://bit.ly/nada", "https://bit.ly/nada", "shortener-unresolved status-404"),
    Row("shortener: by what it does", "CP-27", "https://corto.example/x", "https://www.seg-social.es/por/fin.html"),
    Row("encoding: spaces", "CP-19", f"{SEDE}/tramite con espacios", f"{SEDE}/tramite%20con%20espacios"),
    Row("encoding: not UTF-8", "CP-19", f"{SEDE}/tr".encode() + b"\xe1mite", f"{SEDE}/tr%E1mite"),
)  # fmt: skip


@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=pytest.mark.req(*row.ids.split()), id=row.name) for row in ROWS]
)
async def test_the_document_is_told_right(row: Row, world: World) -> None:
    found, flags, kind = row.stored, row.flags, row.kind
    try:
        result = await world.canonicalizer(ALLOWLIST).canonicalize(row.written)
    except SpanielError as error:
        said = f"{error.message}"
        print(f"| {row.name:34} | {shown(row.written)} | refused: {said} |")
        assert found in said
        return
    print(f"| {row.name:34} | {shown(row.written)} | {result.url} | {' '.join(result.flags)} | {result.link_type} |")
    assert (result.url, " ".join(result.flags)) == (found, flags), explained(result)
    assert not kind or result.link_type == kind, explained(result)


@pytest.mark.req("CP-12")
@pytest.mark.parametrize(
    ("written", "languages"),
    [
        ("/ca/tramits/tramit-12345", {"ca": "/ca/tramits/tramit-12345", "en": "/en/tramits/tramit-12345", "es": "/es/tramits/tramit-12345"}),
        ("/ca/menu/idiomes", {lang: f"/{lang}/menu/idiomes" for lang in ("ca", "de", "en", "es", "oc")}),
    ],
)  # fmt: skip
async def test_every_language_version_that_a_page_offers_is_recorded(
    written: str, languages: dict[str, str], world: World
) -> None:
    """In its head, in a menu of links, or on the version that is preferred."""
    site = "https://web.gencat.cat"
    result = await world.canonicalizer(ALLOWLIST).canonicalize(site + written)
    assert result.url == site + languages["es"]
    assert {variant.lang: variant.url for variant in result.lang_variants} == {
        lang: site + path for lang, path in languages.items()
    }


@pytest.mark.req("CP-09", "CP-21")
async def test_a_chain_that_is_too_long_is_stored_with_the_original(world: World) -> None:
    result = await world.canonicalizer(ALLOWLIST).canonicalize("https://www.junta.es/seis/1")
    assert (result.url, result.flags) == ("https://www.junta.es/seis/1", ["redirect-limit"])
    assert [hop.url for hop in result.redirect_chain] == [f"https://www.junta.es/seis/{n}" for n in range(2, 8)]


def shown(written: str | bytes) -> str:
    return written if isinstance(written, str) else repr(written)


def explained(result: Canonical) -> str:
    lines = []
    for step in result.steps:
        lines.append(f"{step.rule}: {step.after}  {step.note}")
        lines += [f"    {question} {answer}" for question, answer in step.asked]
    return "\n" + "\n".join(lines)

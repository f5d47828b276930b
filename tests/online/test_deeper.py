"""Which link of a page fits a record's title."""

from __future__ import annotations

import pytest

from spaniel.online.canonicalizer import deeper_link
from spaniel.reading.metadata.page_facts import PageLink
from spaniel.url import load

PAGE = "https://www.sepe.es/HomeSepe/Personas"
CLARA = load("clara")


def found(title: str, *links: tuple[str, str]) -> str | None:
    best = deeper_link(
        [PageLink(f"https://www.sepe.es{url}" if url[0] == "/" else url, text) for url, text in links],
        title,
        PAGE,
        CLARA,
    )
    return best and best.url.removeprefix("https://www.sepe.es")


@pytest.mark.req("CP-15")
@pytest.mark.parametrize(
    ("title", "links", "best"),
    [
        (
            "Solicitud de prestación por desempleo",
            [("/a/b-c.html", "Solicitud de prestación por desempleo")],
            "/a/b-c.html",
        ),
        (
            "Solicitud de prestación por desempleo",
            [("/a/solicitud-prestacion-desempleo.html", "Más")],
            "/a/solicitud-prestacion-desempleo.html",
        ),
        (
            "SOLICITUD DE PRESTACION POR DESEMPLEO",
            [("/a/b-c.html", "Solicitud de prestación por desempleo")],
            "/a/b-c.html",
        ),
        (
            "Permiso de residencia",
            [
                ("/x/permiso-trabajo.html", "Permiso de trabajo"),
                ("/x/permiso-residencia.html", "Permiso de residencia"),
            ],
            "/x/permiso-residencia.html",
        ),
        (
            "Permiso de residencia",
            [
                ("/x/p-r-1.html", "Permiso de residencia para estudiantes de otros países"),
                ("/x/p-r-2.html", "Permiso de residencia"),
            ],
            "/x/p-r-2.html",
        ),
        ("Permiso de residencia", [("/permiso", "Permiso de residencia")], None),  # it is no deeper than a home page
        (
            "Permiso de residencia",
            [("https://tienda.example/permiso-de-residencia.html", "Permiso de residencia")],
            None,
        ),
        ("Permiso de residencia", [("/x/aviso-legal.html", "Aviso legal")], None),
        ("Permiso de residencia", [], None),
        ("de la", [("/x/de-la.html", "de la")], None),
        ("", [("/x/a-b.html", "")], None),
    ],
)
def test_the_link_that_fits_the_title_is_taken(title: str, links: list[tuple[str, str]], best: str | None) -> None:
    assert found(title, *links) == best


def test_it_is_canonical_and_never_the_page_itself() -> None:
    assert (
        found("Permiso de residencia", ("/x/permiso-residencia.html?utm_source=a#b", ""))
        == "/x/permiso-residencia.html"
    )
    itself = deeper_link(
        [PageLink(f"{PAGE}/solicitud-ayuda.html#x", "Solicitud ayuda")],
        "Solicitud ayuda",
        f"{PAGE}/solicitud-ayuda.html",
        CLARA,
    )
    assert itself is None

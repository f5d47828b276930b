"""Links in data files: found at any depth, classified, and reported with gaps and links to review."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator

import pytest

from spaniel.errors import SpanielError
from spaniel.registry.audit import (
    LONGEST_TITLE,
    AuditFinding,
    CitedLink,
    FieldNames,
    audit,
    cited,
    field_names,
    generic_slug,
    generic_slugs,
)
from spaniel.sources.files import StreamInfo, read_stream
from spaniel.sources.rows import ListOptions, Problems, SourceItem, SourceRow
from spaniel.url.links import unaccented
from spaniel.url.policy import load


def read_cited(name: str, raw: bytes, fields: Collection[str], names: FieldNames | None = None) -> Iterator[CitedLink]:
    """The links of a data file, as `spaniel db audit` finds them."""
    about = StreamInfo(name, "" if name == "-" else name)
    for row in read_stream(io.BytesIO(raw), about, ListOptions(whole_records=True), Problems()):
        assert isinstance(row, SourceRow)
        where = SourceItem(0, row.url, row.columns, name, row.place).where
        yield from cited(name, where, row.record, fields, names or field_names())


def finding(url: str, entity: str = "") -> AuditFinding:
    [found] = audit([CitedLink("f", "w", url, entity)], load("clara"))
    return found


@pytest.mark.req("CP-15")
@pytest.mark.parametrize(
    ("url", "link_class", "gap"),
    [
        ("https://www.boe.es/buscar/act.php?id=BOE-A-2000-544", "informative", False),
        ("https://sede.sepe.gob.es/prestacion-contributiva", "informative", False),
        ("https://www.sepe.es/", "homepage", True),
        ("https://www.sepe.es/personas", "homepage", True),
        ("https://www.sepe.es/HomeSepe/Personas", "section", True),
        ("nonsense", "refused", True),
        ("", "refused", True),
    ],
)
def test_a_link_has_a_class_and_a_gap_where_it_is_not_informative(url: str, link_class: str, gap: bool) -> None:
    found = finding(url)
    assert (found.link_class, found.gap) == (link_class, gap)
    assert found.is_fine != gap


@pytest.mark.req("CP-14", "CP-15")
def test_citation_is_proposed_if_the_data_name_the_entity() -> None:
    assert finding("https://www.sepe.es/", "SEPE").note == (
        'cite as "Puedes consultar mas informacion en la web del SEPE (sepe.es)"'
    )
    assert finding("https://www.sepe.es/").note == "look for a deeper link"


@pytest.mark.req("CP-15")
@pytest.mark.parametrize(
    ("url", "slug"),
    [
        ("https://www.madrid.org/sede-electronica", "sede-electronica"),
        ("https://a.gob.es/catalogo-de-tramites", "catalogo-de-tramites"),
        ("https://a.gob.es/x/tr%C3%A1mites.html", "tr%C3%A1mites.html"),
        ("https://a.gob.es/Cat%C3%A1logo-de-Tr%C3%A1mites", "Cat%C3%A1logo-de-Tr%C3%A1mites"),
        ("https://a.gob.es/Cat%C3%A1logo-de-Tr%C3%A1mites/renovaci%C3%B3n-dni", None),
        ("https://a.gob.es/x/index.html", "index.html"),
        ("https://a.gob.es/sede_electronica/inicio", "inicio"),
        ("https://a.gob.es/sede-electronica/renovacion-dni", None),
        ("https://a.gob.es/sede-electronica/tramite-12345", None),
        ("https://a.gob.es/sede-electronica?id=5", None),
        ("https://a.gob.es/catalogo-de-servicios.pdf", None),
        ("https://a.gob.es/certificado-digital", None),
    ],
)
def test_link_that_is_informative_by_a_generic_slug_needs_review(url: str, slug: str | None) -> None:
    assert generic_slug(url, load("clara")) == slug
    found = finding(url)
    assert found.link_class == "informative"
    assert not found.gap
    assert found.note == (f"review: '{slug}' is all that makes it informative, and is generic" if slug else "")


def test_the_words_are_data_in_one_spelling() -> None:
    words = generic_slugs().words
    assert {"sede", "electronica", "catalogo", "de", "tramites"} <= words
    assert all(word == unaccented(word) and word.isalnum() for word in words)


def test_a_policy_without_classes_is_refused() -> None:
    with pytest.raises(SpanielError) as caught:
        list(audit([CitedLink("f", "w", "https://a.example/")], load("exact")))
    assert "'exact' has no link classes" in caught.value.message


@pytest.mark.req("CP-15")
@pytest.mark.parametrize(
    ("name", "raw", "found"),
    [
        ("t.json", b'{"fuente_url": "u"}', [("fuente_url", "u", "")]),
        (
            "t.json",
            b'{"entidad": "SEPE", "pasos": [{"fuente_url": "u"}, {"otro": "x", "url": ["v", "w", ""]}]}',
            [("pasos[0].fuente_url", "u", "SEPE"), ("pasos[1].url[0]", "v", "SEPE"), ("pasos[1].url[1]", "w", "SEPE")],
        ),
        ("t.json", b'[{"fuente_url": null}, {"fuente_url": {"es": "u"}}]', []),
        ("t.jsonl", b'{"url": "u"}\n\n{"url": "v"}\n', [("line 1.url", "u", ""), ("line 3.url", "v", "")]),
        ("t.csv", b"name,url\nx,u\ny,v\n", [("line 2.url", "u", ""), ("line 3.url", "v", "")]),
        ("t.csv", b"name;url\nx;u\n", [("line 2.url", "u", "")]),
        (
            "t.yaml",
            b"fuente_url: u\nlista:\n- url: v\n---\nurl: w\n",
            [("fuente_url", "u", ""), ("lista[0].url", "v", ""), ("document 2.url", "w", "")],
        ),
        ("-", b' [{"url": "u"}]', [("[0].url", "u", "")]),
        ("-", b'{"url": "u"}\n{"url": "v"}', [("line 1.url", "u", ""), ("line 2.url", "v", "")]),
    ],
)
def test_links_are_found_in_data_of_every_kind(name: str, raw: bytes, found: list[tuple[str, str, str]]) -> None:
    links = list(read_cited(name, raw, {"fuente_url", "url"}))
    assert [(link.where, link.url, link.entity) for link in links] == found
    assert {link.file for link in links} <= {name}


@pytest.mark.req("CP-15")
@pytest.mark.parametrize(
    ("name", "raw", "found"),
    [
        ("t.json", '{"titulo": " Alta\\n en el  padrón ", "url": "u"}', [("Alta en el padrón", "")]),
        ("t.json", '{"name": "a", "title": "b", "url": "u"}', [("b", "")]),  # by the order of the names
        ("t.json", '{"title": "a", "steps": [{"url": "u"}, {"title": "b", "url": "v"}]}', [("a", ""), ("b", "")]),
        ("t.json", '{"Título": "a", "Organismo": "SEPE", "url": "u"}', [("a", "SEPE")]),
        ("t.json", '{"nombre": {"ca": "a", "es": "b"}, "url": "u"}', [("b", "")]),
        ("t.json", '{"nombre": {"ca": "a", "eu": 3}, "url": "u"}', [("a", "")]),
        ("t.json", '{"title": "", "nombre": "a", "url": "u"}', [("a", "")]),
        ("t.json", '{"title": 3, "nombre": ["a"], "url": "u"}', [("", "")]),
        ("t.json", '{"url": "u"}', [("", "")]),
        ("t.jsonl", '{"title": "a", "url": "u"}\n{"url": "v"}', [("a", ""), ("", "")]),
        ("t.csv", "Denominación;url\na;u\n;v\n", [("a", ""), ("", "")]),
        ("t.yaml", "title: a\nurl: u\n---\nurl: v\n", [("a", ""), ("", "")]),
    ],
)
def test_the_title_beside_a_link_or_above_it_comes_with_it(name: str, raw: str, found: list[tuple[str, str]]) -> None:
    assert [(link.title, link.entity) for link in read_cited(name, raw.encode(), {"url"})] == found


@pytest.mark.req("CP-15")
def test_the_field_of_the_title_can_be_named_and_a_text_is_cut() -> None:
    raw = '{"title": "a", "Rúbrica": "%s", "url": "u"}' % ("b" * 9_000)
    [link] = read_cited("t.json", raw.encode(), {"url"}, names=field_names(("rúbrica",)))
    assert link.title == "b" * LONGEST_TITLE
    [link] = read_cited("t.json", raw.encode(), {"url"}, names=field_names(("none",)))
    assert link.title == ""


def test_names_of_fields_are_data_in_one_spelling() -> None:
    names = field_names()
    assert {"titulo", "title", "nombre"} <= set(names.titles)
    assert all(name == unaccented(name) for group in names for name in group)

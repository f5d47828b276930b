"""`spaniel db audit --online`: what the web says of each link, and which deeper ones are proposed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.cli import db, db_audit
from spaniel.cli.db import Failures
from spaniel.registry.audit import AuditFinding
from spaniel.sources.rows import Problems
from spaniel.url import load
from spaniel.url.allowlist import read
from tests.online.sites import page
from tests.online.world import World

LINKS = (
    '<a href="/HomeSepe/Personas/distribuciones/solicitud-prestacion-desempleo.html">Solicitar la\n prestación</a>'
    '<a href="/otra-cosa.html">Otra cosa</a>'
)
TITLE = "Solicitud de la prestación por desempleo"


async def audited(engine: Engine, *argv: str, allowlist: str = "") -> list[AuditFinding]:
    args = db.parser().parse_args(["audit", "--online", *argv])
    policy = load("clara").with_allowlist(read(allowlist)) if allowlist else load("clara")
    async with Spaniel(engine=engine) as client:
        links = db_audit._cited(args, None, Failures(several=True), Problems())
        findings, stopped = await db_audit.run_online(args, links, policy, None, client)
    assert not stopped
    return findings


DATA = {
    "t.json": json.dumps({"titulo": TITLE, "pasos": [{"fuente_url": "https://sepe.es/HomeSepe/Personas"}]}),
    "t.jsonl": json.dumps({"nombre": {"ca": "Sol·licitud", "es": TITLE}, "url": "https://sepe.es/HomeSepe/Personas"}),
    "t.csv": f"Título;url\n{TITLE};https://sepe.es/HomeSepe/Personas\n",
    "t.yaml": f"title: {TITLE}\nenlaces:\n- url: https://sepe.es/HomeSepe/Personas\n",
}


@pytest.mark.req("CP-15")
@pytest.mark.parametrize("name", DATA)
async def test_a_deeper_link_is_proposed_for_the_records_title(
    engine: Engine, world: World, tmp_path: Path, name: str
) -> None:
    world.web.pages["https://www.sepe.es/HomeSepe/Personas"] = page(more=LINKS)
    (tmp_path / name).write_text(DATA[name], encoding="utf-8")
    [finding] = await audited(engine, str(tmp_path / name))
    assert (finding.link_class, finding.gap) == ("section", True)
    assert finding.canonical == "https://www.sepe.es/HomeSepe/Personas"
    assert finding.deeper == (
        "https://www.sepe.es/HomeSepe/Personas/distribuciones/solicitud-prestacion-desempleo.html"
    )
    assert finding.note == "look for a deeper link; the page contains 'Solicitar la prestación'"


ROWS: list[tuple[str, str, str, str]] = [  # url, title, class, note
    ("https://www.boe.es/", "Algo que no está", "homepage", "no link on the page fits the title"),
    ("https://www.boe.es/", "", "homepage", "the record has no title to find a deeper link by"),
    ("https://www.junta.es/roto", TITLE, "homepage", "the page could not be read: it answers 404"),
    ("https://nadie.es/", TITLE, "homepage", "the page could not be read: "),
    ("https://www.junta.es/privado/a", TITLE, "refused", "Connection to 10.0.0.1 is blocked"),
    ("https://www.sepe.es/HomeSepe/Empresas", "", "informative", ""),
    ("https://www.junta.es/tramites/alta-de-nadie", "", "informative", "review: status-404"),
    ("https://www.junta.es/circulo/a", TITLE, "section", "could not be read: the redirects go in a circle"),
    ("https://www.junta.es/impresos", TITLE, "homepage", "could not be read: it is no HTML but application/pdf"),
    ("nothing", TITLE, "refused", "URL"),
]


@pytest.mark.req("CP-15", "CP-28")
async def test_what_the_web_says_of_each_link_is_told_in_its_row(engine: Engine, world: World, tmp_path: Path) -> None:
    world.web.pages["https://www.junta.es/impresos"] = (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4")
    data = tmp_path / "t.json"
    data.write_text(json.dumps([{"url": url, "title": title} for url, title, *_ in ROWS]), encoding="utf-8")
    findings = await audited(engine, str(data))
    result = [(found.url, found.link_class) for found in findings]
    assert result == [(url, link_class) for url, _, link_class, _ in ROWS]
    for finding, (*_, note) in zip(findings, ROWS, strict=True):
        assert note in finding.note
        assert bool(note) == bool(finding.note)


@pytest.mark.req("CP-15")
async def test_a_title_field_can_be_named(engine: Engine, world: World, tmp_path: Path) -> None:
    world.web.pages["https://www.sepe.es/HomeSepe/Personas"] = page(more=LINKS)
    data = tmp_path / "t.json"
    row = {"title": "Permiso de residencia", "Rúbrica": TITLE, "url": "https://www.sepe.es/HomeSepe/Personas"}
    data.write_text(json.dumps(row), encoding="utf-8")
    assert not (await audited(engine, str(data)))[0].deeper
    assert (await audited(engine, "--title-field", "rubrica", str(data)))[0].deeper


async def test_nothing_is_proposed_that_the_allowlist_blocks(engine: Engine, world: World, tmp_path: Path) -> None:
    links = f'<a href="https://anuncios.sepe.es/a/prestacion-desempleo.html">{TITLE}</a>'
    world.web.pages["https://www.sepe.es/HomeSepe/Personas"] = page(more=links)
    data = tmp_path / "t.json"
    data.write_text(json.dumps({"title": TITLE, "url": "https://www.sepe.es/HomeSepe/Personas"}), encoding="utf-8")
    assert (await audited(engine, str(data), allowlist="sepe.es"))[0].deeper
    assert not (await audited(engine, str(data), allowlist="sepe.es\n!anuncios.sepe.es"))[0].deeper


def test_a_proposal_stands_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    found = AuditFinding("f", "w", "u", "c", "section", True, "look | [here]", "https://a.example/x/y-z")
    for form, writer in db_audit.WRITERS.items():
        writer(iter([found]))
        out = capsys.readouterr().out
        assert "deeper" in out.splitlines()[0] or form in ("json", "table")
        if form == "json":
            assert json.loads(out)[0]["deeper"] == found.deeper
        elif form == "csv":
            [row] = csv.DictReader(io.StringIO(out))
            assert (row["note"], row["deeper"]) == (found.note, found.deeper)
        elif form == "markdown":
            assert out.splitlines()[2].endswith("| look \\| \\[here\\] | https://a.example/x/y-z |")
        else:
            assert "a.example" in out

"""The ways in: `client.canonicalize`, and `spaniel canon --online` with its files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.cli import canon
from spaniel.cli.canon import run_online
from spaniel.errors import SpanielError
from spaniel.testing import settings_for
from spaniel.url import load
from tests.online.sites import ALLOWLIST
from tests.online.world import World


@pytest.fixture
async def client(world: World, tmp_path: Path) -> AsyncIterator[Spaniel]:
    engine = world.put_into(Engine(settings_for(cache=tmp_path / "cache", timeout_seconds=60), world.resolver))
    async with engine, Spaniel(engine=engine) as client:
        yield client


@pytest.mark.req("CP-21", "CP-22")
async def test_a_client_canonicalizes_online(client: Spaniel, tmp_path: Path) -> None:
    assert (await client.canonicalize("https://bit.ly/3abc", "clara")).url == "https://www.seg-social.es/por/fin.html"
    learnt = tmp_path / "learnt.toml"
    result = await client.canonicalize("http://viejo.es/tramites/alta", learnt=learnt)
    assert (result.url, result.flags) == ("http://viejo.es/tramites/alta", ["http-only"])
    assert '"viejo.es" = ' in learnt.read_text(encoding="utf-8")


async def test_an_allowlist_is_a_file_or_a_value(client: Spaniel, tmp_path: Path) -> None:
    file = tmp_path / "official.txt"
    file.write_text(ALLOWLIST, encoding="utf-8")
    with pytest.raises(SpanielError, match=r"no line of official\.txt names it"):
        await client.canonicalize("https://www.junta.es/fuera/a", allowlist=file)
    assert (await client.canonicalize("https://www.junta.es/fuera/a")).url == "https://tienda.example/compra"


async def test_a_policy_that_asks_nothing_says_so(client: Spaniel) -> None:
    with pytest.raises(SpanielError, match="nothing to ask"):
        await client.canonicalize("https://boe.es/", "exact")


async def canon_online(client: Spaniel, *argv: str) -> int:
    args = canon.parser().parse_args(["--policy", "clara", "--online", *argv])
    return await run_online(load("clara"), args, client)


async def test_the_command_prints_in_order_and_reports_refusals(
    client: Spaniel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "official.txt"
    file.write_text(ALLOWLIST, encoding="utf-8")
    urls = [
        "https://seg-social.es/imv",
        "https://www.junta.es/fuera/a",
        "https://boe.es/",
        "http://viejo.es/tramites/alta",
    ]
    code = await canon_online(client, "--allowlist", str(file), "--learnt", str(tmp_path / "learnt.toml"), *urls)
    printed = capsys.readouterr()
    assert code == 1
    assert printed.out.splitlines() == [
        "https://www.seg-social.es/wps/portal/wss/internet/Trabajadores/65850d68",
        "https://www.boe.es",
        "http://viejo.es/tramites/alta",
    ]
    assert "tienda.example" in printed.err
    assert "allowlist" in printed.err
    assert "viejo.es" in (tmp_path / "learnt.toml").read_text(encoding="utf-8")


async def test_explain_tells_what_was_asked(client: Spaniel, capsys: pytest.CaptureFixture[str]) -> None:
    assert await canon_online(client, "--explain", "https://www.junta.es/padron/") == 0
    output = capsys.readouterr().out
    assert "asked: is https://www.junta.es/padron/ another page without its last slash?" in output
    assert "-> without it: 404; with it: 200" in output
    assert "kept: without it the server has another page" in output
    assert await canon_online(client, "--explain", "--jsonl", "https://www.junta.es/padron/") == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    [asked] = [step["asked"] for step in steps if step["rule"] == "drop-trailing-slash"]
    assert asked[0]["answer"] == "without it: 404; with it: 200"


async def test_a_table_and_a_first_failure(client: Spaniel, capsys: pytest.CaptureFixture[str]) -> None:
    assert await canon_online(client, "--table", "https://boe.es/") == 0
    assert "homepage" in capsys.readouterr().out
    assert await canon_online(client, "--fail-fast", "nothing", "https://boe.es/") == 1
    assert not capsys.readouterr().out
    assert await canon_online(client, "nothing") == 2


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--refresh"], "needs --online"),
        (["--online", "--diff", "exact", "clara"], "offline"),
        (["--online", "--jobs", "0"], "must be 1 to"),
        (["--allowlist", "none.txt", "--policy", "clara"], "cannot be read"),
    ],
)
def test_options_that_do_not_go_together_are_refused(argv: list[str], reason: str) -> None:
    with pytest.raises(SpanielError, match=reason):
        canon.main(canon.parser().parse_args([*argv, "https://boe.es/"]))


@pytest.mark.req("CP-09", "CP-24")
def test_offline_the_command_uses_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learnt, official = tmp_path / "learnt.toml", tmp_path / "official.txt"
    learnt.write_text('[preferred_hosts]\n"junta.es" = "www.junta.es"\n', encoding="utf-8")
    official.write_text("junta.es\n", encoding="utf-8")
    files = ["--policy", "clara", "--learnt", str(learnt), "--allowlist", str(official)]
    args = canon.parser().parse_args([*files, "https://junta.es/a/b/", "https://otra.es/a"])
    assert canon.main(args) == 1
    printed = capsys.readouterr()
    assert printed.out == "https://www.junta.es/a/b\n"
    assert "otra.es" in printed.err


@pytest.mark.req("CP-15")
async def test_a_deeper_link_is_proposed_from_the_page_itself(world: World) -> None:
    from tests.online.sites import page

    links = '<a href="/HomeSepe/Personas/distribuciones/solicitud-prestacion-desempleo.html">Solicitar la prestación</a><a href="/otra-cosa.html">Otra cosa</a>'
    world.web.pages["https://www.sepe.es/HomeSepe/Personas"] = page(more=links)
    found = await world.canonicalizer().deeper_link(
        "https://www.sepe.es/HomeSepe/Personas", "Solicitud de la prestación por desempleo"
    )
    assert found is not None
    assert found.url == "https://www.sepe.es/HomeSepe/Personas/distribuciones/solicitud-prestacion-desempleo.html"
    assert await world.canonicalizer().deeper_link("https://mudo.es/", "Solicitud de la prestación") is None

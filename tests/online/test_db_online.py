"""`spaniel db` online: where records go, what is learnt, and which deeper links are proposed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spaniel import registry
from spaniel.app.engine import Engine
from spaniel.cli import db, db_add
from spaniel.cli.db import Failures
from spaniel.cli.db_add import incoming_links
from spaniel.errors import SpanielError
from spaniel.registry.folder import LOCK
from spaniel.sources.rows import Problems
from spaniel.testing import settings_for
from tests.online.sites import ALLOWLIST, page
from tests.online.world import SLEEPS, World
from tests.registry.files import contents, database


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    folder = tmp_path / "urls"
    folder.mkdir()
    (folder / "registry.toml").write_text('policy = "clara"\n', encoding="utf-8")
    return folder


async def add(engine: Engine, folder: Path, *argv: str) -> int:
    args = db.parser().parse_args(["add", "--online", "--db", str(folder), *argv])
    failed = Failures(several=len(args.urls) > 1)
    links = incoming_links(args, Problems())
    return await db_add.run_online(
        args, registry.open(folder), failed, links, partial(db_add.report_added, args=args), engine
    )


@pytest.mark.req("CP-21", "CP-22", "CP-23", "CP-24", "CP-25", "CP-27", "DB-08")
@pytest.mark.parametrize(
    ("raw", "file", "path"),
    [
        ("https://seg-social.es/imv", "www.seg-social.es.yaml", "/wps/portal/wss/internet/Trabajadores/65850d68"),
        ("http://viejo.es/tramites/alta", "viejo.es.yaml", "/tramites/alta"),
        ("https://www.junta.es/padron/", "www.junta.es.yaml", "/padron/"),
        ("https://www.junta.es/indice/", "www.junta.es.yaml", "/indice"),
        ("https://junta.es/tramites/padron-municipal", "www.junta.es.yaml", "/tramites/padron-municipal"),
        ("https://web.gencat.cat/ca/tramits/tramit-12345", "web.gencat.cat.yaml", "/es/tramits/tramit-12345"),
        ("https://bit.ly/3abc", "www.seg-social.es.yaml", "/por/fin.html"),
        ("https://boe.es", "www.boe.es.yaml", "/"),
    ],
)
async def test_a_record_goes_where_the_web_says(engine: Engine, urls: Path, raw: str, file: str, path: str) -> None:
    assert await add(engine, urls, raw) == 0
    [record] = registry.open(urls)
    assert (Path(record.file).name, record.path) == (file, path)
    assert record.home.scheme == ("http" if "viejo" in raw else "https")


async def test_what_was_changed_and_what_is_to_be_looked_at_is_told(
    engine: Engine, urls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await add(engine, urls, "https://bit.ly/3abc", "http://viejo.es/tramites/alta", "https://www.boe.es") == 0
    printed = capsys.readouterr()
    assert [line.split("  ") for line in printed.out.splitlines()] == [
        ["added https://www.seg-social.es/por/fin.html", f"{urls}/www.seg-social.es.yaml", "(was https://bit.ly/3abc)"],
        ["added http://viejo.es/tramites/alta", f"{urls}/viejo.es.yaml"],
        ["added https://www.boe.es/", f"{urls}/www.boe.es.yaml"],
    ]
    assert "http://viejo.es/tramites/alta: note: flagged http-only" in printed.err
    assert "boe.es" not in printed.err


@pytest.mark.req("CP-23", "CP-24")
async def test_what_was_learnt_is_kept_in_the_folder_and_used_offline(
    engine: Engine, world: World, urls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await add(engine, urls, "https://www.junta.es/padron/", "https://junta.es/solo/otra") == 0
    kept = (urls / "learnt.toml").read_text(encoding="utf-8")
    assert '"junta.es" = "www.junta.es"' in kept
    assert '"https://www.junta.es/padron/" = ' in kept
    asked = world.web.asked.total()
    with registry.open(urls).editing() as editor:
        assert not editor.add("https://www.junta.es/padron/?utm_source=x").is_new
        assert editor.add("http://junta.es/nueva/pagina").record.url == "https://www.junta.es/nueva/pagina"
    assert registry.open(urls).find("https://www.junta.es/padron/?utm_source=x")
    assert world.web.asked.total() == asked
    (urls / "learnt.toml").unlink()  # without it, it is unknown that the slash matters
    assert registry.open(urls).find("https://www.junta.es/padron/?utm_source=x") is None
    capsys.readouterr()


async def test_what_is_known_is_not_asked_again_unless_it_is_wanted(engine: Engine, world: World, urls: Path) -> None:
    await add(engine, urls, "-q", "https://junta.es/tramites/padron-municipal")
    assert world.web.asked["HEAD http://junta.es/"] == 1
    await add(engine, urls, "-q", "https://junta.es/tramites/padron-municipal")
    assert world.web.asked["HEAD http://junta.es/"] == 1
    await add(engine, urls, "-q", "--refresh", "https://junta.es/tramites/padron-municipal")
    assert world.web.asked["HEAD http://junta.es/"] == 2


@pytest.mark.req("CP-21", "CP-27")
@pytest.mark.parametrize("form", ["a file", "a list"])
async def test_the_allowlist_of_the_database_holds_for_every_hop(
    engine: Engine, urls: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    rules = 'policy = "clara"\nallowlist = '
    entries = [line.partition("#")[0].strip() for line in ALLOWLIST.splitlines()]
    named = '"official.txt"' if form == "a file" else json.dumps([entry for entry in entries if entry])
    (urls / "official.txt").write_text(ALLOWLIST, encoding="utf-8")
    (urls / "registry.toml").write_text(rules + named, encoding="utf-8")
    away = ("https://www.junta.es/fuera/a", "https://www.junta.es/venta/a")  # the second comes back in the end
    assert await add(engine, urls, *away, "https://boe.es/buscar") == 1
    result = capsys.readouterr()
    assert result.err.count("The host 'tienda.example' is refused: it is not on the allowlist") == 2
    assert [record.url for record in registry.open(urls)] == ["https://www.boe.es/buscar"]
    (urls / "registry.toml").write_text('policy = "clara"\n', encoding="utf-8")  # and without one it is stored
    assert await add(engine, urls, "-q", *away) == 0


async def test_which_of_several_was_refused_is_told(
    engine: Engine, urls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await add(engine, urls, "https://www.junta.es/privado/a", "https://boe.es/buscar") == 1
    assert "spaniel: https://www.junta.es/privado/a: ssrf_blocked: " in capsys.readouterr().err


async def test_explain_shows_what_was_asked_before_the_record_is_told(
    engine: Engine, urls: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await add(engine, urls, "--explain", "https://www.junta.es/padron/")
    result = capsys.readouterr().out
    assert "asked: is https://www.junta.es/padron/ another page without its last slash?" in result
    assert "-> without it: 404; with it: 200" in result
    assert result.splitlines()[-1].startswith("added https://www.junta.es/padron/  ")


async def test_a_policy_that_asks_nothing_is_refused_before_anything_is_written(engine: Engine, tmp_path: Path) -> None:
    database(tmp_path / "plain")
    with pytest.raises(SpanielError, match="nothing to ask the web"):
        await add(engine, tmp_path / "plain", "https://boe.es/")
    assert not contents(tmp_path / "plain")


@pytest.mark.req("DB-07", "DB-08")
async def test_what_is_measured_is_the_page_that_was_found(engine: Engine, urls: Path) -> None:
    assert await add(engine, urls, "-q", "--static", "--type", "https://bit.ly/3abc") == 0
    [record] = registry.open(urls)
    body = page()[2]
    assert (record.url, record.content_length) == ("https://www.seg-social.es/por/fin.html", len(body))
    assert record.content_type == "text/html"


def _then(call: Callable[..., None], done: asyncio.Event) -> Callable[..., None]:
    def called(*args: object) -> None:
        call(*args)
        done.set()

    return called


async def test_off_the_allowlist_nothing_is_measured_either(engine: Engine, world: World, urls: Path) -> None:
    (urls / "registry.toml").write_text('policy = "clara"\nallowlist = ["boe.es"]', encoding="utf-8")
    args = db.parser().parse_args(["add", "--static", "--explain", "--db", str(urls), "https://www.junta.es/indice"])
    failed = Failures(several=False)
    result = partial(db_add.report_added, args=args)
    assert (
        await db_add.run_online(args, registry.open(urls), failed, incoming_links(args, Problems()), result, engine)
        == 2
    )
    assert not world.web.asked
    (urls / "registry.toml").write_text('policy = "clara"\nallowlist = ["junta.es"]', encoding="utf-8")  # the control
    failed = Failures(several=False)
    assert (
        await db_add.run_online(args, registry.open(urls), failed, incoming_links(args, Problems()), result, engine)
        == 0
    )
    assert world.web.asked["GET https://www.junta.es/indice"] == 1


def test_unwritable_folder_is_reported_before_any_request(tmp_path: Path) -> None:
    (tmp_path / "urls" / LOCK).mkdir(parents=True)  # as root, permissions would not do
    args = db.parser().parse_args(
        ["add", "--online", "--policy", "clara", "--db", str(tmp_path / "urls"), "https://a.es/"]
    )
    with pytest.raises(SpanielError, match="not a regular file"):
        asyncio.run(
            db_add.run_online(
                args,
                registry.open(tmp_path / "urls", policy="clara"),
                Failures(several=False),
                incoming_links(args, Problems()),
                partial(db_add.report_added, args=args),
                Engine(settings_for(cache=tmp_path / "cache")),
            )
        )


async def test_stopped_in_the_middle_it_keeps_what_was_found_by_then(
    engine: Engine,
    world: World,
    urls: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world.web.https["lento.es"] = SLEEPS
    done = asyncio.Event()
    monkeypatch.setattr(db_add._OnlineRun, "_hand_over", _then(db_add._OnlineRun._hand_over, done))
    task = asyncio.create_task(add(engine, urls, "https://junta.es/tramites/padron-municipal", "https://lento.es/a/b"))
    await asyncio.wait_for(done.wait(), 60)  # the first is done; the second never ends
    task.cancel()
    assert await task == 130
    assert [record.url for record in registry.open(urls)] == ["https://www.junta.es/tramites/padron-municipal"]
    assert '"junta.es" = "www.junta.es"' in (urls / "learnt.toml").read_text(encoding="utf-8")
    assert "stopped; the records added so far are kept" in capsys.readouterr().err


async def test_import_asks_too_and_keeps_what_the_list_says(
    engine: Engine, urls: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "list.jsonl"
    rows = [
        {"url": "https://bit.ly/3abc", "categories": ["pensiones"]},
        {"url": "http://viejo.es/tramites/alta"},
        {"url": "nothing"},
    ]
    listed.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found: list[Any] = []

    def instead(*given: object) -> int:  # an event loop runs here already
        found.append(given)
        return 0

    monkeypatch.setattr(db_add, "add_online", instead)
    args = db.parser().parse_args(["import", "--online", "--db", str(urls), "-c", "todo", str(listed)])
    db_add.run_import(args)
    [(_, base, failed, links, told_of)] = found
    assert await db_add.run_online(args, base, failed, links, told_of, engine) == 1
    records = {record.url: record.categories for record in registry.open(urls)}
    assert records == {
        "https://www.seg-social.es/por/fin.html": ("pensiones", "todo"),
        "http://viejo.es/tramites/alta": ("todo",),
    }
    result = capsys.readouterr().err
    assert "list.jsonl: line 3: " in result
    assert "viejo.es/tramites/alta: note: flagged http-only" in result

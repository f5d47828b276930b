"""What was learnt: a file that people read, edit and commit."""

from __future__ import annotations

import sys
import tomllib
from datetime import date
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.learnt import Learnt
from spaniel.url import load
from spaniel.url.allowlist import read
from spaniel.url.questions import Question, WebAnswer
from tests import programs
from tests.online.sites import ALLOWLIST
from tests.online.world import World

LIST = [
    "http://viejo.es/tramites/alta",
    "https://junta.es/tramites/padron-municipal",
    "https://www.junta.es/padron/",
    "https://web.gencat.cat/ca/tramits/tramit-12345",
    "https://corto.example/x",
]


def on(day: str) -> Learnt:
    return Learnt(today=lambda: date.fromisoformat(day))


def at(path: Path, day: str) -> Learnt:
    return Learnt.load(path, lambda: date.fromisoformat(day))


@pytest.mark.req("CP-07", "CP-22", "CP-24")
async def test_offline_runs_use_what_an_online_run_has_learnt(world: World, tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    online = world.canonicalizer(ALLOWLIST, on("2026-11-16"))
    proved = [(await online.canonicalize(url)).url for url in LIST]
    online.learnt.save(file)
    output = tomllib.loads(file.read_text(encoding="utf-8"))
    assert output["preferred_hosts"]["junta.es"] == "www.junta.es"
    assert output["http_only"] == {"viejo.es": "2026-11-16"}
    assert output["slashes"] == {"https://www.junta.es/padron/": "2026-11-16"}
    assert output["shorteners"] == {"corto.example": "2026-11-16"}
    assert output["languages"]["https://web.gencat.cat/ca/tramits/tramit-12345"]["es"] == proved[3]
    policy, web = load("clara").with_allowlist(read(ALLOWLIST)), at(file, "2026-11-17").web()
    offline = [policy.explain(url, web) for url in LIST]
    assert [result.url for result in offline[:4]] == proved[:4]
    assert "shortener-unresolved" in offline[4].flags


@pytest.mark.req("CP-22", "CP-24")
async def test_what_was_learnt_is_not_asked_again_unless_it_is_to_be_refreshed(world: World, tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    file.write_text('[preferred_hosts]\n"junta.es" = "junta.es"\n', encoding="utf-8")
    url, asked = "https://junta.es/tramites/padron-municipal", "HEAD http://junta.es/"
    known = await world.canonicalizer(learnt=Learnt.load(file)).canonicalize(url)
    assert (known.url, world.web.asked[asked]) == (url, 0)
    again = world.canonicalizer(learnt=Learnt.load(file), refresh=True)
    assert (await again.canonicalize(url)).url == "https://www.junta.es/tramites/padron-municipal"
    assert world.web.asked[asked] == 1
    again.learnt.save(file)
    assert '"junta.es" = "www.junta.es"' in file.read_text(encoding="utf-8")


@pytest.mark.req("CP-24")
async def test_the_shipped_rows_come_before_what_was_learnt(world: World, tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    file.write_text('[preferred_hosts]\n"boe.es" = "boe.es"\n"junta.es" = "junta.es"\n', encoding="utf-8")
    online = world.canonicalizer(learnt=Learnt.load(file))
    url = "https://boe.es/buscar/act.php?id=BOE-A-2023-12345"
    assert (await online.canonicalize(url)).url == "https://www.boe.es/buscar/act.php?id=BOE-A-2023-12345"
    assert world.web.asked["HEAD http://boe.es/"] == 0
    offline = Learnt.load(file).web()
    assert load("clara").explain("https://boe.es/buscar", offline).url == "https://www.boe.es/buscar"
    assert (
        load("clara").explain("https://www.junta.es/a", offline).url == "https://junta.es/a"
    )  # one that is not shipped


@pytest.mark.req("CP-22")
@pytest.mark.parametrize(
    ("day", "known"), [("2026-11-16", True), ("2026-11-22", True), ("2026-11-23", False), ("2026-11-15", False)]
)
def test_that_a_host_lacks_https_is_believed_for_a_week(day: str, known: bool) -> None:
    question = Question("https", "viejo.es")
    learnt = on("2026-11-16")
    learnt.learn(question, WebAnswer(True, "no"))
    learnt._today = lambda: date.fromisoformat(day)
    assert (learnt.answer(question) is not None) is known


def test_a_second_run_changes_no_line_and_what_is_no_longer_so_goes(tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    first = on("2026-11-16")
    for kind, subject in (("slash", "https://b.es/z/"), ("slash", "https://a.es/x/"), ("shortener", "s.example")):
        first.learn(Question(kind, subject), WebAnswer(True, ""))  # type: ignore[arg-type]
    first.learn(Question("https", "viejo.es"), WebAnswer(True, ""))
    first.save(file)
    text = file.read_text(encoding="utf-8")
    assert text.index("a.es/x") < text.index("b.es/z")
    second = at(file, "2026-11-18")
    second.learn(Question("slash", "https://a.es/x/"), WebAnswer(True, ""))
    second.learn(Question("host", "silent.es"), WebAnswer(None, "no answer"))
    second.save(file)
    assert file.read_text(encoding="utf-8") == text
    second.learn(Question("https", "viejo.es"), WebAnswer(False, ""))
    second.learn(Question("slash", "https://b.es/z/"), WebAnswer(False, ""))
    second.save(file)
    output = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (output["http_only"], list(output["slashes"])) == ({}, ["https://a.es/x/"])


def test_two_who_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    code = """
import sys
from spaniel.learnt import Learnt
from spaniel.url.questions import WebAnswer, Question
for i in range(20):
    learnt = Learnt.load(sys.argv[1])
    learnt.learn(Question("host", f"{sys.argv[2]}{i}.es"), WebAnswer(f"www.{sys.argv[2]}{i}.es", ""))
    learnt.save(sys.argv[1])
"""
    runs = [programs.Popen([sys.executable, "-c", code, str(file), name]) for name in ("a", "b", "c")]
    assert [run.wait(timeout=120) for run in runs] == [0, 0, 0]
    assert len(tomllib.loads(file.read_text(encoding="utf-8"))["preferred_hosts"]) == 60
    assert [path.name for path in tmp_path.iterdir()] == ["learnt.toml"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[preferred_hosts", "not TOML"),
        ("version = 2", "version"),
        ("[hosts]", "unknown key"),
        ('[preferred_hosts]\n"Boe.es" = "www.boe.es"', "not a host name"),
        ('[preferred_hosts]\n"boe.es" = "www.boe.es/x"', "not a host name"),
        ('[preferred_hosts]\n"boe.es" = "a@b.es"', "not a host name"),
        ('[preferred_hosts]\n"boe.es" = "127.1"', "not a host name"),
        ('[preferred_hosts]\n"boe.es" = 3', "must be text"),
        ('[http_only]\n"boe.es" = "yesterday"', "is not a date"),
        ('[slashes]\n"boe.es/a/" = "2026-01-01"', "is not a URL"),
        ('[languages]\n"https://a.es/x" = { es = "javascript:alert(1)" }', "is not a URL"),
        ('[languages]\n"https://a.es/x" = { "e s" = "https://a.es/y" }', "is not a language code"),
        ('[languages]\n"https://a.es/x" = "https://a.es/y"', "must be a table"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "learnt.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SpanielError, match=reason) as caught:
        Learnt.load(file)
    assert "learnt.toml" in caught.value.message


@pytest.mark.req("CP-24")
async def test_a_file_from_somebody_else_opens_neither_guard_nor_allowlist(world: World, tmp_path: Path) -> None:
    file = tmp_path / "learnt.toml"
    file.write_text('[preferred_hosts]\n"cabildo.es" = "10.0.0.1"\n"junta.es" = "tienda.example"\n', encoding="utf-8")
    policy = load("clara").with_allowlist(read(ALLOWLIST))
    with pytest.raises(SpanielError, match="not on the allowlist"):
        policy.explain("https://cabildo.es/ayudas/vivienda", Learnt.load(file).web())
    canonicalizer = world.canonicalizer(ALLOWLIST, Learnt.load(file))
    found = await canonicalizer.canonicalize("https://junta.es/solo/aqui")
    assert (found.url, found.flags) == ("https://junta.es/solo/aqui", ["host-form-unproved"])
    open_ = await world.canonicalizer("", Learnt.load(file)).canonicalize("https://cabildo.es/ayudas/vivienda")
    assert (open_.url, open_.flags) == ("https://cabildo.es/ayudas/vivienda", ["host-form-unproved"])
    assert not [name for name in world.web.asked if "10.0.0.1" in name]

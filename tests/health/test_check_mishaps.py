"""Checks as bad luck and haste make them: what was not looked at, not kept or not chosen is never reported as well."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from spaniel import Spaniel
from spaniel.errors import SpanielError
from spaniel.health.files import LARGEST
from tests import programs
from tests.health.command import Served, serving
from tests.health.test_check_command import Inside, inside

__all__ = ["inside"]


def document(folder: Path, text: str, name: str | bytes = "notes.md") -> str:
    """A document in a folder of its own."""
    place = folder / "docs"
    place.mkdir(exist_ok=True)
    path = os.path.join(os.fsencode(place), os.fsencode(name))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return os.fsdecode(path)


def damage_history(served: Served) -> Path:
    file = served.folder / "state" / "spaniel" / "health" / "health.sqlite3"
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    file.write_bytes(b"this is no database" * 100)
    return file


def test_a_damaged_history_is_told_once(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        notes = document(tmp_path, f"[a]({served.url('/ok')})\n")
        assert "damaged" not in inside(served, "check", notes, "--delay", "0").stderr
        file = damage_history(served)
        looked = inside(served, "db", "history", "--documents", served.url("/ok"))
        assert looked.returncode == 2
        assert f"{file} is damaged and cannot be read" in looked.stderr  # not: nothing was seen yet
        first, second = (inside(served, "check", notes, "--delay", "0", "-q") for _ in range(2))
        assert first.returncode == 0
        assert first.stderr.count("health.sqlite3.damaged and recreated") == 1
        assert "damaged" not in second.stderr


async def test_a_program_hears_of_a_history_that_is_not_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING, "spaniel.health"):
        async with Spaniel.from_config() as client:
            async for checked in client.check(["http://127.0.0.1:9/"], history=tmp_path / "file" / "past"):
                assert checked.verdict == "blocked"
    assert "shown but not recorded" in caplog.text


@pytest.mark.req("LH-05")
def test_a_document_that_is_not_read_is_no_success(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        document(tmp_path, f"[a]({served.url('/ok')})\n")
        assert inside(served, "check", str(tmp_path / "docs"), "--delay", "0").returncode == 0
        os.truncate(document(tmp_path, "", "large.md"), LARGEST + 1)
        some = inside(served, "check", str(tmp_path / "docs"), "--delay", "0")
        assert (some.returncode, "large.md has more than" in some.stderr) == (3, True), some.stderr
        chosen = inside(served, "check", str(tmp_path / "docs"), "--delay", "0", "--fail-on", "dead")
        assert chosen.returncode == 3  # links that were not read may be among those that count
        chosen = inside(served, "check", str(tmp_path / "docs"), "--delay", "0", "--fail-on", "none")
        assert chosen.returncode == 0


@pytest.mark.req("LH-05")
def test_a_sitemap_that_breaks_off_is_no_success(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        sitemap = tmp_path / "sitemap.xml"
        whole = f"<urlset><url><loc>{served.url('/ok')}</loc></url></urlset>"
        for text, code in ((whole, 0), (whole.replace("</urlset>", "<url><loc>"), 3)):
            sitemap.write_text(text)
            done = inside(served, "check", "--delay", "0", "--sitemap", str(sitemap))
            assert (done.returncode, "1 link: 1 ok" in done.stdout) == (code, True), done.stderr


def test_what_an_option_leaves_out_is_named(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        notes = document(tmp_path, f"[a]({served.url('/gone')})\n")
        reported = inside(served, "check", notes, "--field", "url")
        assert (
            "is read as markdown, which has no fields: --field looks into csv, json, jsonl, tsv, yaml"
            in reported.stderr
        )
        named = inside(served, "check", "--offline", served.url("/gone"))
        assert "1 link: 1 skipped" in named.stdout
        sitemap = inside(served, "check", "--offline", "--sitemap", served.url("/sitemap.xml"))
        assert (sitemap.returncode, "--offline makes no requests" in sitemap.stderr) == (2, True)
        assert served.requests() == []


@pytest.mark.parametrize("choice", [("--host", "nope.example"), ("--category", "ofical"), ("--path", "/nope")])
def test_a_choice_that_chooses_nothing_is_refused(inside: Inside, tmp_path: Path, choice: tuple[str, str]) -> None:
    with serving(tmp_path) as served:
        folder = str(served.database(served.urls(2)))
        refused = inside(served, "db", "check", "--db", folder, *choice)
        assert refused.returncode == 2
        assert f"{choice[0]} {choice[1]}: matches no record of the database" in refused.stderr
        assert inside(served, "db", "check", "--db", folder, "--verdict", "dead").returncode == 0  # there may be none


def test_the_history_of_a_database_that_is_not_there_is_refused(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        refused = inside(served, "db", "history", "--db", str(tmp_path / "nope"), served.url("/ok"))
        assert (refused.returncode, "there is no such folder" in refused.stderr) == (2, True)


def test_a_baseline_is_written_by_a_whole_run_alone(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.2) as served:
        notes = document(tmp_path, "".join(f"[a]({served.url(f'/ok{n}')})\n" for n in range(200)))
        debts = tmp_path / "debts.json"
        debts.write_text("all that was known\n")
        line = served.command("check", notes, "--delay", "0", "--write-baseline", str(debts))
        with programs.Popen(line, env=served.environment, stderr=subprocess.PIPE, text=True) as run:
            for _ in range(600):
                if served.requests():
                    break
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            _, reported = run.communicate(timeout=60)
        assert run.returncode == 130
        assert "debts.json was not written: the check did not finish" in reported
        assert debts.read_text() == "all that was known\n"
        for wrong, why in (
            (tmp_path, "it is a folder"),
            (tmp_path / "nope" / "debts.json", "its folder does not exist"),
        ):
            asked = len(served.requests())
            refused = served.run("check", notes, "--write-baseline", str(wrong))
            assert (refused.returncode, why in refused.stderr) == (2, True)
            assert len(served.requests()) == asked  # before anybody was asked


def test_a_report_to_a_dash_goes_to_standard_output(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as served:
        notes = document(tmp_path, f"[a]({served.url('/ok')})\n")
        monkeypatch.chdir(tmp_path)
        done = inside(served, "check", notes, "--delay", "0", "-f", "json", "-o", "-")
        assert json.loads(done.stdout)["summary"]["links"] == 1
        assert not (tmp_path / "-").exists()


@pytest.mark.skipif(os.name == "nt", reason="names are of bytes on POSIX alone")
def test_a_name_that_is_no_utf_8_is_found_again(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        moved = served.url(f"/to?{served.url('/ok')}")
        notes = document(tmp_path, f"[a]({moved})\n", b"na\xffme.md")
        done = inside(served, "check", str(tmp_path / "docs"), "--delay", "0", "-f", "sarif")
        place = json.loads(done.stdout)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("/na%FFme.md")
        fixed = inside(served, "check", str(tmp_path / "docs"), "--delay", "0", "--fix", "--write")
        assert "1 link changed" in fixed.stderr, fixed.stderr
        with open(notes, encoding="utf-8") as file:
            assert "/to?" not in file.read()


def test_a_file_that_is_read_only_stays(inside: Inside, tmp_path: Path) -> None:
    """A rename over it needs leave of the folder alone; but whoever made it read-only has said what may be done."""
    with serving(tmp_path) as served:
        moved = served.url(f"/to?{served.url('/ok')}")
        notes = Path(document(tmp_path, f"[a]({moved})\n"))
        notes.chmod(0o444)
        fixed = inside(served, "check", str(notes), "--delay", "0", "--fix", "--write")
        assert (fixed.returncode, "was not changed: it is read-only" in fixed.stderr) == (1, True), fixed.stderr
        assert moved in notes.read_text()


@pytest.mark.parametrize(
    ("links", "how", "reported"),
    [
        ("http://127.0.0.1:9/", {}, "links: is a single text"),
        ([b"http://127.0.0.1:9/"], {}, "links\\[0\\]: is of type bytes"),
        (["http://127.0.0.1:9/"], {"jobs": 0}, "jobs: must be 1 to 512"),
        (["http://127.0.0.1:9/"], {"per_host": 0}, "per_host: must be 1 to 512"),
        (["http://127.0.0.1:9/"], {"delay": -1.0}, "delay: must be 0 to 600"),
        (["http://127.0.0.1:9/"], {"delay": float("nan")}, "delay: must be 0 to 600"),
        (["http://127.0.0.1:9/"], {"timeout": 0}, "timeout: must be 1 to 3600"),
    ],
)
async def test_a_call_that_cannot_be_meant_is_refused(links: Any, how: dict[str, Any], reported: str) -> None:
    """Without places nobody would be asked, and no result looks like none that is bad; or the run would not end."""
    async with asyncio.timeout(30), Spaniel.from_config() as client:
        with pytest.raises(SpanielError, match=reported):
            _ = [checked async for checked in client.check(links, **how)]


def test_answers_to_another_question_are_not_gone_on_with(tmp_path: Path) -> None:
    """Else some pages of the report were looked at for what the user wants, and others were not, and nobody knows."""
    with serving(tmp_path, pause=0.2) as served:
        notes = document(tmp_path, "".join(f"[a]({url})\n" for url in served.urls(24)))
        line = served.command("check", notes, "--delay", "0")
        with programs.Popen(line, env=served.environment, stderr=subprocess.DEVNULL) as run:
            for _ in range(600):
                if len(served.requests()) >= 8:
                    break
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            assert run.wait(60) == 130
        other = served.run("check", notes, "--delay", "0", "--resume", "--soft-404")
        assert "there is no unfinished run of this to resume" in other.stderr
        assert "resuming: " in served.run("check", notes, "--delay", "0", "--resume").stderr


def test_a_baseline_holds_however_its_documents_are_named(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(tmp_path) as served:
        notes = document(tmp_path, f"[a]({served.url('/gone')})\n")
        monkeypatch.chdir(tmp_path)
        assert inside(served, "check", ".", "--delay", "0", "--write-baseline", "debts.json").returncode == 1
        for name in ("docs", "./docs/notes.md", "docs/../docs/notes.md", notes):
            assert inside(served, "check", name, "--delay", "0", "--baseline", "debts.json").returncode == 0, name

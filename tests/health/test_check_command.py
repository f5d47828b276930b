"""`spaniel check`, `spaniel db check`, `spaniel db history`: real processes, real servers, and what their log says."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.cli import main as cli
from tests import programs
from tests.health.command import Served, results, serving, verdicts

Inside = Callable[..., "Done"]

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """The command in this process, which spares its start."""

    def run(served: Served, *args: str) -> Done:
        for name, value in served.environment.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run(served.command(*args)[3:])
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run


def wait_for(served: Served, requests: int) -> None:
    for _ in range(1200):
        if len(served.requests()) >= requests:
            return
        time.sleep(0.05)
    pytest.fail("the run does not begin")


def test_links_on_standard_input_are_checked_and_the_exit_code_tells(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        good = "".join(f"{url}\n" for url in served.urls(4))
        well = served.run("check", "-", "--delay", "0", stdin=good)
        assert (well.returncode, well.stdout) == (0, "4 links: 4 ok\n"), well.stderr
        bad = served.run("check", "-", "--delay", "0", stdin=f"{good}{served.url('/gone')}\n")
        assert bad.returncode == 1
        assert "failing (1 of 3)" in bad.stdout
        assert f"{served.url('/gone')}\n" in bad.stdout
        lenient = served.run("check", "-", "--delay", "0", "--fail-on", "dead", stdin=f"{served.url('/gone')}\n")
        assert lenient.returncode == 0
        untold = served.run("check", "http://10.1.2.3:9/", "--delay", "0")
        assert untold.returncode == 3
        assert "own guard refused" in untold.stdout


@pytest.mark.req("DB-09", "DB-06")
def test_every_record_of_a_database_is_verified(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        folder = served.database([*served.urls(20), served.url("/gone", 3)])
        done = inside(served, "db", "check", "--db", str(folder), "--delay", "0", "-f", "jsonl")
        assert done.returncode == 1
        reported = results(done.stdout)
        assert len(reported) == 21
        assert {url for url, row in reported.items() if row["verdict"] != "ok"} == {served.url("/gone", 3)}
        places = reported[served.url("/gone", 3)]["places"]
        lines = Path(places[0]["file"]).read_text().splitlines()
        assert lines[places[0]["line"] - 1][places[0]["column"] - 1 :] == "/gone"
        assert served.asked() == set(served.urls(20))


@pytest.mark.req("DB-09")
def test_hosts_are_asked_one_link_at_a_time_and_in_parallel(tmp_path: Path) -> None:
    """By the server's own log: at no host does a request come before the answer to the one before it went."""
    with serving(tmp_path, pause=0.03) as served:
        done = served.run("check", "-", "--delay", "0", "-j", "32", stdin="\n".join(served.urls(80)))
        assert done.returncode == 0, done.stderr
        for requests in served.by_host().values():
            assert len(requests) >= 10
            for first, second in pairwise(requests):
                assert second.came >= first.gone
        every = sorted(served.requests(), key=lambda each: each.came)
        assert any(second.came < first.gone for first, second in pairwise(every))


def test_killed_at_any_time_a_run_goes_on_and_asks_each_link_once(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.01) as served:
        urls = served.urls(160)
        folder = served.database([*urls, served.url("/gone", 2)])
        check = ("db", "check", "--db", str(folder), "--delay", "0", "-f", "jsonl")
        reported: dict[str, str] = {}
        asked: list[set[str]] = []
        for requests in (30, 90, 150):  # killed three times, further on each time
            out = tmp_path / "part.jsonl"
            with out.open("w") as file:
                line = served.command(*check, *(("--resume",) if asked else ()))
                process = programs.Popen(line, env=served.environment, stdout=file, stderr=subprocess.DEVNULL)
                wait_for(served, requests)
                process.send_signal(signal.SIGKILL)
                process.wait()
            part = [json.loads(text) for text in out.read_text().splitlines(keepends=True) if text.endswith("\n")]
            assert reported.items() <= {row["url"]: row["verdict"] for row in part}.items()
            reported = {row["url"]: row["verdict"] for row in part}
            asked.append(served.asked())
        before = served.requests()
        last = served.run(*check, "--resume")
        assert "resuming:" in last.stderr
        found = verdicts(last.stdout)
        assert set(found) == {*urls, served.url("/gone", 2)}
        assert found.items() >= reported.items()
        again = {f"http://{each.host}:{served.port}{each.path}" for each in served.requests()[len(before) :]}
        assert not again & set(reported)  # nothing that was reported is asked again
        assert len(again & asked[-1]) <= 8  # one at each host was under way when it was killed
        assert served.run(*check, "--resume").stderr.count("no unfinished run") == 1


def test_ctrl_c_finishes_what_is_under_way_and_writes_the_report(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.05) as served:
        folder = served.database(served.urls(300))
        check = ("db", "check", "--db", str(folder), "--delay", "0", "-f", "json")
        process = programs.Popen(
            served.command(*check), env=served.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for(served, 30)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "stopped: " in errors  # "finishing" too, if anything was in flight at that moment
        assert "--resume" in errors
        report = json.loads(out)
        assert report["summary"]["interrupted"]
        assert 0 < len(report["results"]) < 300
        last = served.run(*check, "--resume")
        assert last.returncode == 0
        assert len(json.loads(last.stdout)["results"]) == 300


@pytest.mark.req("FG-46")
def test_a_host_that_never_answers_holds_up_nobody_and_has_a_deadline(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        links = "\n".join([served.url("/never"), *(url for url in served.urls(40) if "0.0.1:" not in url)])
        done = served.run("check", "-", "--delay", "0", "--timeout", "2", "-j", "2", "-f", "jsonl", stdin=links)
        reported = list(verdicts(done.stdout).items())
        assert reported[-1] == (served.url("/never"), "unknown")
        assert {verdict for _, verdict in reported[:-1]} == {"ok"}
        assert done.returncode == 3


def test_a_dry_run_asks_nobody(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        links = "\n".join([*served.urls(9), *served.urls(3), "http://other.org/"])
        done = served.run("check", "-", "--dry-run", "--delay", "2", stdin=links)
        assert done.returncode == 0
        assert "        2  127.0.0.1\n" in done.stdout
        assert "10 links at 9 hosts would be requested" in done.stdout
        assert "it takes at least 2.0 s" in done.stdout
        assert served.requests() == []
        assert not (tmp_path / "state").exists()


def test_the_history_tells_what_was_seen_and_what_is_due(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        folder = served.database([served.url("/ok"), served.url("/gone")])
        check = ("db", "check", "--db", str(folder), "--delay", "0")
        assert inside(served, *check).returncode == 1
        text = inside(served, "db", "history", "--db", str(folder), served.url("/gone"))
        assert "failing 404" in text.stdout
        assert "0.0%" in text.stdout
        facts = json.loads(inside(served, "db", "history", "--db", str(folder), served.url("/ok"), "-f", "json").stdout)
        assert (facts["verdict"], facts["uptime_30_days"], facts["first_bad"]) == ("ok", 1.0, None)
        unseen = inside(served, "db", "history", "--db", str(folder), "http://a.example/")
        assert unseen.returncode == 2
        assert "no past results" in unseen.stderr
        assert inside(served, *check, "--due").stdout == "0 links: nothing to check\n"
        assert inside(served, *check, "--verdict", "failing", "-f", "jsonl").stdout.count('"verdict"') == 1
        assert inside(served, *check, "--since", "1h").stdout == "0 links: nothing to check\n"
        refused = inside(served, *check, "--no-history", "--due")
        assert refused.returncode == 2
        assert "need the history" in refused.stderr


def test_a_staging_host_is_asked_and_the_original_is_told(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        folder = served.database(["http://www.example.com/ok", "http://www.example.com/gone"])
        given = ("--map", f"www.example.com=127.0.0.5:{served.port}", "-f", "jsonl", "--delay", "0")
        done = inside(served, "db", "check", "--db", str(folder), *given)
        assert verdicts(done.stdout) == {"http://www.example.com/ok": "ok", "http://www.example.com/gone": "failing"}
        assert {each.host for each in served.requests()} == {"127.0.0.5"}


def namespaces() -> None:
    possible = shutil.which("unshare") and not subprocess.run([*UNSHARE, "true"], check=False).returncode
    if not possible:
        pytest.skip("mount namespaces are not to be had here")


@pytest.mark.parametrize(
    ("disk", "why"),
    [("mount --bind -o ro {0} {0}; mount -o remount,ro,bind {0}", "Read-only"), ("{full}", "No space left")],
    ids=["read-only", "full"],
)
def test_where_the_history_cannot_be_written_that_is_said_and_the_check_goes_on(
    tmp_path: Path, disk: str, why: str
) -> None:
    namespaces()
    with serving(tmp_path) as served:
        folder = served.database([*served.urls(20), served.url("/gone")])
        fill = (
            "mkdir {0}.new; mount -t tmpfs -o size=200k,mode=700 tmpfs {0}.new; cp {0}/* {0}.new;"
            " dd if=/dev/zero of={0}.new/ballast bs=1k >/dev/null 2>&1; mount --bind {0}.new {0}"
        )
        prepare = disk.replace("{full}", fill).replace("{0}", str(folder))
        within = [*UNSHARE, "sh", "-c", f'{prepare}; exec "$@"', "sh"]
        check = ("db", "check", "--db", str(folder), "--delay", "0", "-f", "jsonl")
        done = served.run(*check, before=within)
        assert done.returncode == 1, done.stderr
        assert len(verdicts(done.stdout)) == 21
        assert "the history cannot be used" in done.stderr
        assert why.lower() in done.stderr.lower()
        assert "the history cannot be used" not in served.run(*check).stderr  # the control


def test_the_history_of_another_user_is_left_alone_and_that_is_said(inside: Inside, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    with serving(tmp_path) as served:
        folder = served.database(served.urls(3))
        assert inside(served, "db", "check", "--db", str(folder), "--delay", "0").stderr.count("history") == 0
        for found in (folder / ".spaniel", *(folder / ".spaniel").iterdir()):
            os.chown(found, 12345, 12345)
        done = inside(served, "db", "check", "--db", str(folder), "--delay", "0")
        assert (done.returncode, done.stdout) == (0, "3 links: 3 ok\n")
        assert "belongs to another user" in done.stderr


def test_two_runs_at_once_share_one_history(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.01) as served:
        folder = served.database(served.urls(60))
        line = served.command("db", "check", "--db", str(folder), "--delay", "0", "-f", "jsonl")
        runs = [programs.Popen(line, env=served.environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for run in runs:
            out, _ = run.communicate(timeout=120)
            assert run.returncode == 0
            assert set(verdicts(out)) == set(served.urls(60))
        facts = served.run("db", "history", "--db", str(folder), "-f", "json", *served.urls(60))
        assert [json.loads(text)["checks"] for text in facts.stdout.splitlines()] == [2] * 60


@pytest.mark.req("DB-09")
def test_a_terminal_shows_a_bar_and_quiet_shows_none(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.05) as served:
        folder = served.database(served.urls(80))

        def on_a_terminal(*more: str) -> str:
            ours, theirs = pty.openpty()
            line = served.command("db", "check", "--db", str(folder), "--delay", "0", *more)
            with programs.Popen(line, env=served.environment, stdout=subprocess.DEVNULL, stderr=theirs):
                os.close(theirs)
                shown = b""
                try:
                    while piece := os.read(ours, 65_536):
                        shown += piece
                except OSError:  # the other end is closed
                    pass
            os.close(ours)
            return shown.decode()

        assert "of 80 links" in on_a_terminal()
        assert "of 80 links" not in on_a_terminal("-q")


@pytest.mark.req("DB-09")
def test_a_report_goes_to_a_file_and_old_debts_fail_nothing(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        folder = served.database([served.url("/ok"), served.url("/gone")])
        check = ("db", "check", "--db", str(folder), "--delay", "0")
        debts, report = str(tmp_path / "debts.json"), tmp_path / "report.html"
        assert inside(served, *check, "--write-baseline", debts, "-f", "html", "-o", str(report)).returncode == 1
        assert served.url("/gone") in report.read_text()
        assert inside(served, *check, "--baseline", debts).returncode == 0


def test_pages_of_a_sitemap_are_checked(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        pages = "".join(f"<url><loc>{url}</loc></url>" for url in (*served.urls(3), served.url("/gone")))
        sitemap = tmp_path / "sitemap.xml"
        sitemap.write_text(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{pages}</urlset>')
        done = inside(served, "check", "--sitemap", str(sitemap), "--delay", "0", "-f", "jsonl")
        assert done.returncode == 1
        assert list(verdicts(done.stdout).values()).count("ok") == 3
        assert inside(served, "check").returncode == 2


def test_new_addresses_are_shown_as_a_diff_and_written_if_told(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        old, new = served.url(f"/to?{served.url('/ok')}"), served.url("/ok")
        page = tmp_path / "page.md"
        page.write_text(f"[here]({old})\n")
        shown = inside(served, "check", str(page), "--fix", "--delay", "0")
        assert f"+[here]({new})" in shown.stdout
        assert "1 moved" in shown.stderr  # the report leaves standard output to the diff
        assert page.read_text() == f"[here]({old})\n"
        page.write_text(f"[here]({old})\n[gone]({served.url('/gone')})\n")
        assert inside(served, "check", str(page), "--fix", "--write", "--delay", "0").returncode == 1  # one is failing
        assert page.read_text().startswith(f"[here]({new})\n")
        folder = served.database([old])
        assert inside(served, "db", "fix", "--db", str(folder), "--delay", "0").stdout.count("+_path: /ok") == 1
        assert inside(served, "db", "fix", "--db", str(folder), "--delay", "0", "--write").returncode == 0
        assert "_path: /ok\n" in next(folder.glob("*.yaml")).read_text()


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (("--write",), "--write: needs --fix"), (("--archive",), "--archive: needs --fix"),
        (("--temporary-too",), "--temporary-too: needs --fix"), (("--allowlist", "x"), "--allowlist: needs --fix"),
        (("--fix", "--allowlist", "/nowhere"), "cannot be read"), (("--root-dir", "/nowhere"), "is not a folder"),
        (("--base", "docs"), "--base: 'docs' is not a web address"), (("--resume", "--no-history"), "--resume: needs"),
    ],
)  # fmt: skip
def test_options_that_would_do_nothing_are_refused_before_anybody_is_asked(
    inside: Inside, tmp_path: Path, args: tuple[str, ...], reported: str
) -> None:
    with serving(tmp_path) as served:
        done = inside(served, "check", served.url("/ok"), *args)
        assert (done.returncode, done.stdout, served.requests()) == (2, "", [])
        assert reported in done.stderr


@pytest.mark.req("DB-11")
def test_a_file_that_breaks_the_format_is_told_and_the_others_are_checked(inside: Inside, tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        folder = served.database(served.urls(4))
        (folder / "broken.example.yaml").write_text("---\n---\nno path\n")
        done = inside(served, "db", "check", "--db", str(folder), "--delay", "0")
        assert done.returncode == 1
        assert "broken.example.yaml" in done.stderr
        assert done.stdout == "4 links: 4 ok\n"


@pytest.mark.parametrize(
    ("args", "reported"),
    [
        (("--jobs", "0"), "must be 1 to 512"),
        (("--delay", "-1"), "must be 0 to 600"),
        (("--map", "x"), "must be two hosts"),
        (("--fail-on", "ded"), "neither a verdict"),
        (("--verdict", "ded"), "unknown verdict 'ded'"),
        (("--total-time", "5"), "invalid duration"),
        (("--path", "x"), "must begin with '/'"),
    ],
)
def test_a_wrong_option_is_told(inside: Inside, tmp_path: Path, args: tuple[str, ...], reported: str) -> None:
    served = Served(9, tmp_path / "log", tmp_path)
    folder = served.database(["http://a.example/"])
    done = inside(served, "db", "check", "--db", str(folder), *args)
    assert done.returncode == 2
    assert reported in done.stderr

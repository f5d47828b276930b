"""`spaniel batch` as people meet it: what it refuses, what it says, how it is stopped and goes on."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import programs
from tests.batch.command import command, environment, spaniel, urls_at
from tests.batch.harness import Served, records, serving, written


def ordinals(folder: Path) -> list[int]:
    return sorted(record["ordinal"] for record in records(folder))


def wait_for(served: Served, requests: int) -> None:
    for _ in range(600):
        if len(served.requests()) >= requests:
            return
        time.sleep(0.05)
    pytest.fail("the run does not begin")


def test_a_run_ends_with_a_summary_and_the_exit_code_of_its_outcome(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 8))
        done = spaniel(served, tmp_path)
        assert (done.returncode, done.stdout) == (0, "")
        assert "done: 8 of 8 URLs have a record" in done.stderr
        assert done.stderr.count("SSRF protection disabled") == 1  # not once for each worker
        summary = json.loads((tmp_path / "out.jsonl.batch" / "summary.json").read_text())
        assert (summary["urls"], summary["pages"], summary["failed"]) == (8, 8, {})
        written(tmp_path, [*urls_at(served, 2), served.url("127.0.0.1", "/gone")])
        some = spaniel(served, tmp_path, "--overwrite")
        assert some.returncode == 1
        assert "failed: http_4xx" in some.stderr
        again = spaniel(served, tmp_path, "--resume")  # nothing was left to do, and what failed still has
        assert again.returncode == 1
        assert "failed: http_4xx" in again.stderr
        summary = json.loads((tmp_path / "out.jsonl.batch" / "summary.json").read_text())
        assert (summary["pages"], summary["failed"], summary["recorded_by_this_run"]) == (2, {"http_4xx": 1}, 0)


def test_partially_read_source_is_a_failure(tmp_path: Path) -> None:
    """Exit code 0 means that all pages of the input were fetched; pages in the lost part are unknown."""
    with serving(tmp_path) as served:
        written(tmp_path, [*urls_at(served, 2), served.url("127.0.0.1", "/" + "x" * 70_000)])
        for more in ((), ("--resume",)):
            done = spaniel(served, tmp_path, *more)
            assert done.returncode == 1
            assert "not read from the sources               1" in done.stderr
        assert ordinals(tmp_path) == [0, 1]
        assert json.loads((tmp_path / "out.jsonl.batch" / "summary.json").read_text())["unread"] == 1


def test_source_without_urls_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, ["# nothing yet"])
        refused = spaniel(served, tmp_path)
        assert refused.returncode == 2
        assert f"{tmp_path / 'urls.txt'}: there is no URL in it" in refused.stderr


def test_existing_output_is_kept_without_overwrite(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 2))
        (tmp_path / "out.jsonl").write_text("mine\n")
        for more in ((), ("--resume",)):
            refused = spaniel(served, tmp_path, *more)
            assert refused.returncode == 2
            assert "--overwrite" in refused.stderr
            assert (tmp_path / "out.jsonl").read_text() == "mine\n"
        assert spaniel(served, tmp_path, "--overwrite", "-q").returncode == 0
        assert ordinals(tmp_path) == [0, 1]
        assert spaniel(served, tmp_path).returncode == 2


def stopped_midway(served: Served, folder: Path, count: int = 300) -> None:
    written(folder, urls_at(served, count))
    with programs.Popen(command(served, folder, "-q", "--delay", "0.01"), env=environment(folder)) as run:
        wait_for(served, 20)
        run.send_signal(signal.SIGHUP)  # a terminal that is closed is as good as Ctrl-C
        assert run.wait(60) == 128 + signal.SIGHUP


def test_ctrl_c_finishes_pages_in_flight_and_the_run_resumes(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.1) as served:
        written(tmp_path, urls_at(served, 400))
        with programs.Popen(
            command(served, tmp_path), env=environment(tmp_path), stderr=subprocess.PIPE, text=True
        ) as run:
            wait_for(served, 40)
            run.send_signal(signal.SIGINT)
            _, output = run.communicate(timeout=60)
        assert run.returncode == 130
        assert "in flight" in output
        assert "--resume" in output
        asked = {request.path for request in served.requests()} - {"/robots.txt"}
        assert len(records(tmp_path)) == len(asked) < 400  # whatever was begun has its record
        done = spaniel(served, tmp_path, "--resume", "-q")
        assert done.returncode == 0
        assert ordinals(tmp_path) == list(range(400))
        pages = [request.path for request in served.requests() if request.path != "/robots.txt"]
        assert len(pages) == len(set(pages))  # nothing was fetched twice


def test_run_stopped_while_planning_leaves_no_files(tmp_path: Path) -> None:
    endless = tmp_path / "endless.txt"
    os.mkfifo(endless)
    writer = os.open(endless, os.O_RDWR)  # so that it has no end
    os.write(writer, b"https://a.example/\n")
    line = [sys.executable, "-m", "spaniel", "batch", str(endless), "-o", str(tmp_path / "out.jsonl"), "--workers", "1"]
    with programs.Popen(line, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as run:
        while not (tmp_path / "out.jsonl.batch/lock").exists():
            time.sleep(0.01)
        time.sleep(0.5)  # it has the lock by now, and reads what never ends
        run.send_signal(signal.SIGTERM)
        _, output = run.communicate(timeout=60)
    os.close(writer)
    assert (run.returncode, output) == (128 + signal.SIGTERM, "")
    assert not list(tmp_path.glob("out.jsonl*"))


@pytest.mark.parametrize("change", ["input", "limit", "sources"])
def test_run_with_other_options_is_not_resumed(tmp_path: Path, change: str) -> None:
    with serving(tmp_path, pause=0.05) as served:
        stopped_midway(served, tmp_path)
        before = (tmp_path / "out.jsonl").read_bytes()
        line = command(served, tmp_path, "--resume")
        if change == "input":
            written(tmp_path, urls_at(served, 301))
        elif change == "limit":
            line += ["--limit", "7"]
        else:
            (tmp_path / "more.txt").write_text("http://a.example/\n")
            line.insert(line.index(str(tmp_path / "urls.txt")), str(tmp_path / "more.txt"))
        refused = programs.run(line, env=environment(tmp_path), capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        reason = {"input": "has changed since", "limit": "--limit none, not 7", "sources": "it was begun with"}[change]
        assert reason in refused.stderr
        assert "--overwrite" in refused.stderr
        assert (tmp_path / "out.jsonl").read_bytes() == before


def test_two_runs_do_not_write_to_one_output(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.5) as served:
        written(tmp_path, urls_at(served, 100))
        with programs.Popen(command(served, tmp_path, "-q", "--per-host", "2"), env=environment(tmp_path)) as run:
            wait_for(served, 5)
            for more in ("--resume", "--overwrite"):
                other = spaniel(served, tmp_path, more)
                assert other.returncode == 2
                assert "another run is writing to it now" in other.stderr
            assert run.wait(60) == 0
        assert ordinals(tmp_path) == list(range(100))


FULL = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); sys.argv[0:1] = []; "
FULL += "from spaniel.cli.main import run; run(sys.argv)"


def test_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """A limit for the size of files does to the writer what a full disk does: some bytes are taken, then none."""
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 300))
        line = command(served, tmp_path)
        full = [line[0], "-c", FULL.format(200_000), *line[3:]]
        done = programs.run(full, env=environment(tmp_path), capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 2, done.stderr
        assert "cannot be written" in done.stderr
        assert "--resume" in done.stderr
        assert "Traceback" not in done.stderr
        again = spaniel(served, tmp_path, "--resume", "-q")
        assert again.returncode == 0, again.stderr
        assert ordinals(tmp_path) == list(range(300))


def test_run_of_an_older_version_is_refused_with_a_hint(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 2))
        (tmp_path / "out.jsonl").write_text("of that run\n")
        folder = tmp_path / "out.jsonl.batch"
        folder.mkdir()
        about = {"format": 3, "sources": {}, "shape": {"--from": "none"}, "counts": [2, 2, 2, 0, 2, 1], "lost": 0}
        (folder / "run.json").write_text(json.dumps(about))
        for name in ("journal", "tasks", "hosts"):
            (folder / name).write_bytes(b"")
        for more in ((), ("--resume",)):
            refused = spaniel(served, tmp_path, *more)
            assert refused.returncode == 2
            assert "begun by an earlier version of Spaniel" in refused.stderr
            assert "--overwrite" in refused.stderr
        assert (tmp_path / "out.jsonl").read_text() == "of that run\n"
        assert spaniel(served, tmp_path, "--overwrite", "-q").returncode == 0
        assert ordinals(tmp_path) == [0, 1]
        assert not (folder / "journal").exists()


def test_truncated_output_is_detected(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.05) as served:
        stopped_midway(served, tmp_path)
        os.truncate(tmp_path / "out.jsonl", 10)
        refused = spaniel(served, tmp_path, "--resume")
        assert refused.returncode == 2
        assert "begin again with --overwrite" in refused.stderr


@pytest.mark.parametrize("planted", ["link", "file"])
def test_foreign_run_folder_is_not_touched(tmp_path: Path, planted: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "journal").write_text("precious")
    place = tmp_path / "out.jsonl.batch"
    place.symlink_to(mine) if planted == "link" else place.write_text("precious")
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 1))
        for more in ((), ("--resume",), ("--overwrite",)):
            refused = spaniel(served, tmp_path, *more)
            assert refused.returncode == 2
            assert "Traceback" not in refused.stderr
        assert (mine / "journal").read_text() == "precious"
        assert sorted(file.name for file in mine.iterdir()) == ["journal"]


def test_own_file_in_the_run_folder_is_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 2))
        (tmp_path / "out.jsonl.batch").mkdir()
        (tmp_path / "out.jsonl.batch" / "notes.txt").write_text("mine")
        assert spaniel(served, tmp_path, "-q", "--overwrite").returncode == 0
        left = sorted(file.name for file in (tmp_path / "out.jsonl.batch").iterdir())
        assert left == ["lock", "notes.txt", "run.json", "run.lock", "run.sqlite3", "summary.json"]  # no plan


@pytest.mark.parametrize("where", ["out.jsonl/", "missing/deep/out.jsonl"])
def test_impossible_output_is_reported_and_folders_are_created(tmp_path: Path, where: str) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, urls_at(served, 2))
        if where == "out.jsonl/":
            (tmp_path / "out.jsonl").mkdir()
            refused = spaniel(served, tmp_path, "--overwrite")
            assert refused.returncode == 2
            assert "is a folder" in refused.stderr
        else:
            done = spaniel(served, tmp_path, "-q", "-o", str(tmp_path / where))
            assert done.returncode == 0, done.stderr
            assert len(records(tmp_path, where)) == 2


def test_a_dry_run_fetches_and_writes_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        written(tmp_path, [*urls_at(served, 5), urls_at(served, 1)[0], "no url", "x" * 70_000])
        done = spaniel(served, tmp_path, "--dry-run")
        assert done.returncode == 0
        assert "line 8: is longer than" in done.stderr
        rows = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines()[:7])
        assert {name.strip(): int(value) for name, value in rows.items()} == {
            "URLs in the input": 7,
            "in this shard": 7,
            "invalid or refused": 1,
            "duplicates (same canonical URL)": 1,
            "pages to fetch": 5,
            "hosts": 4,
            "pages on the largest host": 2,
        }
        assert not served.requests()
        assert not (tmp_path / "out.jsonl").exists()
        assert not (tmp_path / "out.jsonl.batch").exists()


def test_standard_input_is_not_needed_to_resume(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        line = command(served, tmp_path, "-q")
        line[line.index(str(tmp_path / "urls.txt"))] = "-"
        text = "\n".join(["# a comment", "", *urls_at(served, 3)])
        done = programs.run(
            line, env=environment(tmp_path), input=text, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert ordinals(tmp_path) == [0, 1, 2]


def test_missing_ray_has_an_install_hint(tmp_path: Path) -> None:
    """Tests need Ray themselves: here Python is made to look past it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'ray' else find(name, *more)\n"
    )
    written(tmp_path, ["http://a.example/"])
    line = command(Served(1, tmp_path / "log"), tmp_path, "--engine", "ray")
    variables = environment(tmp_path) | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(line, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "pip install 'ray>=2.50'" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--jobs", "0"), "--jobs"),
        (("--workers", "0"), "--workers"),
        (("--per-host", "0"), "--per-host"),
        (("--delay", "-1"), "--delay"),
        (("--shard", "3/2"), "--shard"),
        (("--limit", "0"), "--limit"),
        (("--profile", "nosuch"), "unknown profile"),
        (("--hosts", "nosuch.toml"), "nosuch.toml"),
        (("-o", "pages.xyz"), "pages.xyz"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    written(tmp_path, ["http://a.example/"])
    done = spaniel(Served(1, tmp_path / "log"), tmp_path, *more)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.req("FG-46")
@pytest.mark.parametrize("option", ["--host-time", "--total-time"])
def test_time_limit_ends_the_run_with_records_for_the_rest(tmp_path: Path, option: str) -> None:
    """The pause before each page is longer than the time that all of them have."""
    with serving(tmp_path) as served:
        urls = [served.url(f"127.0.0.{host}", f"/ok{n}") for host in (1, 2) for n in range(4)]
        written(tmp_path, urls)
        done = spaniel(served, tmp_path, "--delay", "600", option, "2s", fast=False)
        assert len(served.requests()) <= 4  # robots.txt and a page of each host at the most
    assert done.returncode == 1
    assert "failed: timeout" in done.stderr
    assert ordinals(tmp_path) == list(range(8))
    late = [record for record in records(tmp_path) if record["error"]]
    assert len(late) >= 6
    for record in late:
        assert record["error"]["code"] == "timeout"
        assert record["error"]["details"]["limit"] == option
        assert "the 2 s for " in record["error"]["message"]
        assert "not tried" in record["error"]["message"]


@pytest.mark.parametrize("option", ["--host-time", "--total-time"])
@pytest.mark.parametrize("value", ["soon", "-1s", ""])
def test_invalid_time_limit_is_refused(tmp_path: Path, option: str, value: str) -> None:
    done = spaniel(Served(1, tmp_path / "log"), tmp_path, f"{option}={value}")
    assert done.returncode == 2
    assert option in done.stderr
    assert "Traceback" not in done.stderr


def test_unreadable_source_is_reported(tmp_path: Path) -> None:
    done = spaniel(Served(1, tmp_path / "log"), tmp_path)
    assert done.returncode == 2
    assert "urls.txt: there is no such file" in done.stderr


def test_on_a_terminal_there_is_a_live_display(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.3) as served:
        written(tmp_path, urls_at(served, 100))
        leader, terminal = pty.openpty()
        with programs.Popen(command(served, tmp_path), env=environment(tmp_path), stderr=terminal) as run:
            os.close(terminal)
            shown = b""
            try:
                while block := os.read(leader, 65536):
                    shown += block
            except OSError:  # the other end has gone
                pass
            assert run.wait(60) == 0
        os.close(leader)
    assert b"of 100 done" in shown
    assert b"in flight" in shown
    assert b"have a record" in shown

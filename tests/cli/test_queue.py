"""`spaniel queue` as a person and a script use it: whole processes, against a real site on loopback."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from spaniel.queue import Failure, Queue, QueueSettings
from spaniel.testing import Page, Site, html, text
from tests.programs import spaniel

PROFILE = (
    'name = "mine"\nversion = "1"\npolicy = "ingest"\nfallbacks = ["http","queue"]\n[limits]\ntotal_seconds = 60\n'
)


class Place:
    """A settings file that lets Spaniel in, and a profile whose ladder ends in the queue."""

    def __init__(self, folder: Path, port: int = 80) -> None:
        self.folder, self.config, self.profile = folder, str(folder / "open.toml"), folder / "mine.toml"
        Path(self.config).write_text(
            f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        self.profile.write_text(PROFILE, encoding="utf-8")

    def queue(self, command: str, *args: str) -> subprocess.CompletedProcess[str]:
        return spaniel("queue", command, "--config", self.config, *args)

    def fetch(self, *urls: str) -> subprocess.CompletedProcess[str]:
        return spaniel("fetch", "-q", "--config", self.config, "--profile", str(self.profile), *urls)

    def put(self, *urls: str, message: str = "The server returned 503 Busy", profile: str = "mine") -> None:
        queue = Queue(QueueSettings(f"{self.folder}/cache/queue"))
        for url in urls:
            attempts = [
                {"fallback": "http", "outcome": "http_5xx", "url": url, "status": 503, "waited": 0.0, "ms": 1.0}
            ]
            file = str(self.profile) if profile == "mine" else ""
            queue.add(Failure(url, url, profile, file, "http_5xx", message, attempts), 1_800_000_000)
        queue.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.req("FG-35")
async def test_failed_page_is_listed_shown_retried_and_removed(tmp_path: Path) -> None:
    pages: dict[str, Page] = {"/back": text("", 503), "/lost": text("", 410), "/there": html("<p>x</p>")}
    async with Site(pages) as site:
        place = Place(tmp_path, site.port)

        async def run(*args: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(place.queue, *args)

        urls = [site.url(path, "127.0.0.1") for path in ("/back", "/lost", "/there")]
        done = await asyncio.to_thread(place.fetch, *urls)
        assert done.returncode == 1, done.stderr
        listed = await run("ls")
        assert [line.split()[-1] for line in listed.stdout.splitlines()] == urls[:2]
        shown = await run("show", "1")
        assert "code: http_5xx" in shown.stdout
        assert "  fallback http  outcome http_5xx" in shown.stdout
        pages["/back"] = text("here again")
        tried = await run("retry", "-q")
        assert tried.returncode == 1
        assert [line.split()[:2] for line in tried.stdout.splitlines()] == [["1", "ok"], ["2", "http_4xx"]]
        assert "410" in tried.stderr
        left = [json.loads(line) for line in (await run("ls", "--json")).stdout.splitlines()]
        assert [(item["id"], item["times"], item["profile"]) for item in left] == [(2, 2, "mine")]
        pages["/lost"] = text("found")
        again = await run("retry", "-q", "--json", "2")
        assert (again.returncode, json.loads(again.stdout)["outcome"]) == (0, "ok")
        assert (await run("ls")).stdout == ""


@pytest.mark.req("FG-35")
def test_pages_are_removed_by_number_url_or_all(place: Place) -> None:
    place.put(*(f"https://a.example/{number}" for number in range(5)))
    assert place.queue("done").returncode == 2
    assert place.queue("done", "--all", "1").returncode == 2
    done = place.queue("done", "1", "https://a.example/1", "1")
    assert (done.returncode, done.stdout) == (0, "removed: 2\n")
    missing = place.queue("done", "1", "3")
    assert (missing.returncode, missing.stdout) == (1, "removed: 1\n")
    assert missing.stderr == "spaniel: 1 is not in the queue\n"
    assert place.queue("done", "--all").stdout == "removed: 2\n"


def test_unused_queue_is_empty_and_not_created(place: Place) -> None:
    for command in ("ls", "export", "retry"):
        done = place.queue(command)
        assert (done.returncode, done.stdout) == (0, "")
    assert place.queue("show", "1").returncode == 1
    assert not (place.folder / "cache" / "queue").exists()


@pytest.mark.req("FG-35")
def test_queue_is_exported(place: Place) -> None:
    urls = ["https://a.example/1", 'https://a.example/2?a="b",c']
    place.put(*urls, message='it said "no", and\nmore')
    lines = [json.loads(line) for line in place.queue("export").stdout.splitlines()]
    assert [line["url"] for line in lines] == urls
    assert lines[0]["added"] == "2027-01-15T08:00:00Z"
    assert lines[0]["attempts"][0]["fallback"] == "http"
    rows = list(csv.DictReader(io.StringIO(place.queue("export", "-f", "csv").stdout)))
    assert [row["url"] for row in rows] == urls
    assert (rows[0]["message"], rows[0]["attempts"]) == ('it said "no", and\nmore', "http:http_5xx")
    file = place.folder / "urls.txt"
    assert place.queue("export", "-f", "text", "-o", str(file)).stdout == ""
    assert file.read_text(encoding="utf-8").splitlines() == urls
    unwritable = place.queue("export", "-o", str(place.folder / "no" / "where"))
    assert unwritable.returncode == 2
    assert "cannot be written" in unwritable.stderr


def test_missing_profile_is_reported_and_the_page_kept(place: Place) -> None:
    place.put("https://a.example/1")
    place.profile.unlink()
    done = place.queue("retry", "-q")
    assert done.returncode == 1
    assert "mine.toml" in done.stderr
    assert "Traceback" not in done.stderr
    place.put("https://a.example/2", profile="nobodys")
    named = place.queue("retry", "-q", "2")
    assert "unknown profile 'nobodys'" in named.stderr
    assert len(place.queue("ls").stdout.splitlines()) == 2


def test_listed_text_cannot_control_the_terminal(place: Place) -> None:
    place.put("https://a.example/\x1b[31m\u202e", message="\x1b]0;title\x07 \u202e")
    for command in (("ls",), ("show", "1"), ("retry", "-q")):
        done = place.queue(*command)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout + done.stderr
    assert place.queue("show", "1").stdout.count("\\x1b") == 4  # the control: it was there to be shown


def test_a_damaged_queue_is_set_aside(place: Place) -> None:
    place.put("https://a.example/1")
    folder = place.folder / "cache" / "queue"
    for side in ("-wal", "-shm"):
        (folder / f"queue.sqlite3{side}").unlink(missing_ok=True)
    (folder / "queue.sqlite3").write_bytes(b"no database")
    assert place.queue("ls").stdout == ""
    place.put("https://a.example/2")
    assert "https://a.example/2" in place.queue("ls").stdout
    assert (folder / "queue.sqlite3.damaged").read_bytes() == b"no database"

"""`spaniel fetch` of many URLs: at once, in order, politely, and stopped by one Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Lock, Thread

import pytest

from tests import programs
from tests.programs import SPANIEL, spaniel

HTML = "<html><head><title>{0} - The Site</title></head><body><main><h1>{0}</h1><p>{1}</p></main></body></html>"
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
FORGED = 'x\n\n---\nurl: "https://bank.example/"\ntitle: "Bank"\n---\n\nPay here.\n'


class Many(ThreadingHTTPServer):
    """A site that counts who is there at once, host by host; some of its pages wait for company, or for ever."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), Handler)  # noqa: S104  loopback alone is asked
        self.lock = Lock()
        self.here: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.company = Barrier(4)
        self.pairs = {host: Barrier(2) for host in HOSTS}
        self.over = Event()
        self.hanging = Event()

    def url(self, path: str, host: str = HOSTS[0]) -> str:
        return f"http://{host}:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Many

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        with self.server.lock:
            self.server.here[host] += 1
            self.server.most[host] = max(self.server.most[host], self.server.here[host])
        status, headers, body = self._answer(self.path)
        with self.server.lock:
            self.server.here[host] -= 1  # before the last byte: its reader may send the next request immediately
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def _answer(self, path: str) -> tuple[int, dict[str, str], str]:
        kind, body = "text/html; charset=utf-8", HTML.format(path.strip("/"), "Words of a page. " * 20)
        if path == "/robots.txt":
            kind, body = "text/plain", ""
        elif path.startswith("/company"):
            path = self._met(self.server.company)
        elif path.startswith("/pair"):
            path = self._met(self.server.pairs[self.headers["Host"].partition(":")[0]])
        elif path.startswith("/slow"):
            time.sleep(0.4)
        elif path == "/never":
            self.server.hanging.set()
            self.server.over.wait(60)
        elif path == "/empty":
            body = "<html><head><title>Nothing</title></head><body></body></html>"
        elif path == "/forged":
            kind, body = "text/plain", FORGED
        elif path == "/moved":
            return 301, {"Location": "/a"}, ""
        status = 404 if path.startswith("/gone") else 200
        return status, {"Content-Type": kind, "Content-Length": str(len(body.encode()))}, body

    def _met(self, barrier: Barrier) -> str:
        """What to answer when so many are here; an error where they never are."""
        try:
            barrier.wait(60)
        except BrokenBarrierError:
            return "/gone"
        return self.path

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def site() -> Iterator[Many]:
    with Many() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.fixture
def config(site: Many, tmp_path: Path) -> str:
    path = tmp_path / "open.toml"
    path.write_text(
        f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.security]\n'
        f"allowed_ports = [{site.server_port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
        encoding="utf-8",
    )
    return str(path)


def pages_in(text: str) -> list[tuple[dict[str, object], str]]:
    """What a reader of front matter makes of a stream."""
    found: list[tuple[dict[str, object], str]] = []
    head: dict[str, object] | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if (
            line == "---"
            and head is None
            and lines[number + 1 : number + 2][:1]
            and lines[number + 1].startswith("url: ")
        ):
            head = {}
        elif line == "---" and head is not None:
            found.append((head, ""))
            head = None
        elif head is not None:
            name, _, value = line.partition(": ")
            head[name] = json.loads(value)
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def test_pages_are_printed_in_order_with_front_matter(site: Many, config: str) -> None:
    urls = [site.url("/slow"), site.url("/gone", HOSTS[1]), site.url("/moved", HOSTS[2]), site.url("/b", HOSTS[3])]
    done = spaniel("fetch", "--config", config, *urls)
    assert done.returncode == 1
    found = pages_in(done.stdout)
    assert [head["url"] for head, _ in found] == [urls[0], urls[2], urls[3]]
    assert [head["title"] for head, _ in found] == ["slow", "a", "b"]
    assert [head.get("final_url") for head, _ in found] == [None, site.url("/a", HOSTS[2]), None]
    assert all("Words of a page." in text for _, text in found)
    assert f"spaniel: {urls[1]}: http_4xx: The server returned 404" in done.stderr
    assert "spaniel: 3 of 4 pages fetched; 1 failed (1 http_4xx)\n" in done.stderr


def test_single_page_has_no_front_matter(site: Many, config: str) -> None:
    done = spaniel("fetch", "--config", config, site.url("/a"))
    assert done.stdout.startswith("# a\n\nWords of a page.")
    assert "pages fetched" not in done.stderr


def test_jobs_limits_concurrent_fetches(site: Many, config: str) -> None:
    urls = [site.url("/company", host) for host in HOSTS]
    assert spaniel("fetch", "-q", "--no-cache", "--timeout", "60", "--config", config, *urls).returncode == 0
    site.company.reset()
    alone = spaniel("fetch", "-q", "--no-cache", "--jobs", "1", "--config", config, "--timeout", "1", *urls)
    assert alone.returncode == 1  # no second request met the first


def test_at_most_two_concurrent_fetches_per_host(site: Many, config: str) -> None:
    urls = [site.url(f"/pair/{number}", host) for number in range(8) for host in HOSTS[:2]]
    done = spaniel("fetch", "-q", "--jobs", "16", "--timeout", "60", "--config", config, *urls)
    assert done.returncode == 0  # so that two were there, time and again
    assert set(site.most.values()) == {2}


def test_profile_may_lower_concurrency(site: Many, config: str, tmp_path: Path) -> None:
    (tmp_path / "shy.toml").write_text('name = "shy"\nversion = "1"\n[hosts]\nmax_concurrent = 1\n', encoding="utf-8")
    urls = [site.url(f"/slow/{number}") for number in range(4)]
    done = spaniel("fetch", "-q", "--config", config, "--profile", str(tmp_path / "shy.toml"), *urls)
    assert (done.returncode, site.most[HOSTS[0]]) == (0, 1)
    spaniel("fetch", "-q", "--no-cache", "--config", config, *urls)
    assert site.most[HOSTS[0]] == 2  # the control


def start(*args: str, stdin: int = subprocess.DEVNULL, before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
    return programs.Popen(
        [*before, *SPANIEL, "fetch", "-v", *args], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def wait_for(process: subprocess.Popen[bytes], word: bytes, times: int = 1) -> None:
    """Until so many lines of its log have a word."""
    assert process.stderr
    for line in process.stderr:
        times -= word in line
        if times <= 0:
            return
    pytest.fail("it ended too early")


posix = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal here")
SIGNALS = {"Ctrl-C": "SIGINT", "kill": "SIGTERM", "a closed terminal": "SIGHUP"}
# As a shell's script starts what runs in the background.
WITHOUT_CTRL_C = ("sh", "-c", """trap '' INT; exec "$@" """, "sh")


@posix
@pytest.mark.parametrize(("how", "before"), [*((how, ()) for how in SIGNALS), ("kill", WITHOUT_CTRL_C)])
def test_second_signal_stops_and_keeps_finished_pages(
    site: Many, config: str, tmp_path: Path, how: str, before: tuple[str, ...]
) -> None:
    number = signal.Signals[SIGNALS[how]]
    folder = tmp_path / "folder"
    folder.mkdir()
    out = folder / "out.md"
    urls = [site.url("/a"), site.url("/never", HOSTS[1]), site.url("/b", HOSTS[2])]
    with start("--config", config, "-o", str(out), "--timeout", "60", *urls, before=before) as process:
        wait_for(process, b"fetch_complete", 2)
        assert site.hanging.wait(30)
        assert list(folder.iterdir()) != []  # the control: what it writes is there
        process.send_signal(number)
        process.send_signal(number)  # `timeout` sends two, which are one request
        wait_for(process, b"press Ctrl-C again")
        process.send_signal(number)
        _, output = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert list(folder.iterdir()) == [out]
    assert [head["url"] for head, _ in pages_in(out.read_text(encoding="utf-8"))] == [urls[0], urls[2]]
    assert b"spaniel: stopped: 2 pages fetched" in output
    assert b"; 1 not fetched" in output
    assert b"Traceback" not in output


@posix
def test_signals_ignored_by_nohup_stay_ignored(site: Many, config: str) -> None:
    with start("--config", config, site.url("/never"), "--timeout", "60", before=("nohup",)) as process:
        assert site.hanging.wait(30)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 143


@posix
def test_ctrl_c_works_while_standard_input_is_silent(site: Many, config: str) -> None:
    with start("--config", config, "-", stdin=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(f"{site.url('/a')}\n".encode())
        process.stdin.flush()
        wait_for(process, b"fetch_complete")  # although more may come
        process.send_signal(signal.SIGINT)
        assert process.stdout
        assert pages_in(process.stdout.read().decode())[0][0]["url"] == site.url("/a")
        assert process.wait(30) == 130


@posix
@pytest.mark.parametrize("how", SIGNALS)
def test_stopped_single_fetch_keeps_the_old_file(site: Many, config: str, tmp_path: Path, how: str) -> None:
    out = tmp_path / "folder" / "out.md"
    out.parent.mkdir()
    out.write_text("mine", encoding="utf-8")
    number = signal.Signals[SIGNALS[how]]
    with start("--config", config, "-o", str(out), "--timeout", "60", site.url("/never")) as process:
        assert site.hanging.wait(30)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert (process.returncode, out.read_text(encoding="utf-8")) == (128 + number, "mine")
    assert list(out.parent.iterdir()) == [out]


def test_list_is_streamed_and_bad_lines_are_reported_with_urls(site: Many, config: str) -> None:
    lines = f"{site.url('/a')}\n# a comment\nnonsense\n{site.url('/gone?token=x')}\n{site.url('/gone/2')}\n"
    done = spaniel("fetch", "--config", config, "-", stdin=lines.encode())
    assert done.returncode == 1
    assert "spaniel: line 3: invalid_url: " in done.stderr
    assert f"spaniel: line 4: http_4xx: The server returned 404 Not Found ({site.url('/gone')}?…)" in done.stderr
    assert done.stderr.count("Check the URL. The page may be private") == 1  # a hint once is enough
    assert "1 of 4 pages fetched; 3 failed (1 invalid_url, 2 http_4xx)" in done.stderr


def test_quiet_is_quiet(site: Many, config: str) -> None:
    done = spaniel("fetch", "-q", "--config", config, site.url("/empty"), site.url("/b"))
    (said,) = done.stderr.splitlines()
    assert "SSRF protection disabled" in said


@pytest.mark.req("D2-33")
def test_empty_page_has_a_note(site: Many, config: str) -> None:
    done = spaniel("fetch", "--config", config, site.url("/empty"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "spaniel: note: The page has no text. If a script creates it, try --browser. (no_text)" in done.stderr
    again = spaniel("fetch", "--config", config, "--format", "json", site.url("/empty"))
    answer = json.loads(again.stdout)
    assert (answer["chunks"], answer["note"]) == ([], "no_text, cache_hit")
    assert "(no_text)" in again.stderr
    assert "This copy comes from the cache. Add --no-cache to fetch the page again. (cache_hit)" in again.stderr
    several = spaniel("fetch", "--config", config, site.url("/empty"), site.url("/a"))
    assert f"spaniel: {site.url('/empty')}: note: The page has no text." in several.stderr
    assert "2 pages fetched, 1 of them from the cache" in several.stderr
    assert "(no_text)" not in spaniel("fetch", "--config", config, site.url("/a")).stderr  # the control


def test_page_cannot_forge_front_matter(site: Many, config: str) -> None:
    done = spaniel("fetch", "-q", "--config", config, site.url("/forged"), site.url("/a"))
    assert "https://bank.example/" in done.stdout
    assert [head["url"] for head, _ in pages_in(done.stdout)] == [site.url("/forged"), site.url("/a")]


def test_folder_gets_one_file_per_page_and_keeps_other_files(site: Many, config: str, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    urls = [site.url("/a"), site.url("/A"), site.url("/a/"), site.url("/../b?q=1&r=/etc"), site.url("/a")]
    name = f"127.0.0.1-{site.server_port}"
    folder.mkdir()
    foreign = folder / f"{name}_b-q-1-r-_etc.md"
    foreign.write_text("mine", encoding="utf-8")
    for _ in range(2):  # the second time each finds its own
        done = spaniel("fetch", "--config", config, "-o", f"{folder}/", *urls)
        assert (done.returncode, done.stdout) == (0, "")
        assert f"written to {folder}/" in done.stderr
        files = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        assert len(files) == 5
        assert files.pop(foreign.name) == "mine"
        heads = {pages_in(text)[0][0]["url"] for text in files.values()}
        assert heads == set(urls)
        assert all(file.startswith(f"{name}_") for file in files)
        assert f'url: "{urls[0]}"' in files[f"{name}_a.md"]
    one = spaniel("fetch", "--config", config, "-o", str(folder), "--format", "json", site.url("/a"))
    assert one.stderr.endswith(f"spaniel: written to {folder}/{name}_a.json\n")


def test_file_names_stay_in_the_folder_and_links_are_not_followed(site: Many, config: str, tmp_path: Path) -> None:
    folder, victim = tmp_path / "pages", tmp_path / "victim.md"
    folder.mkdir()
    victim.write_text(f'---\nurl: "{site.url("/a")}"\n---\n', encoding="utf-8")
    (folder / f"127.0.0.1-{site.server_port}_a.md").symlink_to(victim)
    before = victim.read_text(encoding="utf-8")
    done = spaniel("fetch", "-q", "--config", config, "-o", f"{folder}/", site.url("/a"), site.url("/..%2f..%2fetc"))
    assert done.returncode == 0
    assert victim.read_text(encoding="utf-8") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "open.toml", "pages", "victim.md"]
    assert len(list(folder.iterdir())) == 3


def test_json_formats_name_the_url_by_one_key(site: Many, config: str) -> None:
    urls = [site.url("/moved"), site.url("/gone"), "nonsense"]
    lines = spaniel("fetch", "-q", "--config", config, "--format", "page", *urls).stdout.splitlines()
    page, gone, nonsense = map(json.loads, lines)
    assert [one["requested_url"] for one in (page, gone, nonsense)] == urls
    assert (page["status"], page["chain"], page["final_url"]) == (200, [site.url("/moved")], site.url("/a"))
    assert page["markdown"].startswith("# a\n\nWords of a page.")
    assert (page["title"], page["page_title"], page["metadata"]["title"]) == ("a", "a - The Site", "a")
    assert [attempt["fallback"] for attempt in page["attempts"]] == ["http"]
    assert (page["notes"], len(page["content_hash"])) == ([], 64)
    assert (gone["status"], gone["error"]["code"], gone["attempts"][0]["outcome"]) == (404, "http_4xx", "http_4xx")
    assert (nonsense["error"]["code"], nonsense["canonical_url"]) == ("invalid_url", None)
    for form in ("json", "chunks"):
        output = spaniel("fetch", "-q", "--config", config, "--format", form, *urls).stdout.splitlines()
        right = urls if form == "json" else urls[:1]  # what failed has no chunks
        assert [json.loads(line)["requested_url"] for line in output] == right


@pytest.mark.parametrize("jobs", ["0", "65", "-1"])
def test_invalid_number_of_jobs_is_refused(jobs: str) -> None:
    done = spaniel("fetch", "--jobs", jobs, "https://a.example/")
    assert (done.returncode, "--jobs: must be 1 to 64" in done.stderr) == (2, True)


def test_progress_is_drawn_only_on_a_terminal(site: Many, config: str) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [*SPANIEL, "fetch", "--config", config, site.url("/a"), site.url("/b"), site.url("/gone")]
    with programs.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        drawn = bytearray()
        while piece := _read(ours):
            drawn += piece
        assert process.stdout
        output = process.stdout.read()
    os.close(ours)
    assert b"3 of 3 done, 1 failed, 0 in flight" in drawn
    assert drawn.rstrip().endswith(b"2 of 3 pages fetched; 1 failed (1 http_4xx)")
    assert b"\x1b" not in output
    assert "\x1b" not in spaniel("fetch", "--config", config, site.url("/a"), site.url("/b")).stderr


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""

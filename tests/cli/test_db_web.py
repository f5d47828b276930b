"""`spaniel db` with the web, as real processes: a site on loopback, and commands that are stopped in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest

from tests import programs
from tests.programs import spaniel

GUIDE = "/guia/solicitud-de-beca.html"
HOME = (
    f'<title>Inicio</title><p>Becas</p><a href="{GUIDE}">Solicitud de beca</a><a href="/aviso/legal-uno.html">Aviso</a>'
)


class Site(NamedTuple):
    origin: str
    folder: Path
    slow: Event  # somebody waits for a page that does not come
    end: Event

    @property
    def common(self) -> tuple[str, ...]:
        return ("--online", "--db", str(self.folder / "urls"), "--config", str(self.folder / "open.toml"))

    @property
    def paths(self) -> list[str]:
        done = spaniel("db", "ls", "--db", str(self.folder / "urls"))
        return [line.removeprefix(self.origin).partition("  ")[0] for line in done.stdout.splitlines()]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    slow, end = Event(), Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"/robots.txt": 404, "/vieja": 301, "/nada": 404}.get(self.path, 200)
            if self.path == "/lenta":
                slow.set()
                end.wait(60)
            self.send_response(status)
            if status == 301:
                self.send_header("Location", GUIDE)
            body = b"" if status != 200 else HOME.encode() if self.path == "/" else b"<title>Una</title><p>una"
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  as the server calls it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "open.toml").write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{server.server_port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        (tmp_path / "urls").mkdir()
        (tmp_path / "urls" / "registry.toml").write_text('policy = "clara"\n', encoding="utf-8")
        yield Site(f"http://127.0.0.1:{server.server_port}", tmp_path, slow, end)
        end.set()
        server.shutdown()


@pytest.mark.req("CP-21", "DB-08")
def test_add_online_reports_each_url_of_a_list(site: Site) -> None:
    lines = f"{site.origin}/vieja\nnonsense\n{site.origin}/nada\n"
    done = spaniel("db", "add", *site.common, "-", stdin=lines.encode())
    assert done.returncode == 1
    assert site.paths == [GUIDE, "/nada"]
    assert f"added {site.origin}{GUIDE}" in done.stdout
    assert f"(was {site.origin}/vieja)" in done.stdout
    assert "line 2: " in done.stderr
    assert f"{site.origin}/nada: note: flagged status-404" in done.stderr
    assert done.stderr.endswith("spaniel: 2 looked up, 1 failed\n")


@pytest.mark.req("CP-21", "DB-08")
def test_import_online_counts_results(site: Site) -> None:
    listed = site.folder / "list.csv"
    listed.write_text(f"url,categories\n{site.origin}/vieja,becas\n{site.origin}{GUIDE},a b\n", encoding="utf-8")
    done = spaniel("db", "import", *site.common, str(listed))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("spaniel: 1 added, 1 already in the database\n")
    shown = spaniel("db", "show", "--json", "--db", str(site.folder / "urls"), f"{site.origin}{GUIDE}").stdout
    assert json.loads(shown)["categories"] == ["a", "b", "becas"]


@pytest.mark.req("CP-15")
def test_audit_proposes_and_strict_still_fails(site: Site) -> None:
    data = site.folder / "t.json"
    rows = [{"titulo": "Solicitud de beca", "url": f"{site.origin}/"}, {"titulo": "x", "url": f"{site.origin}/nada"}]
    data.write_text(json.dumps(rows), encoding="utf-8")
    done = spaniel("db", "audit", *site.common, "-f", "json", "--strict", str(data))
    assert done.returncode == 1
    first, second = json.loads(done.stdout)
    assert first["deeper"] == f"{site.origin}{GUIDE}"
    assert "the page could not be read: it answers 404" in second["note"]
    assert "gaps: 2, with a deeper link proposed: 1; to review: 0" in done.stderr
    table = spaniel("db", "audit", *site.common, str(data)).stdout
    assert "deeper" in table.splitlines()[1]


@pytest.mark.req("CP-15")
def test_audit_of_the_database_takes_titles_from_its_records(site: Site) -> None:
    port = site.origin.rpartition(":")[2]
    text = "---\n---\n_path: /\ntitle: Solicitud de beca\n---\n_path: /x\ncategories:\n- deprecated\n"
    (site.folder / "urls" / f"127.0.0.1%3A{port}.yaml").write_text(text, encoding="utf-8")
    done = spaniel("db", "audit", *site.common, "-f", "json")
    [row] = json.loads(done.stdout)
    assert (row["where"], row["deeper"]) == ("line 2", f"{site.origin}{GUIDE}")


@pytest.mark.parametrize("command", ["add", "audit"])
def test_stopped_import_keeps_and_reports_finished_records(site: Site, command: str) -> None:
    urls = [f"{site.origin}{GUIDE}", f"{site.origin}/lenta"]
    data = site.folder / "t.json"
    data.write_text(json.dumps([{"url": url} for url in urls]), encoding="utf-8")
    given = urls if command == "add" else ["--all", "-f", "csv", str(data)]
    argv = [sys.executable, "-m", "spaniel", "db", command, *site.common, "-j", "1", *given]
    with programs.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert site.slow.wait(60)
        running.send_signal(signal.SIGTERM)
        assert running.stderr
        while "press Ctrl-C again" not in running.stderr.readline():
            assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 143
    assert "Traceback" not in err
    assert "stopped" in err
    assert GUIDE in out
    assert "/lenta" not in out
    if command == "add":
        assert site.paths == [GUIDE]


def test_guard_applies(site: Site) -> None:
    done = spaniel("db", "add", "--online", "--db", str(site.folder / "urls"), f"{site.origin}/vieja")
    assert done.returncode == 3
    assert "port_blocked" in done.stderr or "ssrf_blocked" in done.stderr
    assert site.paths == []

"""`spaniel db add --static`: what a URL brings is measured over the guarded door, and written down."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.programs import spaniel

BODY = b"static content\n"
DIGEST = hashlib.sha256(BODY).hexdigest()


class Place(NamedTuple):
    origin: str
    config: str
    db: Path
    asked: list[str]

    @property
    def file(self) -> Path:
        port = self.origin.rpartition(":")[2]
        return self.db / f"127.0.0.1%3A{port}.yaml"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            status = {"/robots.txt": 404, "/old": 301, "/gone": 404}.get(self.path, 200)
            self.send_response(status)
            if status == 301:
                self.send_header("Location", "/file")
            self.send_header("Content-Type", "Text/Plain; charset=utf-8")
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = tmp_path / "open.toml"
        config.write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{server.server_port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        (tmp_path / "urls").mkdir()
        yield Place(f"http://127.0.0.1:{server.server_port}", str(config), tmp_path / "urls", asked)
        server.shutdown()


def add(place: Place, *args: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = spaniel("db", "add", "--static", "--db", str(place.db), "--config", place.config, *args, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.req("DB-07", "DB-08")
def test_length_and_hash_of_the_content_after_redirects_are_recorded(place: Place) -> None:
    code, out, _ = add(place, f"{place.origin}/old")
    assert code == 0
    assert out == f"added {place.origin}/old  {place.file}\n"
    assert place.file.read_text(encoding="utf-8") == (
        f"---\n---\n_path: /old\ncontent-length: {len(BODY)}\ncontent-sha256: {DIGEST}\n"
    )
    assert place.asked == ["/robots.txt", "/old", "/file"]


@pytest.mark.req("DB-07", "DB-08")
def test_type_option_records_the_type_and_replaces_old_facts(place: Place) -> None:
    place.file.write_text("---\n---\n# mine\n_path: /file\ncontent-length: 1 # was\nnote: x\n", encoding="utf-8")
    assert add(place, "--type", "-q", f"{place.origin}/file")[:2] == (0, "")
    assert place.file.read_text(encoding="utf-8") == (
        f"---\n---\n# mine\n_path: /file\ncontent-length: {len(BODY)} # was\ncontent-sha256: {DIGEST}\n"
        "content-type: text/plain\nnote: x\n"
    )


def test_failed_measurements_are_reported_and_not_added(place: Place) -> None:
    lines = "\n".join([f"{place.origin}/{number}" for number in range(40)] + [f"{place.origin}/gone", "nonsense"])
    code, out, err = add(place, "-", stdin=lines.encode())
    assert code == 1
    assert len(out.splitlines()) == 40
    assert "line 41: http_4xx" in err
    assert "line 42: invalid_url" in err
    assert err.endswith("spaniel: 40 measured, 2 failed\n")
    assert place.file.read_text(encoding="utf-8").count("_path: ") == 40


def test_guard_applies(place: Place) -> None:
    command = ("db", "add", "--static", "--db", str(place.db), f"{place.origin}/file")
    done = spaniel(*command, XDG_CACHE_HOME=str(place.db.parent))
    assert done.returncode == 3
    assert "port_blocked" in done.stderr or "ssrf_blocked" in done.stderr
    assert not place.asked
    assert not place.file.exists()

"""`spaniel fetch --browser` and `--screenshot` as whole processes."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.browser.harness import chromium_path
from tests.programs import spaniel

PAGE = (
    b"<!doctype html><title>T</title><main><script>document.write('<h1>Written by a script</h1><p>text</p>')</script>"
    b"<p>What stands in the page itself is long enough to pass for its text.</p>"
    b"<p>%b</p>" % (b"There is more of it, and it has been there before any script. " * 8)
)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class Place(NamedTuple):
    url: str
    config: str


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        config = tmp_path / "open.toml"
        config.write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n[tools.webfetch.browser]\n'
            f'chromium_path = "{chromium_path()}"\n[tools.webfetch.security]\n'
            f"allowed_ports = [{server.server_port}]\nblock_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        yield Place(f"http://127.0.0.1:{server.server_port}/", str(config))
        server.shutdown()


@pytest.mark.req("IT-WF-BR-01", "FR-WF-12a")
def test_browser_renders_and_screenshot_writes_a_picture(place: Place, tmp_path: Path) -> None:
    plain = spaniel("fetch", "-q", "--config", place.config, place.url)
    assert "What stands in the page" in plain.stdout
    assert "Written by a script" not in plain.stdout
    rendered = spaniel("fetch", "-q", "--config", place.config, "--browser", place.url)
    (said,) = rendered.stderr.splitlines()
    assert (rendered.returncode, "SSRF protection disabled" in said) == (0, True)  # nothing else, and never less
    assert rendered.stdout.startswith("# Written by a script")
    picture = tmp_path / "page.png"
    shot = spaniel("fetch", "-q", "--config", place.config, "--screenshot", str(picture), place.url)
    assert shot.stdout == rendered.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_done_is_said(place: Place, tmp_path: Path) -> None:
    nowhere = spaniel("fetch", "-q", "--config", place.config, "--screenshot", f"{tmp_path}/no/x.png", place.url)
    assert (nowhere.returncode, "cannot be written" in nowhere.stderr) == (2, True)
    many = spaniel("fetch", "-q", "--config", place.config, "--screenshot", f"{tmp_path}/x.png", place.url, place.url)
    assert (many.returncode, "one URL at a time" in many.stderr) == (2, True)

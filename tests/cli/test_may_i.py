"""`spaniel may-i`: the answer, the line that gave it, and an exit code for scripts."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from spaniel.cli import may_i
from spaniel.testing import Site, text
from tests.loopback import engine_for
from tests.programs import spaniel

ROBOTS = text("User-agent: *\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 2\nContent-Signal: ai-train=no\n")


async def ask(path: str, *options: str) -> int:
    pages = {"/robots.txt": ROBOTS, "/yes": text("x" * 10_000, headers={"X-Robots-Tag": "noai\x1b[31m"})}
    async with Site({**pages}) as site, engine_for(site) as engine:
        return await may_i.check_robots(may_i.parser().parse_args([site.url(path), *options]), engine)


@pytest.mark.req("FR-WF-08c")
async def test_no_has_the_line_that_disallows(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/no/x") == 3
    out = capsys.readouterr().out
    assert out.startswith("no http://site.example")
    assert "line 2: Disallow: /no (group '*')" in out
    assert "crawl-delay: 2.0" in out
    assert "content-signal: ai-train=no" in out


async def test_yes_has_the_headers_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/yes") == 0
    out = capsys.readouterr().out
    assert out.startswith("yes ")
    assert "x-robots-tag: noai\\x1b[31m" in out
    assert "no rule of group '*' matches" in out


async def test_json_has_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask("/no/but", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["allowed"] is True
    assert (facts["line"], facts["rule"], facts["group"]) == (3, "Allow: /no/but", "*")


@pytest.mark.parametrize(
    ("url", "code", "exit_code"),
    [
        ("http://127.0.0.1/", "ssrf_blocked", 3),
        ("ftp://a.example/", "invalid_scheme", 2),
        ("http://no.invalid/", "dns_failed", 4),
    ],
)
def test_a_url_that_is_refused_ends_with_its_own_code(url: str, code: str, exit_code: int) -> None:
    done = spaniel("may-i", url)
    assert (done.returncode, done.stdout) == (exit_code, "")
    assert code in done.stderr
    assert "Traceback" not in done.stderr


def test_settings_file_opens_the_guard_with_a_warning(tmp_path: Path) -> None:
    """A whole process against a real site on loopback, let in by a settings file."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _NotFound) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        settings = tmp_path / "open.toml"
        settings.write_text(
            f'[tools.webfetch]\ncache_dir = "{tmp_path}/cache"\n'
            f"[tools.webfetch.security]\nallowed_ports = [{server.server_port}]\n"
            "block_loopback = false\nallow_insecure_overrides = true\n",
            encoding="utf-8",
        )
        done = spaniel("may-i", "--config", str(settings), f"http://127.0.0.1:{server.server_port}/a")
        server.shutdown()
    assert done.returncode == 0
    assert done.stdout.startswith("yes http://127.0.0.1:")
    assert "SSRF protection disabled for: block_loopback" in done.stderr


class _NotFound(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

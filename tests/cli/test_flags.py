"""`--user-agent` and `--timeout`: from the command line, or from their variables, to the server that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest

from tests.programs import spaniel

ROBOTS = b"User-agent: otter\nDisallow: /\n"


class Place(NamedTuple):
    url: str
    config: str
    agents: list[str]  # who asked


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A site that disallows the agent otter and never answers at /never, and settings that allow loopback."""
    agents: list[str] = []
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            agents.append(self.headers["User-Agent"])
            if self.path == "/never":
                over.wait(60)
                return
            body = ROBOTS if self.path == "/robots.txt" else b"hello"
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

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
        yield Place(f"http://127.0.0.1:{server.server_port}", str(config), agents)
        over.set()
        server.shutdown()


AGENT = "otter/1 (+https://otter.example/contact)"


@pytest.mark.req("D2-31")
@pytest.mark.parametrize(
    ("options", "variable"), [(("--user-agent", AGENT), ""), (("--agent", AGENT), ""), ((), AGENT)]
)
def test_robots_txt_is_evaluated_for_the_user_agent_of_the_run(
    place: Place, options: tuple[str, ...], variable: str
) -> None:
    command = ("may-i", "--config", place.config, f"{place.url}/a")
    done = spaniel(*command, *options, SPANIEL_USER_AGENT=variable)
    assert (done.returncode, set(place.agents)) == (3, {AGENT})
    assert "(group 'otter')" in done.stdout
    assert spaniel(*command).returncode == 0  # the control


def test_user_agent_of_the_run_is_sent_with_each_request(place: Place) -> None:
    agent = "beaver/1 (+https://beaver.example/)"
    done = spaniel("fetch", "--config", place.config, "--user-agent", agent, f"{place.url}/a")
    assert (done.returncode, place.agents) == (0, [agent, agent])


@pytest.mark.req("D2-31")
@pytest.mark.parametrize(("options", "variable"), [(("--timeout", "1"), ""), ((), "1")])
def test_the_timeout_of_a_run_ends_it(place: Place, options: tuple[str, ...], variable: str) -> None:
    command = ("fetch", "--config", place.config, *options, f"{place.url}/never")
    done = spaniel(*command, SPANIEL_TIMEOUT_SECONDS=variable)
    assert done.returncode == 4
    assert "timeout: Timed out after 1000 ms" in done.stderr


@pytest.mark.req("FG-48")
@pytest.mark.parametrize("source", ["variable", "setting", "profile"])
@pytest.mark.parametrize("command", ["batch", "fetch"])
def test_user_agent_setting_replaces_the_profiles_own(place: Place, tmp_path: Path, source: str, command: str) -> None:
    agent = "beaver/1 (+https://beaver.example/)"
    if source == "setting":
        text = Path(place.config).read_text(encoding="utf-8")
        Path(place.config).write_text(text.replace("cache_dir", f'user_agent = "{agent}"\ncache_dir'), encoding="utf-8")
    (tmp_path / "list.txt").write_text(f"{place.url}/a\n", encoding="utf-8")
    words = {
        "batch": ("batch", str(tmp_path / "list.txt"), "-o", str(tmp_path / "out.jsonl"), "--delay", "0"),
        "fetch": ("fetch", "--profile", "ingest", f"{place.url}/a"),
    }[command]
    done = spaniel(*words, "--config", place.config, SPANIEL_USER_AGENT=agent if source == "variable" else "")
    assert done.returncode == 0, done.stderr
    assert set(place.agents) == {agent if source != "profile" else "ContextIngestion/1.0 (compatible)"}


@pytest.mark.req("FG-01")
def test_a_bare_domain_is_fetched_over_https(place: Place) -> None:
    bare = place.url.removeprefix("http://")
    done = spaniel("fetch", "--config", place.config, f"{bare}/a", "--timeout", "9")
    assert (done.returncode, "invalid_url" in done.stderr) == (4, False), done.stderr  # it speaks no TLS
    may = spaniel("may-i", "--config", place.config, f"{bare}/a")
    assert "invalid_url" not in may.stderr


@pytest.mark.req("FG-01")
def test_bare_domains_are_accepted_as_arguments(tmp_path: Path) -> None:
    canon = spaniel("canon", "example.com/a")
    assert (canon.returncode, canon.stdout.strip()) == (0, "https://example.com/a")
    assert spaniel("db", "init", "--db", str(tmp_path / "urls")).returncode == 0
    added = spaniel("db", "add", "--db", str(tmp_path / "urls"), "example.com", "example.org/b")
    assert added.returncode == 0, added.stderr
    dumped = spaniel("db", "dump", "--db", str(tmp_path / "urls"))
    assert set(dumped.stdout.split()) == {"https://example.com/", "https://example.org/b"}
    for wrong in ("word", "javascript:1", "mailto:a@example.com"):
        assert spaniel("db", "add", "--db", str(tmp_path / "urls"), wrong).returncode == 2


@pytest.mark.req("FG-01")
def test_missing_document_is_not_read_as_a_domain(tmp_path: Path) -> None:
    done = spaniel("check", "--no-history", "--offline", "missing.md", cwd=tmp_path)
    assert (done.returncode, "missing.md" in done.stderr) == (2, True)
    assert "https://missing.md" not in done.stdout + done.stderr
    named = spaniel("check", "--no-history", "--offline", "-f", "json", "example.com/a", cwd=tmp_path)
    assert "https://example.com/a" in named.stdout

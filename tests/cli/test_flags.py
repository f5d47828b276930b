"""`--user-agent` and `--timeout`: from the command line, or from their variables, to the server that is asked."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import pytest

from tests.cli.test_canon import spaniel

ROBOTS = b"User-agent: otter\nDisallow: /\n"


class Place(NamedTuple):
    url: str
    config: str
    agents: list[str]  # who asked


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A site that lets nobody called otter in and never answers at /never, and a settings file that lets us in."""
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
def test_the_user_agent_of_a_run_is_who_robots_txt_is_asked_for(
    place: Place, options: tuple[str, ...], variable: str
) -> None:
    command = ("may-i", "--config", place.config, f"{place.url}/a")
    done = spaniel(*command, *options, SPANIEL_USER_AGENT=variable)
    assert (done.returncode, set(place.agents)) == (3, {AGENT})
    assert "(group 'otter')" in done.stdout
    assert spaniel(*command).returncode == 0  # the control


def test_the_user_agent_of_a_run_is_sent_with_each_request(place: Place) -> None:
    agent = "beaver/1 (+https://beaver.example/)"
    done = spaniel("fetch", "--config", place.config, "--user-agent", agent, f"{place.url}/a")
    assert (done.returncode, place.agents) == (0, [agent, agent])


@pytest.mark.req("D2-31")
@pytest.mark.parametrize(("options", "variable"), [(("--timeout", "1"), ""), ((), "1")])
def test_the_timeout_of_a_run_ends_it(place: Place, options: tuple[str, ...], variable: str) -> None:
    command = ("fetch", "--config", place.config, *options, f"{place.url}/never")
    done = spaniel(*command, SPANIEL_TIMEOUT_SECONDS=variable)
    assert done.returncode == 4
    assert "timeout: No complete answer within 1000 ms" in done.stderr

"""`--json`: every command that prints results has it, and what it prints is JSON, or a JSON object on each line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.commands import has_commands, parsers
from tests.cli.test_queue import PROFILE

PRINT_NO_RESULTS = {"mcp", "serve", "completion", "demo"}  # servers, a script for a shell, a tour for people
LEAVES = [name for name, parser in parsers() if not has_commands(parser)]

# Run one after the other in one folder by one process, after SETUP. URL is a page, MOVED one that leads to it.
COMMANDS = {
    "fetch": ["fetch --json URL URL2", "fetch --json URL"],
    "batch": [
        "batch --json --workers 1 --delay 0 -q urls.txt -o out.jsonl", "batch --json --dry-run urls.txt",
        "batch merge out.jsonl --json -q -o all.jsonl",
    ],
    "extract": ["extract --json page.html", "extract --json page.html page.html"],
    "canon": [
        "canon --json https://example.com/ü", "canon --json --explain https://a.example/ https://b.example/",
        "canon --diff exact ingest --json http://a.example/?utm_x=1 http://b.example/?utm_x=1",
    ],
    "check": ["check --json --delay 0 links.md", "check --json --dry-run links.md",
              "check --fix --json --delay 0 links.md"],
    "db init": ["db init --json", "db init --json"],
    "db add": ["db add --json https://a.example/x https://a.example/x", "db add --json --explain -q https://a.example/y"],
    "db rm": ["db rm --json https://a.example/y"],
    "db mv": ["db mv --json https://a.example/x https://a.example/z"],
    "db ls": ["db ls --json"],
    "db show": ["db show --json https://a.example/z"],
    "db check": ["db check --json --delay 0 --db here", "db check --json --dry-run --db here"],
    "db fix": ["db fix --json --delay 0 --db here"],
    "db history": ["db history --json --db here URL"],
    "db fmt": ["db fmt --json --check --db rough", "db fmt --json --db rough"],
    "db audit": ["db audit --json --all"],
    "db dump": ["db dump --json"],
    "db import": ["db import --json --db imported urls.txt"],
    "chunk": ["chunk --json page.md"],
    "may-i": ["may-i --json URL"],
    "config show": ["config show --json"],
    "config init": ["config init --json fresh.toml", "config init --json -"],
    "cache stats": ["cache stats --json"],
    "cache ls": ["cache ls --json"],
    "cache show": ["cache show --json URL"],
    "cache verify": ["cache verify --json"],
    "cache clear": ["cache clear --json"],
    "queue ls": ["queue ls --json"],
    "queue show": ["queue show --json 1"],
    "queue retry": ["queue retry --json -q 1"],
    "queue export": ["queue export --json"],
    "queue done": ["queue done --json --all"],
    "hosts ls": ["hosts ls --json"],
    "hosts forget": ["hosts forget --json --all"],
    "doctor": ["doctor --json --host localhost"],
}  # fmt: skip
SETUP = ["fetch -q --profile queue.toml GONE", "fetch -q --no-cache BUSY", "db init --db here", "db init --db imported",
         "db init --db rough", "db add -q --db here URL MOVED"]  # fmt: skip
DRIVER = """
import io, json, sys
from contextlib import redirect_stdout
from spaniel.cli.main import run
if __name__ == "__main__":
    results = []
    for line in json.load(sys.stdin):
        with redirect_stdout(io.StringIO()) as out:
            try:
                run(line)
            except SystemExit as end:
                results.append([line, end.code, out.getvalue()])
    print(json.dumps(results))
"""


def read_json(text: str) -> list[object]:
    """A JSON text, or a JSON text on each line; each is an item."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        words = "Otters are seen again below the weir, after forty years without one. " * 8
        status, body = 200, f"<html lang=en><title>Otters</title><main><h1>Otters</h1><p>{words}</p></main>"
        headers = {"Content-Type": "text/html"}
        if self.path in ("/gone", "/robots.txt"):
            status, body = 404, "no"
        elif self.path == "/moved":
            status, body, headers["Location"] = 301, "", "/page"
        elif self.path == "/busy":
            status, headers["Retry-After"] = 429, "3600"
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body.encode())

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def run_all(folder: Path) -> dict[str, list[tuple[list[str], int, str]]]:
    """What each line of COMMANDS prints, and its exit code."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}"
        places = {"URL": f"{host}/page", "URL2": f"{host}/other", "MOVED": f"{host}/moved", "GONE": f"{host}/gone",
                  "BUSY": f"{host.replace('127.0.0.1', 'localhost')}/busy"}  # fmt: skip
        write_files(folder, places, server.server_port)
        lines = [*SETUP, *(line for lines in COMMANDS.values() for line in lines)]
        arguments = [[places.get(word, word) for word in line.split()] for line in lines]
        done = subprocess.run(
            [sys.executable, "driver.py"], input=json.dumps(arguments), capture_output=True, text=True, cwd=folder,
            env=environment(folder), timeout=300, check=False,
        )  # fmt: skip
        server.shutdown()
    assert done.returncode == 0, done.stderr
    printed = iter(json.loads(done.stdout)[len(SETUP) :])
    return {name: [tuple(next(printed)) for _ in lines] for name, lines in COMMANDS.items()}


def environment(folder: Path) -> dict[str, str]:
    folders = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE")}
    return {**os.environ, **folders, "SPANIEL_CONFIG": str(folder / "open.toml"), "PYTHONUTF8": "1"}


def write_files(folder: Path, places: dict[str, str], port: int) -> None:
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    (folder / "open.toml").write_text(
        f'[tools.webfetch]\ncache_dir = "{folder}/pages"\n[tools.webfetch.security]\nallowed_ports = [{port}]\n'
        "block_loopback = false\nallow_insecure_overrides = true\n",
        encoding="utf-8",
    )
    (folder / "queue.toml").write_text(PROFILE, encoding="utf-8")
    (folder / "urls.txt").write_text(f"{places['URL']}\n{places['URL2']}\n", encoding="utf-8")
    (folder / "links.md").write_text(f"[a]({places['URL']}) [b]({places['MOVED']})\n", encoding="utf-8")
    (folder / "page.html").write_text("<main><h1>Otters</h1><p>Otters are back.</p></main>", encoding="utf-8")
    (folder / "page.md").write_text("# Otters\n\nOtters are back.\n", encoding="utf-8")
    (folder / "rough").mkdir()
    (folder / "rough" / "a.example.yaml").write_text("---\n---\n_path: /b\n---\n_path: /a\n", encoding="utf-8")


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_that_prints_results_takes_json(name: str) -> None:
    options = dict(parsers())[name]._option_string_actions
    assert ("--json" in options) == (name not in PRINT_NO_RESULTS)


def test_json_is_valid(tmp_path: Path) -> None:
    assert set(COMMANDS) == set(LEAVES) - PRINT_NO_RESULTS
    for runs in run_all(tmp_path).values():
        for line, code, text in runs:
            assert code in (0, 1, 3, 7), line  # some of them found problems
            assert text.strip(), line
            assert all(isinstance(item, dict | list) for item in read_json(text)), line

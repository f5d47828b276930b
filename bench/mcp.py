"""`spaniel mcp` beside a bare SDK server with one trivial tool: start and cached calls; what answers cost in tokens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

from bench.harness import Case, child_cpu, interleave, title, wanted
from bench.pages import pages

ROUNDS = 9
CALLS = 100  # in a round
NOW = datetime.now(UTC)
PAGE = "".join(f"## Part {n}\n\n" + "The otter swims in the river and eats fish. " * 50 + "\n\n" for n in range(10))

BARE = """
from mcp.server import MCPServer
server = MCPServer("bare")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    """A server process and its pipes."""

    def __init__(self, command: list[str]) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(str(answer))
        return answer

    def modern(self, method: str, **params: object) -> dict[str, Any]:
        return self.ask(method, {**params, "_meta": ENVELOPE})

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGE.encode() if self.path == "/page" else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def run() -> None:
    with tempfile.TemporaryDirectory(prefix="spaniel-bench-") as folder, site() as port:
        bare = Path(folder, "bare.py")
        bare.write_text(BARE, encoding="utf-8")
        shut, open_ = settings(folder, None), settings(folder, port)
        spaniel = [sys.executable, "-m", "spaniel", "mcp", "--config"]
        starting({"bare SDK server": [sys.executable, str(bare)], "spaniel mcp": [*spaniel, shut]})
        calling([sys.executable, str(bare)], [*spaniel, open_], f"http://127.0.0.1:{port}/page")
    costing()


def settings(folder: str, port: int | None) -> str:
    file = Path(folder, f"{port}.toml")
    text = f'[tools.webfetch]\ncache_dir = "{folder}/cache"\n'
    if port is not None:
        text += "[tools.webfetch.security]\nblock_loopback = false\nallow_insecure_overrides = true\n"
        text += f"allowed_ports = [{port}]\n"
    file.write_text(text, encoding="utf-8")
    return str(file)


@contextmanager
def site() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def starting(commands: Mapping[str, list[str]]) -> None:
    """Wall time up to the answer; CPU time of the whole process, its end included."""
    for name, shake in (("current revision", False), ("handshake of 2025", True)):
        waited = [0.0]

        def first_list(command: list[str], shake: bool = shake, waited: list[float] = waited) -> Case:
            def case() -> None:
                begun = time.perf_counter()
                server = Server(command)
                if shake:
                    server.ask("initialize", HELLO)
                    server.ask("tools/list", {})
                else:
                    server.modern("tools/list")
                waited[0] += time.perf_counter() - begun
                server.close()

            return case

        cases = {server: first_list(command) for server, command in commands.items()}
        title(f"MCP, from start to the first tools/list, {name}")
        for what, clock in (("wall time", lambda waited=waited: waited[0]), ("CPU time", child_cpu)):
            seconds = interleave(cases, ROUNDS, clock)
            bare, spaniel = seconds.values()
            print(f"  {what}: bare {bare * 1000:.0f} ms, spaniel {spaniel * 1000:.0f} ms")
            wanted(f"{what}, spaniel against bare", spaniel / bare, most=1.5)


def calling(bare: list[str], spaniel: list[str], url: str) -> None:
    with ExitStack() as stack:
        plain, ours = Server(bare), Server(spaniel)
        stack.callback(plain.close)
        stack.callback(ours.close)
        ours.modern("tools/call", name="web_fetch", arguments={"url": url})
        hit = ours.modern("tools/call", name="web_fetch", arguments={"url": url})["result"]["structuredContent"]
        if hit["note"] != "cache_hit" or hit["truncated"]:
            raise RuntimeError(f"not what was to be measured: {hit['note']}")
        seconds = interleave(
            {
                "echo": calls(plain, name="echo", arguments={"text": "hello"}),
                "echo, as many bytes": calls(plain, name="echo", arguments={"text": PAGE}),
                "web_fetch": calls(ours, name="web_fetch", arguments={"url": url}),
                "web_fetch_more": calls(ours, name="web_fetch_more", arguments={"url": url, "from_chunk": 2}),
                "find": calls(ours, name="web_fetch_more", arguments={"url": url, "find": "otter"}),
            },
            ROUNDS,
            time.perf_counter,
        )
    each = {name: taken / CALLS * 1000 for name, taken in seconds.items()}
    title(f"MCP, a call over stdio, the page of {len(PAGE) // 1000} KB cached (wall time)")
    print(f"  the SDK, echo: {each['echo']:.2f} ms; of as many bytes as the page: {each['echo, as many bytes']:.2f} ms")
    print(f"  spaniel, web_fetch: {each['web_fetch']:.2f} ms; web_fetch_more: {each['web_fetch_more']:.2f} ms")
    print(f"  spaniel, web_fetch_more with find: {each['find']:.2f} ms")
    wanted("milliseconds that web_fetch adds to the SDK's round trip", each["web_fetch"] - each["echo"], most=5)


def costing() -> None:
    """Tokens of the text that a model reads beside those of the bare Markdown in it, page by page."""
    from spaniel.chunking.tokens import cl100k

    count = cl100k().count
    costs = sorted((count(body), count(text), count(json)) for body, text, json in answers())
    title(f"MCP, tokens of an answer beside the bare Markdown's, {len(costs)} pages from the cache")
    for low, high in ((1, 300), (300, 1_000), (1_000, 3_000), (3_000, 10**9)):
        some = [(text / bare, json / bare) for bare, text, json in costs if low <= bare < high]
        if some:
            texts, jsons = ([pair[at] for pair in some] for at in (0, 1))
            output = f"{len(some)} pages of {low} tokens and more: text {median(texts):.2f}, at worst {max(texts):.2f}"
            print(f"  {output}; JSON {median(jsons):.2f}")
    bare, text, json_ = (sum(row[at] for row in costs) for at in range(3))
    print(f"  all together: JSON {json_ / bare:.2f}")
    wanted("text block against bare Markdown", text / bare, most=1.05)


def answers() -> Iterator[tuple[str, str, str]]:
    """Of each page: its Markdown as far as it fits, the text that a model reads, the JSON."""
    from spaniel.chunking import chunk, serialize
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request
    from spaniel.reading import read
    from spaniel.tool.framework import PageResult, ToolResult
    from spaniel.tool.model_text import text_of

    for number, page in enumerate(pages(200)):
        url = f"https://example.com/articles/a-page-with-a-usual-name-{number}"
        found = read(page, "text/html; charset=utf-8", url)
        if found.markdown.strip():
            made = chunk(found.markdown)
            answer = Answer(
                url, url, NOW, found.title, found.language, found.markdown, made, "http", ("cache_hit",), {}
            )
            fields = answer.as_dict(65_536)
            text = text_of(ToolResult(fields, PageResult(Request(url), answer)), 65_536)
            yield text.partition("\n---\n")[2], text, serialize(fields)


def calls(server: Server, **params: object) -> Case:
    def case() -> None:
        for _ in range(CALLS):
            server.modern("tools/call", **params)

    return case

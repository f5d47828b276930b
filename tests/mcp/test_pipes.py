"""The server's pipes, read byte by byte: nothing but protocol, and it ends when its client does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spaniel.testing import Site, text
from tests import programs
from tests.mcp.harness import ENVELOPE, SPANIEL, Dripping, at, configured, raw

# A server whose every fetch also prints, from Python, from C's side, and from a child.
NOISY = """
import os, subprocess, sys
import spaniel.pipeline.fetch as fetch
from spaniel.cli.main import run
quiet = fetch.checked
def noisy(request):
    print("noise")
    os.write(1, b"noise")
    subprocess.run([sys.executable, "-c", "print('noise')"])
    return quiet(request)
fetch.checked = noisy
run(sys.argv[1:])
"""
# A client that starts a server, asks for a page, and waits.
DOOMED = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(sys.argv[1].encode() + b"\\n")
server.stdin.flush()
print(server.pid, flush=True)
time.sleep(300)
"""


def until(done: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    return done()


def has_ended(pid: int) -> bool:
    """Gone, or a zombie that somebody else has to fetch."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_every_byte_of_standard_output_is_protocol(tmp_path: Path) -> None:
    async with Site({"/a": text("hello")}) as site:
        config = configured(tmp_path, site.port)
        messages = [
            b"\n",
            b"no JSON at all\n",
            b"\xff\xfe\x00\n",
            b'{"jsonrpc": "2.0", "id": 90, "method": "tools/list"}\n',  # before the handshake
            json.dumps(call(91, at(site, "/a"), {"progressToken": "p"})).encode() + b"\n",
            json.dumps(call(92, "http://10.0.0.1/")).encode() + b"\n",
            b'{"jsonrpc": "2.0", "id": 93, "method": "no/such", "params": {}}\n',
            b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1000}}\n',
            b"[" * 100_000 + b"\n",
            json.dumps(call(94, "https://a.example/" + "a" * 5_000_000)).encode() + b"\n",
            json.dumps(call(95, at(site, "/a"))).encode() + b"\n",
        ]
        command = [sys.executable, "-c", NOISY, "mcp", "-vv", "--config", config]
        with raw(command=command) as server:

            def converse() -> list[bytes]:
                server.shake_hands()
                for message in messages:
                    server.write(message)
                lines: list[bytes] = []
                while len({json.loads(line).get("id") for line in lines} & set(range(90, 96))) < 6:
                    lines.append(server.output.readline())
                server.input.close()
                return [*lines, *server.output.read().splitlines(keepends=True)]

            lines = await asyncio.to_thread(converse)
            heard = server.complaints()
            assert server.process.wait(10) == 0
    answers = {}
    for line in lines:
        assert line.endswith(b"\n")
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        assert set(message) <= {"jsonrpc", "id", "method", "params", "result", "error"}
        assert "noise" not in line.decode()
        answers[message.get("id")] = message
    assert heard.count(b"noise") >= 9  # the control: it was made, thrice for each call that came through
    assert answers[91]["result"]["structuredContent"]["chunks"][0]["text"] == "hello"
    assert answers[92]["result"]["isError"]
    assert answers[93]["error"]["code"] == -32601
    assert "bad_args" in answers[94]["result"]["content"][0]["text"]
    assert any(json.loads(line).get("method") == "notifications/progress" for line in lines)
    assert b"Traceback" not in heard


def call(number: int, url: str, meta: dict[str, object] | None = None) -> dict[str, object]:
    params = {"name": "web_fetch", "arguments": {"url": url}, **({"_meta": meta} if meta else {})}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18"])
def test_older_revisions_are_spoken_as_their_clients_know_them(version: str, tmp_path: Path) -> None:
    with raw("--config", configured(tmp_path)) as server:
        assert server.shake_hands(version)["result"]["protocolVersion"] == version
        tools = server.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["web_fetch", "web_fetch_more"]
        refused = server.ask("tools/call", {"name": "web_fetch", "arguments": {"url": "http://10.0.0.1/"}})["result"]
        assert refused["isError"] is True
        assert json.loads(refused["content"][0]["text"])["code"] == "ssrf_blocked"


def test_the_current_revision_needs_no_handshake() -> None:
    with raw() as server:
        found = server.modern("server/discover")["result"]
        assert "2026-07-28" in found["supportedVersions"]
        assert {"tools", "resources"} <= set(found["capabilities"])
        listed = server.modern("tools/list")["result"]
        assert listed["tools"][0]["outputSchema"]["type"] == "object"
        assert listed["ttlMs"] == 3_600_000
        assert server.modern("resources/list")["result"]["ttlMs"] == 0
        assert server.ask("initialize", {"protocolVersion": "2025-06-18"})["error"]


@pytest.mark.parametrize("shape", ["id first", "id last"])
def test_a_message_without_end_costs_no_memory(shape: str) -> None:
    """Wherever a client writes the id, it gets its answer."""
    head, tail = (
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"', b'"}}\n')
        if shape == "id first"
        else (b'{"method":"tools/call","params":{"name":"', b'","id":8},"jsonrpc":"2.0","id":7}\n')
    )
    with raw() as server:
        server.modern("server/discover")
        before = peak(server.process.pid)
        server.input.write(head)
        for _ in range(100):
            server.input.write(b"x" * 1_000_000)
        server.write(tail)
        answer = json.loads(server.output.readline())
        assert (answer["id"], answer["result"]["isError"]) == (7, True)
        assert "100000" in answer["result"]["content"][0]["text"]
        assert peak(server.process.pid) - before < 32_000
        assert server.modern("tools/list")["result"]["tools"]


def peak(pid: int) -> int:
    """Kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGINT])
async def test_server_ends_at_once_during_a_call(tmp_path: Path, signalled: signal.Signals) -> None:
    async with Dripping() as site:
        with raw("--config", configured(tmp_path, site.port)) as server:
            params = {"name": "web_fetch", "arguments": {"url": f"http://127.0.0.1:{site.port}/"}, "_meta": ENVELOPE}
            server.send("tools/call", params, number=1)
            await site.begun.wait()
            server.process.send_signal(signalled)
            assert server.process.wait(10) == (0 if signalled == signal.SIGTERM else 130)
            assert b"Traceback" not in server.complaints()
            await site.left.wait()


async def test_a_client_that_dies_takes_its_server_with_it(tmp_path: Path) -> None:
    async with Dripping() as site:
        config = configured(tmp_path, site.port)
        message = call(1, f"http://127.0.0.1:{site.port}/", ENVELOPE)
        command = [sys.executable, "-c", DOOMED, json.dumps(message), *SPANIEL, "--config", config]
        client = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: ASYNC220  it must not be waited for
        assert client.stdout
        server = int(client.stdout.readline())
        try:
            await site.begun.wait()
            assert not has_ended(server)  # the control
            client.kill()
            client.communicate()
            await site.left.wait()
            assert until(lambda: has_ended(server))
        finally:
            if not has_ended(server):
                os.kill(server, signal.SIGKILL)


def test_a_client_that_stops_reading_is_left(tmp_path: Path) -> None:
    with raw() as server:
        server.modern("tools/list")
        server.output.close()
        server.send("tools/list", {"_meta": ENVELOPE}, number=5)
        assert server.process.wait(10) == 0
        assert server.complaints() == b""


@pytest.mark.req("D2-26", "FR-WF-05b")
def test_nothing_starts_with_a_block_switched_off_by_halves(tmp_path: Path) -> None:
    file = tmp_path / "spaniel.toml"
    file.write_text("[tools.webfetch.security]\nblock_loopback = false\n", encoding="utf-8")
    done = programs.run([*SPANIEL, "--config", str(file)], input=b"", capture_output=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"allow_insecure_overrides" in done.stderr
    assert b"Traceback" not in done.stderr

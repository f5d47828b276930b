"""Attacks on the service as a process: memory stays bounded, and other callers are served.

Another caller is another address of loopback.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from spaniel.testing import html as page
from tests.api.harness import Served, serving
from tests.api.program import Program, html, program, settings, web
from tests.api.test_jobs import LOCAL, ended, site_of

MB = 1 << 20
ALICE, BOB = "a-token-of-alice-0001", "a-token-of-bob-00002"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


@contextmanager
def connection(server: Program, address: str = "127.0.0.1", window: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as sock:
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        sock.bind((address, 0))
        sock.settimeout(60)
        sock.connect(("127.0.0.1", server.port))
        yield sock


def answer(sock: socket.socket, path: str, method: str = "GET", body: bytes = b"") -> bytes:
    """The whole response."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    sock.sendall(head.encode() + body)
    return b"".join(iter(lambda: sock.recv(1 << 16), b""))


@linux_only
def test_slow_readers_of_a_large_page_hold_no_memory(tmp_path: Path) -> None:
    """A response that nobody reads would otherwise wait whole in a buffer of each connection."""
    paragraph = f"<p>{'A long page about rivers, stones and otters. ' * 20}</p>"
    with ExitStack() as stack:
        site = stack.enter_context(web({"/large": html(f"<title>Large</title>{paragraph * 5_000}")}))
        config = settings(tmp_path, [site.port], "concurrent = 4\nwaiting = 100", f"max_download_bytes = {16 * MB}")
        server = stack.enter_context(program(config))
        path = f"/{site.url('/large')}"
        with connection(server) as sock:
            whole = answer(sock, path)
        assert len(whole) > 4 * MB  # the control: it is large, and read whole by a reader that reads
        before, most = server.memory(), 0
        readers = [stack.enter_context(connection(server, window=4096)) for _ in range(60)]
        for reader in readers:
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        end = time.monotonic() + 10
        while time.monotonic() < end:
            most = max(most, server.memory())
            time.sleep(0.05)
        with connection(server, "127.0.0.2") as sock:
            assert answer(sock, path)[:12] == b"HTTP/1.1 200"
        print(f"slow readers: +{(most - before) / MB:.0f} MB for 60 readers of {len(whole) / MB:.1f} MB")
        assert most - before < 15 * len(whole)


@linux_only
async def test_connection_of_a_reader_that_never_reads_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.api.gate.SEND_SECONDS", 0.2)
    monkeypatch.setattr("spaniel.api.server.CLOSE_SECONDS", 0.2)
    paragraph = f"<p>{'A long page about rivers, stones and otters. ' * 20}</p>"
    text = f"<title>Large</title>{paragraph * 9_000}"
    limits = {"max_download_bytes": 16 * MB}
    async with serving(webfetch=limits) as served:
        served.site.pages["/large"] = page(text)
        address = f"/{served.site.url('/large')}"
        status, whole = await served.get(address)
        assert (status, len(whole) > 6 * MB) == (200, True)  # the control: a reader that reads gets all of it
        before = len(os.listdir("/proc/self/fd"))
        readers = []
        for _ in range(20):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(("127.0.0.1", int(served.base.rpartition(":")[2])))
            sock.sendall(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            readers.append(sock)
        try:
            for _ in range(300):
                await asyncio.sleep(0.1)
                _, counters = await served.get("/metrics")
                is_ended = 'route="/{url}",status="499"} 20.0' in counters
                if is_ended and len(os.listdir("/proc/self/fd")) <= before + 20 + 5:  # only this side's
                    break
            else:
                raise AssertionError("the connections are held")
        finally:
            for sock in readers:
                sock.close()


@linux_only
def test_a_thousand_connections_leave_the_server_serving(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site = stack.enter_context(web())
        server = stack.enter_context(program(settings(tmp_path, [site.port])))
        before, descriptors = server.memory(), server.descriptors()
        many = [stack.enter_context(connection(server)) for _ in range(1_000)]
        for sock in many[::2]:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")  # and never the rest
        with connection(server, "127.0.0.2") as sock:
            assert answer(sock, f"/{site.url('/otters')}")[:12] == b"HTTP/1.1 200"
        print(f"1,000 connections: +{(server.memory() - before) / MB:.0f} MB")
        assert server.memory() - before < 100 * MB
        for sock in many:  # each is ended by the server, since no head arrives in time
            assert sock.recv(100)[:12] == b"HTTP/1.1 408"
        for sock in many:
            sock.close()
        for _ in range(200):
            if server.descriptors() <= descriptors + 10:
                break
            time.sleep(0.1)
        assert server.descriptors() <= descriptors + 10
        with connection(server) as sock:
            assert answer(sock, "/healthz")[:12] == b"HTTP/1.1 200"


INJECTED = "%0d%0aX-Injected:%20yes%0d%0a%0d%0a"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/{page}?a=" + INJECTED),
        ("GET", "/{page}/" + INJECTED),
        ("GET", "/api/fetch/stream?url={page}?a=" + INJECTED),
        ("GET", "/api/may-i?url={page}?a=" + INJECTED),
        ("GET", "/api/jobs/" + INJECTED),
        ("GET", "/v2/batch/scrape/" + INJECTED),
        ("GET", "/api/registry/domains/" + INJECTED),
        ("GET", "/{hostile}"),
        ("POST", "/v2/scrape"),
        ("POST", "/v2/batch/scrape"),
        ("POST", "/extract"),
    ],
)
async def test_nothing_of_a_url_or_a_page_becomes_a_header(method: str, path: str) -> None:
    """Line breaks in addresses, titles, types and `Retry-After` of a page stay in the body."""
    async with serving() as served:
        text = "<title>X\r\nX-Injected: yes</title><meta name=description content='a\r\nX-Injected: yes'><p>A page.</p>"
        hostile = page(text, headers={"Retry-After": "5 X-Injected: yes", "X-Injected": "yes", "Set-Cookie": "a=b"})
        served.site.pages["/hostile"] = hostile
        address = served.site.url("/hostile")
        body = {"url": address + "?a=\r\nX-Injected: yes", "urls": [address + "\r\nX-Injected: yes", address]}
        known: dict[str, Any] = {"json": body} if method == "POST" else {}
        from yarl import URL

        target = URL(served.base + path.format(page=served.page, hostile=address), encoded=True)
        async with served.http.request(method, target, **known) as response:
            names = {name.lower() for name in response.headers}
            assert not names & {"x-injected", "set-cookie"}
            assert "x-content-type-options" in names  # the control: it is our answer
            await response.read()


def tokens(folder: Path) -> str:
    """A file of two tokens."""
    path = folder / "tokens.toml"
    path.write_text(f'[alice]\ntoken = "{ALICE}"\n[bob]\ntoken = "{BOB}"\n')
    path.chmod(0o600)
    return str(path)


async def mcp(served: Served, token: str, method: str, session: str = "") -> tuple[int, str]:
    params: dict[str, Any] = {}
    if method == "initialize":
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    if session:
        headers |= {"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with served.http.post(f"{served.base}/mcp", json=body, headers=headers) as response:
        await response.read()
        return response.status, response.headers.get("Mcp-Session-Id", "")


async def test_session_of_another_caller_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    async with serving(tokens_file=tokens(tmp_path)) as served:
        status, session = await mcp(served, ALICE, "initialize")
        assert status == 200
        assert session
        assert (await mcp(served, BOB, "tools/list", session))[0] == 404
        headers = {"Authorization": f"Bearer {BOB}", "Mcp-Session-Id": session}
        async with served.http.delete(f"{served.base}/mcp", headers=headers) as response:
            assert response.status == 404
        assert (await mcp(served, ALICE, "tools/list", session))[0] == 200  # the control: it still lives


async def test_sessions_of_one_caller_leave_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients seldom end their sessions, and whoever opens many must not use up what all have."""
    monkeypatch.setattr("spaniel.api.mcp_http.MOST_OF_ONE", 3)
    async with serving(tokens_file=tokens(tmp_path)) as served:
        _, other = await mcp(served, BOB, "initialize")
        opened = [(await mcp(served, ALICE, "initialize"))[1] for _ in range(3)]
        assert (await mcp(served, ALICE, "tools/list", opened[0]))[0] == 200  # so it is not the one unused for longest
        opened += [(await mcp(served, ALICE, "initialize"))[1] for _ in range(2)]
        statuses = [(await mcp(served, ALICE, "tools/list", each))[0] for each in opened]
        assert statuses == [200, 404, 404, 200, 200]
        assert (await mcp(served, BOB, "tools/list", other))[0] == 200


async def test_webhook_is_not_redirected() -> None:
    """The guard would judge the next address, but no receiver needs a redirect."""
    inside: list[bytes] = []
    outside: list[bytes] = []

    async def secret(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside.append(await reader.read(1000))
        writer.close()

    async def hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        outside.append(head)
        to = f"http://127.0.0.1:{port}/inside"
        writer.write(f"HTTP/1.1 307 Moved\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(secret, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    receiver = await asyncio.start_server(hook, "127.0.0.1", 0)
    allowed = receiver.sockets[0].getsockname()[1]
    async with server, receiver, site_of(2) as site:
        security = {
            "block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port, allowed, port],
        }  # fmt: skip
        async with serving(site, webfetch={"security": security}) as served:
            body = {"urls": [site.url("/p1", LOCAL)], "profile": "web_fetch", "delay": 0}
            address = f"http://hook.example:{allowed}/done"
            _, job = await served.post("/api/jobs", {**body, "webhook": {"url": address}})
            await ended(served, job["id"])
            for _ in range(100):
                if outside:
                    break
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            assert outside[0].startswith(b"POST /done ")
            assert len(outside) == 1
            assert not inside
            control = {**body, "webhook": {"url": f"http://hook.example:{port}/inside"}}
            _, job = await served.post("/api/jobs", control)  # the control: that address can be reached
            await ended(served, job["id"])
            for _ in range(100):
                if inside:
                    break
                await asyncio.sleep(0.1)
            assert inside


async def test_job_that_reaches_no_checkpoint_is_cancelled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads a list of ten million lines, say."""

    async def start(running: Any, _: object) -> None:
        command = (sys.executable, "-c", "import time; time.sleep(600)")
        running.process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)

    monkeypatch.setattr("spaniel.api.jobs._Running.start", start)
    monkeypatch.setattr("spaniel.api.jobs.CHECKPOINT_SECONDS", 0.5)
    async with site_of(1) as site, serving(site) as served:
        _, job = await served.post("/api/jobs", {"urls": [site.url("/p0", LOCAL)]})
        for _ in range(600):
            if (await served.get(f"/api/jobs/{job['id']}"))[1]["state"] == "running":
                break
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        assert (await served.get(f"/api/jobs/{job['id']}"))[1]["state"] == "running"  # the control
        await served.post(f"/api/jobs/{job['id']}/cancel", {})
        assert (await ended(served, job["id"]))["state"] == "cancelled"

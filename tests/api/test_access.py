"""Who may call the service, and how much: attacks on a local service."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from spaniel.api.access import Access
from spaniel.api.errors import ApiError
from spaniel.app.serving import CallerLimits, ServeSettings, tokens
from spaniel.app.settings import from_data
from spaniel.errors import SpanielError
from spaniel.testing import Reply, html
from tests.api.harness import Served, serving

TOKEN, OTHER = "a-token-of-alice-0001", "a-token-of-bob-00002"
LIMITS = CallerLimits(600, 16, 64, 64, 8)


def settings(host: str = "127.0.0.1", **fields: Any) -> ServeSettings:
    usual: dict[str, Any] = {
        "host": host, "port": 1, "profile": "reader", "profiles": ("reader",), "limits": LIMITS,
        "max_body_bytes": 1, "max_list_bytes": 1, "allowed_hosts": (), "allowed_origins": (), "trusted_proxies": (),
        "jobs_folder": "",
    }  # fmt: skip
    return ServeSettings(**(usual | fields))


async def raw(served: Served, request: bytes, seconds: float = 30.0) -> bytes:
    """What the server answers to these bytes, until it closes or the answer is whole."""
    host, port = served.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(seconds):
            return await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.close()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8766", "127.0.0.1.evil.example", "10.0.0.5", "", "[::"])
async def test_foreign_host_is_misdirected_and_nothing_is_fetched(host: str) -> None:
    async with serving() as served:
        request = f"GET /{served.page} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        assert (await raw(served, request)).startswith(b"HTTP/1.1 421 ")
        assert not served.site.requests
        control = f"GET /{served.page} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        assert (await raw(served, control)).startswith(b"HTTP/1.1 200 ")
        assert served.site.requests


async def test_two_host_headers_are_refused() -> None:
    async with serving() as served:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
        assert (await raw(served, request)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    ],
)
@pytest.mark.parametrize("path", ["/api/fetch", "/v2/scrape", "/extract", "/load", "/mcp", "/"])
async def test_page_of_another_site_can_make_the_server_fetch_nothing(path: str, headers: dict[str, str]) -> None:
    async with serving() as served:
        body = {"url": served.page, "urls": [served.page]}
        status, _ = await served.post(path, body, **headers)
        assert status == 403
        status, _ = await served.get(f"/{served.page}", **headers)
        assert status == 403
        assert not served.site.requests


async def test_own_page_and_allowed_origin_may_call() -> None:
    async with serving(allowed_origins=["https://app.example"]) as served:
        own = {"Origin": served.base, "Sec-Fetch-Site": "same-origin"}
        assert (await served.post("/api/fetch", {"url": served.page}, **own))[0] == 200
        allowed = {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}
        assert (await served.post("/api/fetch", {"url": served.page}, **allowed))[0] == 200


def test_off_loopback_only_names_that_no_public_site_has_are_answered() -> None:
    access = Access(settings("0.0.0.0", allowed_hosts=("spaniel.corp.example",)))  # noqa: S104
    for good in ("192.168.1.5:8766", "[fd00::1]:8766", "spaniel:8766", "localhost", "spaniel.corp.example"):
        access.check_host(good)
    with pytest.raises(ApiError):
        access.check_host("rebound.evil.example:8766")


async def test_token_is_required_and_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANIEL_SERVE_TOKEN", TOKEN)
    async with serving() as served:
        for wrong in ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \u00e4"):
            status, answer = await served.post("/api/fetch", {"url": served.page}, Authorization=wrong)
            assert (status, answer["error"]["code"]) == (401, "unauthorized"), wrong
        assert not served.site.requests
        status, _ = await served.post("/api/fetch", {"url": served.page}, Authorization=f"Bearer {TOKEN}")
        assert status == 200
        assert (await served.get("/healthz"))[0] == 200  # probes have no token


def test_tokens_are_read_from_a_file_that_others_cannot_change(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f'[alice]\ntoken = "{TOKEN}"\nrequests_per_minute = 5\n[bob]\ntoken = "{OTHER}"\n')
    path.chmod(0o600)
    data = from_data({"spaniel": {"serve": {"tokens_file": str(path)}}}, "test")
    found = {token.name: token for token in tokens(data, LIMITS, {})}
    assert found["alice"].limits.requests_per_minute == 5
    assert found["bob"].limits == LIMITS
    assert TOKEN not in repr(found)
    path.chmod(0o622)
    with pytest.raises(SpanielError, match="may be changed by other users"):
        tokens(data, LIMITS, {})
    path.chmod(0o600)
    path.write_text('[alice]\ntoken = "short"\n')
    with pytest.raises(SpanielError, match="at least 16 characters"):
        tokens(data, LIMITS, {})


async def test_each_token_has_its_own_limits(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text(f'[alice]\ntoken = "{TOKEN}"\nrequests_per_minute = 2\n[bob]\ntoken = "{OTHER}"\n')
    os.chmod(path, 0o600)
    async with serving(tokens_file=str(path)) as served:
        mine, others = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": f"Bearer {OTHER}"}
        for _ in range(2):
            assert (await served.get("/api/capabilities", **mine))[0] == 200
        async with served.http.get(f"{served.base}/api/capabilities", headers=mine) as answer:
            assert answer.status == 429
            assert int(answer.headers["Retry-After"]) >= 1
        assert (await served.get("/api/capabilities", **others))[0] == 200


async def test_callers_requests_wait_for_a_place_and_too_many_are_refused() -> None:
    gate = asyncio.Event()

    async def slow() -> Reply:
        await gate.wait()
        return html("<p>Some words for a page, which is short.</p>")

    async with serving(concurrent=1, waiting=1) as served:
        served.site.pages["/slow"] = slow
        body = {"url": served.site.url("/slow"), "no_cache": True}
        calls = [asyncio.create_task(served.post("/api/fetch", body)) for _ in range(3)]
        done, _ = await asyncio.wait(calls, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result()[0] for task in done] == [429]
        gate.set()
        assert sorted([(await call)[0] for call in calls]) == [200, 200, 429]


def test_forwarded_address_counts_only_from_a_trusted_proxy() -> None:
    access = Access(settings(trusted_proxies=("10.0.0.1", "10.0.0.2")))
    assert access.address("198.51.100.7", "203.0.113.9") == "198.51.100.7"
    assert access.address("10.0.0.1", "203.0.113.9, 10.0.0.2") == "203.0.113.9"
    assert access.address("10.0.0.1", "spoofed, 203.0.113.9") == "203.0.113.9"
    assert access.address("10.0.0.1", "not-an-address") == "10.0.0.1"


async def test_large_bodies_are_refused_without_being_read() -> None:
    async with serving(max_body_bytes=10_000) as served:
        head = b"POST /api/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n"
        assert (await raw(served, head)).startswith(b"HTTP/1.1 413 ")
        chunk = b"2000\r\n" + b"x" * 0x2000 + b"\r\n"
        chunked = b"POST /api/fetch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * 8
        assert (await raw(served, chunked)).startswith(b"HTTP/1.1 413 ")
        assert (await served.get("/healthz"))[0] == 200


async def test_slow_body_and_slow_head_end_with_408(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaniel.api.gate.BODY_SECONDS", 0.3)
    monkeypatch.setattr("spaniel.api.server.HEAD_SECONDS", 0.3)
    async with serving() as served:
        slow = b"POST /api/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        assert (await raw(served, slow)).startswith(b"HTTP/1.1 408 ")
        assert (await raw(served, b"GET /healthz HTTP/1.1\r\nHost: local")).startswith(b"HTTP/1.1 408 ")


async def test_huge_head_is_refused() -> None:
    async with serving() as served:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: %s\r\n" % (b"a" * 1000) * 100 + b"\r\n"
        assert (await raw(served, request)).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "path",
    [
        "/http://10.0.0.1/", "/http:/10.0.0.1/", "/http://127.1/", "/http://user:secret@10.0.0.1/",
        "/http://%31%30.0.0.1/", "/file:///etc/passwd", "/gopher://10.0.0.1/", "/http://[::ffff:10.0.0.1]/",
        "/https%3A%2F%2F10.0.0.1/", "/http://10.0.0.1/%0d%0aX-A:%20b",
    ],
)  # fmt: skip
async def test_path_tricks_reach_nothing_inside(path: str) -> None:
    async with serving() as served:
        answer = await raw(served, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert answer.split(b" ")[1] in (b"400", b"403", b"404"), answer
        assert b"secret" not in answer
        assert b"\r\nX-A:" not in answer


async def test_websockets_are_refused() -> None:
    async with serving() as served:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await served.http.ws_connect(f"{served.base}/api/fetch")


async def test_responses_carry_the_security_headers() -> None:
    async with serving() as served, served.http.get(f"{served.base}/{served.page}") as answer:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.content_type == "text/plain"
        assert "Access-Control-Allow-Origin" not in answer.headers


async def test_secret_of_a_query_is_in_no_log_metric_or_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with serving() as served:
        await served.get(f"/{served.site.url('/gone')}?key=s3cr3t")
        await served.post("/api/fetch", {"url": "http://10.0.0.1/?key=s3cr3t"})
        _, counters = await served.get("/metrics")
        assert "s3cr3t" not in counters
        assert not [record for record in caplog.records if "s3cr3t" in f"{record.getMessage()}{record.__dict__}"]


async def test_many_idle_streams_leave_the_server_serving() -> None:
    async def never() -> Reply:
        await asyncio.sleep(600)
        return html("late")

    async with serving(streams=300, requests_per_minute=0, concurrent=100, waiting=1000) as served:
        served.site.pages["/never"] = never
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as many:
            address = f"{served.base}/api/fetch/stream?no_cache=true&url={served.site.url('/never')}"
            answers = await asyncio.gather(*(many.get(f"{address}?n={n}") for n in range(320)))
            assert sorted({answer.status for answer in answers}) == [200, 429]
            began = time.monotonic()
            assert (await served.post("/api/fetch", {"url": served.page}))[0] == 200
            assert time.monotonic() - began < 20
            for answer in answers:
                answer.close()


async def test_traceparent_of_a_request_is_in_its_log_lines() -> None:
    import io
    import logging

    from spaniel.app.logs import configure

    out = io.StringIO()
    known = logging.getLogger("spaniel").handlers[:], logging.getLogger("spaniel").level
    configure(1, stream=out)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    try:
        async with serving() as served:
            await served.post("/api/fetch", {"url": served.page}, traceparent=parent)
            await served.post("/api/fetch", {"url": served.page}, traceparent="x\u00e4 forged")
    finally:
        logging.getLogger("spaniel").handlers[:], logging.getLogger("spaniel").propagate = known[0], True
        logging.getLogger("spaniel").setLevel(known[1])
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    events = {line["event"] for line in lines if line.get("traceparent") == parent}
    assert {"request", "fetch_complete"} <= events
    assert "forged" not in out.getvalue()


async def test_client_that_leaves_during_its_upload_leaves_no_job(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    async with serving(jobs_folder=str(folder)) as served:
        host, port = served.base.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = b"POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 999\r\n\r\n"
        writer.write(head + b"https://example.com/")
        await writer.drain()
        await asyncio.sleep(0.3)
        writer.close()
        for _ in range(100):
            if 'status="499"' in (await served.get("/metrics"))[1]:
                break
            await asyncio.sleep(0.1)
        assert (await served.get("/api/jobs"))[1] == {"jobs": []}
        assert not [name for name in os.listdir(folder) if len(name) == 32]

"""Jobs: they survive a restart, belong to their caller, and end as wanted."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spaniel.testing import Page, Site, html
from tests.api.harness import Served, serving

LOCAL = "127.0.0.1"  # jobs are processes of their own, which resolve names by the system
ENDED = ("finished", "failed", "cancelled")


def site_of(count: int) -> Site:
    pages: dict[str, Page] = {
        f"/p{n}": html(f"<article><h1>Page {n}</h1><p>This is the text of page number {n}.</p></article>")
        for n in range(count)
    }
    return Site(pages)


async def ended(served: Served, id_: str, **headers: str) -> dict[str, Any]:
    for _ in range(900):
        _, job = await served.get(f"/api/jobs/{id_}", **headers)
        if job["state"] in ENDED:
            return dict(job)
        await asyncio.sleep(0.1)
    raise AssertionError(f"the job does not end: {job}")


async def records(served: Served, id_: str, **headers: str) -> list[dict[str, Any]]:
    """All results, page by page."""
    found: list[dict[str, Any]] = []
    offset: str | None = "0"
    while offset is not None:
        address = f"{served.base}/api/jobs/{id_}/results?limit=7&offset={offset}"
        async with served.http.get(address, headers=headers) as answer:
            lines = (await answer.read()).splitlines()
            found += map(json.loads, lines)
            offset = answer.headers.get("X-Next-Offset") if lines else None
    return found


async def test_batch_fetches_each_page_once_and_is_read_page_by_page() -> None:
    async with site_of(20) as site, serving(site) as served:
        urls = [site.url(f"/p{n}", LOCAL) for n in range(20)]
        status, job = await served.post("/api/jobs", {"urls": urls, "delay": 0, "profile": "web_fetch"})
        assert status == 202
        assert (await ended(served, job["id"]))["state"] == "finished"
        found = await records(served, job["id"])
        assert sorted(record["requested_url"] for record in found) == sorted(urls)
        assert {site.requests[f"/p{n}"] for n in range(20)} == {1}
        _, listed = await served.get("/api/jobs")
        assert [each["id"] for each in listed["jobs"]] == [job["id"]]


async def test_check_job_returns_verdicts() -> None:
    async with site_of(3) as site, serving(site) as served:
        urls = [site.url("/p1", LOCAL), site.url("/gone", LOCAL)]
        _, job = await served.post("/api/jobs", {"kind": "check", "urls": urls})
        assert (await ended(served, job["id"]))["progress"]["done"] == 2
        verdicts = {found["url"]: found["verdict"] for found in await records(served, job["id"])}
        assert verdicts == {urls[0]: "ok", urls[1]: "failing"}


async def test_list_can_be_uploaded_as_it_is() -> None:
    async with site_of(5) as site, serving(site) as served:
        lines = "".join(f"{site.url(f'/p{n}', LOCAL)}\n" for n in range(5))
        address = f"{served.base}/api/jobs?profile=web_fetch&delay=0"
        async with served.http.post(address, data=lines, headers={"Content-Type": "text/plain"}) as answer:
            assert answer.status == 202
            job = await answer.json()
        await ended(served, job["id"])
        assert len(await records(served, job["id"])) == 5


async def test_uploaded_list_over_the_limit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    async with serving(max_list_bytes=2000, jobs_folder=str(folder)) as served:

        async def lines() -> Any:
            for _ in range(200):
                yield b"https://example.com/a-long-path\n" * 100

        headers = {"Content-Type": "text/plain"}
        async with served.http.post(f"{served.base}/api/jobs", data=lines(), headers=headers) as answer:
            assert answer.status == 413
        assert not [name for name in os.listdir(folder) if len(name) == 32]


async def test_job_of_another_token_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    path = tmp_path / "tokens.toml"
    path.write_text('[a]\ntoken = "token-of-alice-01"\n[b]\ntoken = "token-of-bob-00002"\n')
    path.chmod(0o600)
    mine, others = {"Authorization": "Bearer token-of-alice-01"}, {"Authorization": "Bearer token-of-bob-00002"}
    async with site_of(2) as site, serving(site, tokens_file=str(path)) as served:
        _, job = await served.post("/api/jobs", {"urls": [site.url("/p1", LOCAL)]}, **mine)
        id_ = job["id"]
        for address in (
            f"/api/jobs/{id_}",
            f"/api/jobs/{id_}/results",
            f"/api/jobs/{id_}/events",
            f"/v2/batch/scrape/{id_}",
        ):
            assert (await served.get(address, **others))[0] == 404, address
            assert (await served.get(address, **mine))[0] == 200, address
        assert (await served.post(f"/api/jobs/{id_}/cancel", {}, **others))[0] == 404
        async with served.http.delete(f"{served.base}/api/jobs/{id_}", headers=others) as answer:
            assert answer.status == 404
        assert (await served.get("/api/jobs", **others))[1] == {"jobs": []}


async def test_job_goes_on_after_a_restart_and_fetches_no_page_twice(tmp_path: Path) -> None:
    folder = str(tmp_path / "jobs")
    async with site_of(60) as site:
        urls = [site.url(f"/p{n}", LOCAL) for n in range(60)]
        async with serving(site, jobs_folder=folder) as served:
            body = {"urls": urls, "delay": 0.05, "profile": "web_fetch"}
            _, job = await served.post("/api/jobs", body)
            for _ in range(600):
                if (await served.get(f"/api/jobs/{job['id']}"))[1]["progress"].get("done", 0) >= 5:
                    break
                await asyncio.sleep(0.1)
        before = site.requests.total()
        assert 5 <= before < 60
        async with serving(site, jobs_folder=folder) as served:
            assert (await ended(served, job["id"]))["state"] == "finished"
            found = await records(served, job["id"])
        assert Counter(record["requested_url"] for record in found) == Counter(urls)
        assert site.requests["/p59"] == 1
        assert sum(count for path, count in site.requests.items() if path != "/robots.txt") <= 60 + 1


async def test_pause_resume_and_cancel() -> None:
    async with site_of(200) as site, serving(site) as served:
        body = {"urls": [site.url(f"/p{n}", LOCAL) for n in range(200)], "delay": 0.05, "profile": "web_fetch"}
        _, job = await served.post("/api/jobs", body)
        id_ = job["id"]

        async def reach(state: str) -> None:
            for _ in range(600):
                if (await served.get(f"/api/jobs/{id_}"))[1]["state"] == state:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError(state)

        await reach("running")
        await served.post(f"/api/jobs/{id_}/pause", {})
        await reach("paused")
        count = site.requests.total()
        await asyncio.sleep(1)
        assert site.requests.total() == count
        await served.post(f"/api/jobs/{id_}/resume", {})
        await reach("running")
        await served.post(f"/api/jobs/{id_}/cancel", {})
        assert (await ended(served, id_))["state"] == "cancelled"
        async with served.http.delete(f"{served.base}/api/jobs/{id_}") as answer:
            assert answer.status == 204
        assert (await served.get(f"/api/jobs/{id_}"))[0] == 404


async def test_events_end_with_the_job() -> None:
    async with site_of(3) as site, serving(site) as served:
        _, job = await served.post("/api/jobs", {"urls": [site.url("/p1", LOCAL)], "profile": "web_fetch"})
        status, text = await served.get(f"/api/jobs/{job['id']}/events")
        assert status == 200
        names = [line for line in text.splitlines() if line.startswith("event: ")]
        assert names[-1] == "event: end"
        assert names[0] == "event: progress"


async def test_too_many_unfinished_jobs_are_refused() -> None:
    async with site_of(2) as site, serving(site, jobs=1) as served:
        body = {"urls": [site.url("/p1", LOCAL)] * 3, "profile": "web_fetch"}
        assert (await served.post("/api/jobs", body))[0] == 202
        statuses = [(await served.post("/api/jobs", body))[0] for _ in range(2)]
        assert 429 in statuses


@pytest.mark.parametrize("address", ["http://10.0.0.1/hook", "http://127.0.0.1:22/", "file:///etc/passwd"])
async def test_webhook_to_an_inside_address_is_refused(address: str) -> None:
    async with site_of(2) as site, serving(site) as served:
        body = {"urls": [site.url("/p1", LOCAL)], "webhook": {"url": address}}
        status, _ = await served.post("/api/jobs", body)
        assert status in (400, 403)
        status, _ = await served.post("/v2/batch/scrape", {"urls": [site.url("/p1", LOCAL)], "webhook": address})
        assert status in (400, 403)


async def test_webhook_is_signed_and_sent_when_the_job_ends() -> None:
    import hmac
    from hashlib import sha256

    got: list[tuple[dict[str, str], bytes]] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        got.append((fields | {"": head[0]}, await reader.readexactly(int(fields["content-length"]))))
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        writer.close()

    receiver = await asyncio.start_server(take, "127.0.0.1", 0)
    port = receiver.sockets[0].getsockname()[1]
    async with receiver, site_of(2) as site:
        security = {
            "block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port, port],
        }  # fmt: skip
        async with serving(site, webfetch={"security": security}) as served:
            hook = {"url": f"http://hook.example:{port}/done", "secret": "shared", "metadata": {"a": 1}}
            body = {"urls": [site.url("/p1", LOCAL)], "profile": "web_fetch", "webhook": hook}
            _, job = await served.post("/api/jobs", body)
            await ended(served, job["id"])
            for _ in range(100):
                if got:
                    break
                await asyncio.sleep(0.1)
    fields, body_sent = got[0]
    assert fields[""].startswith("POST /done ")
    expected = hmac.new(b"shared", body_sent, sha256).hexdigest()
    assert fields["x-spaniel-signature"] == f"sha256={expected}"
    sent = json.loads(body_sent)
    assert (sent["type"], sent["id"], sent["metadata"]) == ("batch.completed", job["id"], {"a": 1})

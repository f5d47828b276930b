"""The service's heaviest request: a job whose list has ten million lines, uploaded while others are served."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.api.program import Program, program, settings, web
from tests.api.test_attacks import MB, answer, connection

LINES = 10_000_000
PIECE = 20_000  # lines that are sent at once
READ_SECONDS = 60.0  # for which the job reads its list, before it is cancelled


def lines(base: str) -> Iterator[bytes]:
    """Addresses of equal length."""
    for start in range(0, LINES, PIECE):
        yield b"".join(b"%s/page-%08d\n" % (base.encode(), number) for number in range(start, start + PIECE))


def upload(server: Program, base: str) -> dict[str, Any]:
    size = LINES * (len(base) + len("/page-00000000\n"))
    head = "POST /api/jobs?profile=web_fetch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    with connection(server) as sock:
        sock.settimeout(300)
        sock.sendall(f"{head}Content-Type: text/plain\r\nContent-Length: {size}\r\n\r\n".encode())
        for piece in lines(base):
            sock.sendall(piece)
        found = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    assert found[:12] == b"HTTP/1.1 202", found[:500]
    job: dict[str, Any] = json.loads(found.partition(b"\r\n\r\n")[2])
    return job


def descendants(pid: int) -> list[int]:
    with suppress(OSError):
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return children + [each for child in children for each in descendants(child)]
    return []


def memory_of(pids: list[int]) -> int:
    """Resident bytes of the largest."""
    found = [0]
    for pid in pids:
        with suppress(OSError):
            found.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return max(found)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_job_of_ten_million_lines_leaves_the_server_serving(tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < 4 << 30:
        pytest.skip("4 GB of disk are needed")
    with web() as site, program(settings(tmp_path, [site.port])) as server:
        page = f"/{site.url('/otters')}"
        with connection(server, "127.0.0.2") as sock:
            assert answer(sock, page)[:12] == b"HTTP/1.1 200"
        before, most, slowest, served = server.memory(), 0, 0.0, 0
        jobs: list[dict[str, Any]] = []
        began = time.monotonic()
        sender = threading.Thread(target=lambda: jobs.append(upload(server, site.url("").rstrip("/"))))
        sender.start()
        while sender.is_alive():
            asked = time.monotonic()
            with connection(server, "127.0.0.2") as sock:
                assert answer(sock, page)[:12] == b"HTTP/1.1 200"
            slowest, served = max(slowest, time.monotonic() - asked), served + 1
            most = max(most, server.memory())
            time.sleep(0.2)
        seconds = time.monotonic() - began
        assert jobs  # the upload was accepted
        grown = f"server +{(most - before) / MB:.0f} MB"
        print(f"\nupload: {seconds:.0f} s, {grown}, {served} other requests, at most {slowest:.1f} s each")
        assert most - before < 64 * MB
        worker = 0
        end = time.monotonic() + READ_SECONDS
        while time.monotonic() < end:
            worker = max(worker, memory_of(descendants(server.process.pid)))
            with connection(server, "127.0.0.2") as sock:
                assert answer(sock, page)[:12] == b"HTTP/1.1 200"
            time.sleep(0.5)
        with connection(server) as sock:
            job = json.loads(answer(sock, f"/api/jobs/{jobs[0]['id']}").partition(b"\r\n\r\n")[2])
        progress = job["progress"] or "still reading its list"
        print(f"job: {job['state']}, {progress}; its largest process {worker / MB:.0f} MB")
        assert job["state"] == "running"
        assert 0 < worker < 1024 * MB
        assert server.memory() - before < 64 * MB
        with connection(server) as sock:
            answer(sock, f"/api/jobs/{job['id']}/cancel", "POST")
        for _ in range(1200):
            with connection(server) as sock:
                state = json.loads(answer(sock, f"/api/jobs/{job['id']}").partition(b"\r\n\r\n")[2])["state"]
            if state == "cancelled":
                break
            time.sleep(0.5)
        assert state == "cancelled"

"""Runs of a batch against a server on loopback, and what its log says of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from spaniel.app.batch_wiring import wiring
from spaniel.app.settings import Settings, from_data
from spaniel.app.sources import ReadSource
from spaniel.batch.local import BatchRun, Order
from spaniel.batch.progress import Progress
from spaniel.batch.supervisor import Pace, Processes
from spaniel.hosts.rules import HostRule, HostRules
from spaniel.pipeline.profile import load
from spaniel.sources.rows import ListOptions, Problems
from spaniel.testing.batching import WHERE
from tests import programs

ROOT = Path(__file__).resolve().parent.parent.parent
FAST = HostRules(HostRule(1, 0.0))


class Request(NamedTuple):
    host: str
    path: str
    came: float
    gone: float


class Served(NamedTuple):
    port: int
    log: Path

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    def requests(self) -> list[Request]:
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [Request(host, path, float(came), float(gone)) for host, path, came, gone in lines]

    def by_host(self) -> dict[str, list[Request]]:
        found = defaultdict(list)
        for request in sorted(self.requests(), key=lambda each: each.came):
            found[request.host].append(request)
        return found


@contextmanager
def serving(folder: Path, pause: float = 0.0) -> Iterator[Served]:
    log = folder / "server.log"
    command = [sys.executable, "-m", "tests.batch.server", str(log), str(pause)]
    with programs.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield Served(int(process.stdout.readline()), log)
        finally:
            process.kill()


def settings(port: int, folder: Path, **webfetch: Any) -> Settings:
    security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [port]}
    table = {"cache_dir": str(folder / "cache"), "security": security, "browser": {"enabled": False}, **webfetch}
    offline = {"archive": {"available": ""}}
    return from_data({"tools": {"webfetch": table}, "spaniel": offline}, "test")


def order(urls: Path, **more: Any) -> Order:
    profile = load()
    source = ReadSource(str(urls), ListOptions(), Problems(), Settings(), profile.name)
    return Order([source], profile.policy, {"--profile": profile.name}, **more)


def written(folder: Path, urls: Sequence[str]) -> Path:
    path = folder / "urls.txt"
    path.write_text("".join(f"{url}\n" for url in urls))
    return path


def batch(
    served: Served, folder: Path, urls: Sequence[str], pace: Pace, *, resume: bool = False, **more: Any
) -> tuple[Progress, bool]:
    """One run in this process, with workers of its own."""
    with BatchRun(str(folder / "out.jsonl")) as run:
        wanted = order(written(folder, urls), **more)
        run.resume(wanted) if resume else run.begin(wanted)
        options = wiring(settings(served.port, folder), "web_fetch")
        return run.fetch(Processes(WHERE, options), pace)


def records(folder: Path, name: str = "out.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]

"""Runs `spaniel check` and `spaniel db check` as processes, against hosts on loopback that log their requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests import programs
from tests.health.log_server import HOSTS

ROOT = Path(__file__).resolve().parent.parent.parent


class Request(NamedTuple):
    host: str
    method: str
    path: str
    came: float
    gone: float


class Served(NamedTuple):
    port: int
    log: Path
    folder: Path

    def url(self, path: str, host: int = 1) -> str:
        return f"http://127.0.0.{host}:{self.port}{path}"

    def urls(self, count: int) -> list[str]:
        """URLs at all hosts in turn."""
        return [self.url(f"/ok{n}", 1 + n % HOSTS) for n in range(count)]

    def requests(self) -> list[Request]:
        rows = [line.split() for line in self.log.read_text().splitlines()]
        whole = (row for row in rows if len(row) == 5)
        return [Request(host, method, path, float(came), float(gone)) for host, method, path, came, gone in whole]

    def asked(self) -> set[str]:
        """The URLs that were requested, without the ones that test whether HEAD can be trusted."""
        return {f"http://{each.host}:{self.port}{each.path}" for each in self.requests() if each.path.startswith("/ok")}

    def by_host(self) -> dict[str, list[Request]]:
        found = defaultdict(list)
        for request in sorted(self.requests(), key=lambda each: each.came):
            found[request.host].append(request)
        return found

    def database(self, urls: Sequence[str], name: str = "urls") -> Path:
        """Write a database with these links."""
        folder = self.folder / name
        folder.mkdir()
        paths = defaultdict(list)
        for url in urls:
            host, _, path = url.removeprefix("http://").partition("/")
            paths[host].append(f"---\n_path: /{path}\n")
        for host, records in paths.items():
            (folder / f"{host.replace(':', '%3A')}.yaml").write_text("".join(["---\n", *sorted(records)]))
        return folder

    def command(self, *args: str) -> list[str]:
        settings = self.folder / "local.toml"
        settings.write_text(
            f'[tools.webfetch]\ncache_dir = "{self.folder}/cache"\n[tools.webfetch.browser]\nenabled = false\n'
            "[tools.webfetch.security]\nallow_insecure_overrides = true\nblock_loopback = false\n"
            f"allowed_ports = [{self.port}]\n"
        )
        return [sys.executable, "-m", "spaniel", *args, "--config", str(settings)]

    @property
    def environment(self) -> dict[str, str]:
        own = {f"XDG_{name}_HOME": str(self.folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE")}
        return os.environ | own | {"NO_COLOR": "1"}

    def run(self, *args: str, stdin: str = "", before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        line = [*before, *self.command(*args)]
        return programs.run(
            line, env=self.environment, input=stdin, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
        )


@contextmanager
def serving(folder: Path, pause: float = 0.0) -> Iterator[Served]:
    log = folder / "server.log"
    command = [sys.executable, "-m", "tests.health.log_server", str(log), str(pause)]
    with programs.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield Served(int(process.stdout.readline()), log, folder)
        finally:
            process.kill()


def results(text: str) -> dict[str, dict[str, Any]]:
    """JSON lines by URL; fails if a URL is reported twice."""
    rows = [json.loads(line) for line in text.splitlines()]
    found = {row["url"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def verdicts(text: str) -> dict[str, str]:
    return {url: row["verdict"] for url, row in results(text).items()}

"""`make soak`: a mixed load on the service for some minutes, with kills, then without: no growth, no lost job.

The first half of the time the server is killed and started again; in the second half it runs, and its memory and its
descriptors are looked at. Every job must end with each of its URLs once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.api.program import Program, Reply, Web, html, numbered, settings, start, web

MB = 1 << 20
JOB_URLS = 40
JOB_SECONDS = 10.0  # between two new jobs
LOADERS = 6
MOST_GROWTH = 1.25  # of memory, from the first quarter of the quiet half to its last
LIMITS = "requests_per_minute = 0\njobs = 1000\nconcurrent = 64\nwaiting = 1000\n"


class Sample(NamedTuple):
    """How the server is, at a time."""

    memory: int
    descriptors: int


class Soak:
    """The server, what is done to it, and what was seen."""

    def __init__(self, folder: Path, site: Web) -> None:
        self.site, self.folder = site, folder
        self.config = settings(folder, [site.port], LIMITS)
        self.server: Program = start(folder, self.config)
        self.port = self.server.port
        self.answers: Counter[str] = Counter()
        self.jobs: dict[str, list[str]] = {}
        self.kills = 0
        self.samples: list[Sample] = []
        self.ending = threading.Event()

    # What callers do

    def call(self, method: str, path: str, body: object = None, seconds: float = 60) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            data = json.dumps(body).encode() if body is not None else None
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def load(self, seed: int) -> None:
        """One caller after another, until the end."""
        chance = random.Random(seed)
        calls = [self.fetch, self.jina, self.scrape, self.extract, self.stream, self.mcp, self.refused, self.leave]
        while not self.ending.is_set():
            call = chance.choice(calls)
            try:
                status = call(chance)
                self.answers[f"{call.__name__} {status}"] += 1
            except (OSError, http.client.HTTPException):
                self.answers["server not there"] += 1
                time.sleep(0.2)

    def page(self, chance: random.Random) -> str:
        return self.site.url(f"/p{chance.randrange(400)}")

    def fetch(self, chance: random.Random) -> int:
        return self.call("POST", "/api/fetch", {"url": self.page(chance), "no_cache": chance.random() < 0.2})[0]

    def jina(self, chance: random.Random) -> int:
        return self.call("GET", f"/{self.page(chance)}")[0]

    def scrape(self, chance: random.Random) -> int:
        return self.call("POST", "/v2/scrape", {"url": self.page(chance), "formats": ["markdown", "html", "links"]})[0]

    def extract(self, chance: random.Random) -> int:
        return self.call("POST", "/extract", {"urls": [self.page(chance), self.site.url("/gone")]})[0]

    def stream(self, chance: random.Random) -> int:
        return self.call("GET", f"/api/fetch/stream?url={self.page(chance)}")[0]

    def mcp(self, chance: random.Random) -> int:
        known = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        return self.call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": known})[0]

    def refused(self, chance: random.Random) -> int:
        url = chance.choice(["http://10.0.0.1/", "ftp://example.com/", self.site.url("/gone")])
        return self.call("POST", "/v2/scrape", {"url": url})[0]

    def leave(self, chance: random.Random) -> int:
        """A client that leaves before its page has come."""
        with suppress(TimeoutError):
            return self.call("POST", "/api/fetch", {"url": self.site.url(f"/slow?{chance.random()}")}, 0.5)[0]
        return 0

    def submit(self) -> None:
        """New jobs, until the end. A start that was not answered is not a job that was accepted."""
        number = 0
        while not self.ending.wait(JOB_SECONDS):
            number += 1
            urls = [self.site.url(f"/j{number}-{n}") for n in range(JOB_URLS)]
            body = {"urls": urls, "delay": 0, "per_host": 2, "profile": "web_fetch"}
            with suppress(OSError, http.client.HTTPException):
                status, answer = self.call("POST", "/api/jobs", body)
                if status == 202:
                    self.jobs[json.loads(answer)["id"]] = urls

    def sample(self) -> None:
        while not self.ending.wait(1):
            with suppress(OSError):
                self.samples.append(Sample(self.server.memory(), self.server.descriptors()))

    # What is done to the server

    def kill(self, number: int) -> None:
        self.server.stop(number)
        self.kills += 1
        self.server = start(self.folder, self.config, port=self.port)

    # What must be so in the end

    def lost(self, seconds: float) -> list[str]:
        """Jobs that do not end as they must."""
        end = time.monotonic() + seconds
        problems, left = [], dict(self.jobs)
        while left and time.monotonic() < end:
            time.sleep(2)
            for id_, urls in list(left.items()):
                job = json.loads(self.call("GET", f"/api/jobs/{id_}")[1])
                if job["state"] not in ("finished", "failed", "cancelled"):
                    continue
                del left[id_]
                found = Counter(record["requested_url"] for record in self.records(id_))
                if job["state"] != "finished" or found != Counter(urls):
                    problems.append(f"{id_}: {job['state']}, {len(found)} of {len(urls)} URLs, {job['error']}")
        return problems + [f"{id_}: not ended" for id_ in left]

    def records(self, id_: str) -> list[dict[str, Any]]:
        _, lines = self.call("GET", f"/api/jobs/{id_}/results?limit=10000")
        return [json.loads(line) for line in lines.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--kills", type=int, default=20, help="in the first half of the time")
    args = parser.parse_args()

    def slow() -> Reply:
        time.sleep(3)
        return html("<p>A page that comes late, when its reader has left.</p>")

    with web({"/slow": slow}) as site, tempfile.TemporaryDirectory(prefix="spaniel-soak-") as folder:
        usual = site.pages
        site.pages = _Numbered(usual)
        soak = Soak(Path(folder), site)
        try:
            return run(soak, args.minutes * 60, args.kills)
        finally:
            soak.ending.set()
            if soak.server.process.poll() is None:
                soak.server.stop(signal.SIGKILL)


class _Numbered(dict[str, Any]):
    """Pages /p0, /j1-2 and so on, beside those that there are."""

    def __missing__(self, path: str) -> Reply:
        raise KeyError(path)

    def get(self, path: str, default: Any = None) -> Any:
        if path[1:2] in ("p", "j") and path[2:3].isdigit():
            return numbered(path[1:])
        return super().get(path, default)


def run(soak: Soak, seconds: float, kills: int) -> int:
    threads = [threading.Thread(target=soak.load, args=(seed,), daemon=True) for seed in range(LOADERS)]
    threads += [threading.Thread(target=work, daemon=True) for work in (soak.submit, soak.sample)]
    for thread in threads:
        thread.start()
    for number in range(kills):
        time.sleep(seconds / 2 / kills)
        soak.kill(signal.SIGKILL if number % 3 else signal.SIGTERM)
    quiet = len(soak.samples)
    time.sleep(seconds / 2)
    soak.ending.set()
    for thread in threads:
        thread.join(90)
    problems = soak.lost(600)
    problems += [f"{soak.answers[name]} × {name}" for name in soak.answers if name.split()[1] in ("500", "503")]
    problems = [problem for problem in problems if "refused 500" not in problem]  # a page that is gone
    samples = soak.samples[quiet:]
    quarter = max(1, len(samples) // 4)
    first, last = samples[quarter : 2 * quarter], samples[-quarter:]
    memory = [max(sample.memory for sample in part) for part in (first, last)]
    descriptors = [max(sample.descriptors for sample in part) for part in (first, last)]
    if memory[1] > memory[0] * MOST_GROWTH:
        problems.append("memory grows")
    time.sleep(5)
    at_the_end = soak.server.descriptors()
    print(f"{sum(soak.answers.values()):,} requests: {dict(sorted(soak.answers.items()))}")
    print(f"{len(soak.jobs)} jobs of {JOB_URLS} URLs through {soak.kills} kills")
    print(f"memory: {memory[0] / MB:.0f} MB in the second quarter, {memory[1] / MB:.0f} MB in the last one of")
    print(f"        {seconds / 120:.1f} minutes; {soak.server.memory() / MB:.0f} MB at the end")
    print(f"descriptors: at most {descriptors[0]}, {descriptors[1]}; {at_the_end} at the end")
    print("\n".join(f"problem: {problem}" for problem in problems) or "no problems found")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

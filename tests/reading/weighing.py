"""What a page of the family costs: processor time, memory, Markdown. `python -m tests.reading.weighing` is asked by name.

Each page is read in a process of its own, forked from one that has done nothing but read a page before.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from spaniel.errors import SpanielError
from spaniel.reading import extract, read
from tests.reading.family import page
from tests.reading.other_kinds import NAMES, text

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")  # writing 5 lets the peak begin anew
ROOT = Path(__file__).resolve().parents[2]
URL = "https://example.org/dir/"
SECONDS, BYTES = 60, 4 << 30  # of a page: what takes more is ended
MEGABYTE = 1 << 20


class Cost(NamedTuple):
    name: str
    size: int  # of the page
    seconds: float = SECONDS
    memory: int = BYTES  # what reading took at its most
    markdown: int = 0
    cut: bool = False
    refused: str = "died"

    @property
    def too_much_memory(self) -> bool:
        return self.memory > 64 * MEGABYTE + 12 * self.size

    @property
    def too_much_markdown(self) -> bool:
        return self.markdown > 4 * self.size + (64 << 10)


class Scales:
    """A process that weighs pages."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True
        )

    def weigh(self, name: str, size: int) -> Cost:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, size]) + "\n")
        self._process.stdin.flush()
        return Cost(**json.loads(self._process.stdout.readline()))

    def growth(self, name: str, small: int, large: int) -> float:
        """How much more processor time the larger page takes, the best of three; below 10 ms it cannot be measured."""
        best = float("inf")
        for _ in range(3):
            best = min(best, self.weigh(name, large).seconds / max(0.01, self.weigh(name, small).seconds))
            if best < large / small:
                break
        return best

    def __enter__(self) -> Scales:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())
    assert found
    return int(found[1]) * 1024


def _read(name: str, body: bytes) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    PEAK.write_text("5")
    before, start = _peak(), time.process_time()
    result: dict[str, Any] = {"name": name, "size": len(body), "refused": ""}
    try:
        content_type = name.partition(": ")[0] if name in NAMES else "text/html"
        document = read(body, content_type, URL)
        result |= {"markdown": len(document.markdown.encode()), "cut": bool(document.notes)}
    except SpanielError as error:
        result["refused"] = str(error)
    return result | {"seconds": time.process_time() - start, "memory": _peak() - before}


def _weigh(name: str, size: int) -> dict[str, Any]:
    body = text(name, size) if name in NAMES else page(name, size)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writing, "w") as out:
            json.dump(_read(name, body), out)
            out.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as source:
        result = source.read()
    os.waitpid(child, 0)
    return json.loads(result) if result else Cost(name, len(body))._asdict()


def main() -> None:
    extract(page("tables", 30_000) + page("p[class] in an article", 30_000) + page("cards", 10_000), url=URL)
    for kind in {name.partition(": ")[0]: name for name in NAMES}.values():
        read(text(kind, 1000), kind.partition(": ")[0], URL)
    gc.freeze()  # or each child would copy what it only looks through
    for line in sys.stdin:
        print(json.dumps(_weigh(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

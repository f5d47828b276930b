"""A client in a process of its own, so that nothing but the fetch is weighed: `python -m tests.net.measure URL...`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

from spaniel.errors import SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.guard import Security
from spaniel.url import parse
from tests.loopback import Services, open_rooms

STATUS = Path("/proc/self/status")
PEAK = Path("/proc/self/clear_refs")  # writing 5 lets the peak begin anew


def resident(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", STATUS.read_text())
    assert found
    return int(found[1]) * 1024


def begin_anew() -> None:
    PEAK.write_text("5")


async def weigh(services: Services, href: str, start: int) -> dict[str, object]:
    """How far above `start` a fetch took the memory at its peak, and how it ended."""
    url, deadline = parse(href), Deadline(20)
    begin_anew()
    try:
        target = await services.guard.vet(url, deadline)
        ended = f"{len((await services.http.get(url, target, deadline)).body)} bytes"
    except SpanielError as error:
        ended = str(error.code)
    return {"path": url.path, "grew": resident("VmHWM") - start, "ended": ended}


async def main(hrefs: list[str]) -> None:
    ports = tuple(parse(href).effective_port for href in hrefs)
    security = Security(block_loopback=False, allow_insecure_overrides=True, allowed_ports=ports)
    async with open_rooms(security) as services:
        await weigh(services, hrefs[0], 0)  # the first fetch loads modules and certificates
        start = resident("VmRSS")
        for href in hrefs[1:]:
            sys.stdout.write(json.dumps(await weigh(services, href, start)) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

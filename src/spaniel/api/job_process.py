"""The process of one job: it works until its list is done, or until its input ends, which asks it to stop.

Its folder holds the list, the run (which makes it resumable), the results and its status.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
from contextlib import aclosing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from spaniel.api.jobs import LIST, RESULTS, write_status
from spaniel.app.settings import Setting, Settings
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spaniel.batch.progress import Progress
    from spaniel.batch.supervisor import Supervisor

STATUS_SECONDS = 0.5
JOB_WORKERS = 1  # processes that fetch, for each job


def main(folder: str) -> None:
    """Ends the process with 0, whatever became of the job: its status says that."""
    from spaniel.app.logs import configure

    configure()
    spec: dict[str, Any] = json.loads(sys.stdin.buffer.readline() or b"{}")
    settings = Settings({path: Setting(_frozen(value), source) for path, value, source in spec.pop("settings")})
    stop = _Stop()
    status: dict[str, Any] = {}
    try:
        work = _batch if spec["kind"] == "batch" else _check
        whole = work(folder, spec, settings, stop, status)
        status["end"] = "whole" if whole else "stopped"
    except SpanielError as error:
        status |= {"end": "failed", "error": str(error)}
    except Exception as error:  # the job fails, with a log entry
        logging.getLogger("spaniel.api").exception("a job failed unexpectedly")
        status |= {"end": "failed", "error": str(SpanielError(Code.INTERNAL, error=type(error).__name__))}
    write_status(folder, status)
    sys.stdout.flush()
    os._exit(0)  # a thread may still be reading standard input


class _Stop:
    """Waits for the end of standard input in a thread."""

    def __init__(self) -> None:
        self.is_set = False
        self._call: Callable[[], object] | None = None
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with suppress(OSError, ValueError):
            while os.read(sys.stdin.fileno(), 1 << 16):
                pass
        self.is_set = True
        if self._call is not None:
            self._call()

    def then(self, call: Callable[[], object]) -> None:
        self._call = call
        if self.is_set:
            call()


def _batch(folder: str, spec: dict[str, Any], settings: Settings, stop: _Stop, status: dict[str, Any]) -> bool:
    from spaniel.app.batch_wiring import WHERE, limits, wiring
    from spaniel.app.sources import ReadSource
    from spaniel.batch.local import BatchRun, Order
    from spaniel.batch.supervisor import Pace, Processes
    from spaniel.hosts.rules import HostRule, HostRules
    from spaniel.pipeline.profile import load
    from spaniel.sources.rows import ListOptions, Problems

    profile = load(spec["profile"])
    shape = {"--profile": f"{profile.name} {profile.version}", "policy": profile.policy.name}
    problems = Problems()
    source = ReadSource(os.path.join(folder, spec.get("list", LIST)), ListOptions(), problems, settings, profile.name)
    order = Order([source], profile.policy, shape, problems=problems)
    rules = HostRules(HostRule(spec.get("per_host", 1), spec.get("delay", 1.0)))
    pace = Pace(JOB_WORKERS, spec.get("jobs", 16), rules, limits(settings))

    @contextmanager
    def watch(supervisor: Supervisor, progress: Progress) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        stop.then(lambda: loop.call_soon_threadsafe(supervisor.stop))
        writing = asyncio.create_task(_write_often(folder, lambda: _batch_status(progress), status))
        try:
            yield
        finally:
            writing.cancel()

    with BatchRun(os.path.join(folder, RESULTS)) as run:
        run.resume(order)
        workers = Processes(WHERE, wiring(settings, profile.name, cached=spec.get("cached", True), logs=(0, False)))
        progress, whole = run.fetch(workers, pace, watch)
        status |= _batch_status(progress)
        run.finish()
        run.write_summary(progress)
    return whole


def _batch_status(progress: Progress) -> dict[str, Any]:
    return {
        "done": progress.before + progress.records,
        "total": progress.total,
        "pages": progress.pages,
        "failed": dict(progress.failed),
        "under_way": progress.under_way(),
        "per_second": round(progress.rate(), 2),
        "waiting": [host._asdict() for host in progress.waiting()],
    }


async def _write_often(folder: str, read: Callable[[], dict[str, Any]], status: dict[str, Any]) -> None:
    while True:
        status |= read()
        with suppress(OSError):
            await asyncio.to_thread(write_status, folder, dict(status))
        await asyncio.sleep(STATUS_SECONDS)


def _check(folder: str, spec: dict[str, Any], settings: Settings, stop: _Stop, status: dict[str, Any]) -> bool:
    urls = _urls(os.path.join(folder, spec.get("list", LIST)), settings)  # it has an event loop of its own
    return asyncio.run(_check_links(folder, spec, urls, settings, stop, status))


async def _check_links(
    folder: str, spec: dict[str, Any], urls: list[str], settings: Settings, stop: _Stop, status: dict[str, Any]
) -> bool:
    """Results of an earlier process are in the link history of the job; links that it has are not requested again."""
    from spaniel.app.client import Spaniel
    from spaniel.health.reports.json import as_json, result_object

    results = os.path.join(folder, RESULTS)
    done = _checked_before(results)
    left = [url for url in urls if url not in done]
    counts = {"done": len(done), "total": len(urls)}
    verdicts: dict[str, int] = {}
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    stop.then(lambda: loop.call_soon_threadsafe(stopping.set))
    last = 0.0
    with open(results, "ab") as out:  # noqa: ASYNC230  this process does nothing else
        async with Spaniel(settings) as client, aclosing(client.check(left, soft_404=spec["soft_404"])) as found:
            async for checked in found:
                out.write(as_json(result_object(checked)).encode() + b"\n")
                out.flush()
                counts["done"] += 1
                verdicts[checked.verdict] = verdicts.get(checked.verdict, 0) + 1
                if time.monotonic() - last > STATUS_SECONDS:
                    last = time.monotonic()
                    await asyncio.to_thread(write_status, folder, {**counts, "verdicts": dict(verdicts)})
                if stopping.is_set():
                    break
    status |= {**counts, "verdicts": verdicts}
    return not stopping.is_set()


def _urls(path: str, settings: Settings) -> list[str]:
    """The URLs of a list in any form that `batch` reads, each once."""
    from spaniel.app.sources import ReadSource
    from spaniel.sources.rows import ListOptions, Problems

    source = ReadSource(path, ListOptions(), Problems(), settings, "web_fetch")
    return list(dict.fromkeys(item.raw for item in source.items()))


def _checked_before(path: str) -> set[str]:
    """URLs whose result was written before; a line that was cut off by a crash is removed."""
    done: set[str] = set()
    end = 0
    with suppress(FileNotFoundError), open(path, "r+b") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            done.add(json.loads(line)["url"])
            end += len(line)
        file.truncate(end)
    return done


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

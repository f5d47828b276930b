"""Workers as actors of a Ray cluster: the supervisor is the driver, and a worker is the same code as in a process.

SQLite never runs on a network file system: an actor gets a copy of its shards on a disk of its own, and sends its
results to the driver, which appends them to part files and commits them. An actor that dies is replaced like a process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from spaniel.batch import channel
from spaniel.batch.supervisor import keep_alive
from spaniel.batch.worker import Service, opener, write_shards
from spaniel.errors import Code, SpanielError
from spaniel.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.batch.supervisor import Brief, Receive

RESULTS_AHEAD = 4  # messages with results that an actor has sent and the driver has not received
PLACE_SECONDS = 60.0  # in which an actor should have started
BEHIND_SECONDS = 0.05  # before an actor is asked for messages again while its results are not written yet
STARTS = 3  # of a cluster of our own: on a busy machine the first may take too long
LOCAL = ""  # no address: a cluster of this machine alone, which ends with the run

log = logging.getLogger("spaniel.batch")


class WorkerActor:
    """A worker, as Ray runs it: its methods share one event loop."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._folder = tempfile.TemporaryDirectory(prefix="spaniel-shards-")
        self._service: Service | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._outbox: list[tuple[Any, ...]] = []
        self._results = Slots(RESULTS_AHEAD)
        self._news = asyncio.Event()

    async def open(self, brief: dict[str, Any], shards: Mapping[str, bytes]) -> None:
        write_shards(self._folder.name, shards)
        if not _is_here(brief):
            brief = {**brief, "tasks": ""}
        self._service = Service({**brief, "folder": self._folder.name}, self._send, self._relay)
        self._working.add(asyncio.create_task(self._work(self._service)))

    async def _work(self, service: Service) -> None:
        try:
            await service.run(opener(self._where))
        except Exception as error:
            log.exception("unexpected_error")
            self._send(channel.FAILED, f"{type(error).__name__}: {error}", "")

    async def receive(self, messages: list[tuple[Any, ...]]) -> None:
        if self._service is not None:
            for message in messages:
                self._service.receive(*message)

    async def outgoing(self) -> list[tuple[Any, ...]]:
        """Messages of the worker since the last call, as soon as there are some."""
        await self._news.wait()
        self._news.clear()
        messages, self._outbox = self._outbox, []
        for message in messages:
            if message[0] == channel.RESULTS:
                self._results.release()
        return messages

    def _send(self, *message: Any) -> None:
        self._outbox.append(message)
        self._news.set()

    async def _relay(self, *message: Any) -> None:
        await self._results.wait()
        self._send(*message)


def _is_here(brief: Mapping[str, Any]) -> bool:
    """Whether the folder of the run is on this machine too: then what is under way is written there."""
    with suppress(OSError):
        return os.path.exists(brief["folder"]) and os.stat(brief["folder"]).st_ino == brief["folder_id"]
    return False


class RayWorkers:
    """Each worker is an actor, on any machine of the cluster that has a free CPU."""

    is_remote = True

    def __init__(self, where: str, wiring: Mapping[str, object], address: str = LOCAL) -> None:
        self._where, self._wiring, self._address = where, wiring, address
        self._actors: list[Any] = []
        self._messages: list[list[tuple[Any, ...]]] = []
        self._watches: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self, count: int, receive: Receive, brief: Brief) -> None:
        self._ray = _connected(self._address, count)
        self._make = self._ray.remote(num_cpus=1, max_restarts=0)(WorkerActor)
        self._actors, self._messages = [None] * count, [[] for _ in range(count)]
        self._watches = [
            asyncio.create_task(
                keep_alive(number, partial(self._live, number, receive, brief), receive, lambda: self._closing)
            )
            for number in range(count)
        ]

    def send(self, worker: int, word: str, *values: Any) -> None:
        """Messages of one moment travel together: a call of Ray's costs more than what is in it."""
        messages = self._messages[worker]
        if not messages:
            asyncio.get_running_loop().call_soon(self._post, worker)
        messages.append((word, *values))

    async def close(self) -> None:
        self._closing = True
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        if self._address == LOCAL and self._watches:
            self._ray.shutdown()

    def _post(self, worker: int) -> None:
        messages, self._messages[worker] = self._messages[worker], []
        if messages and self._actors[worker] is not None:
            self._actors[worker].receive.remote(messages)

    async def _opened(self, actor: Any, number: int, brief: dict[str, Any]) -> None:
        """Wait until the cluster has a free CPU for it, and log that if it takes long."""
        shards = brief.pop("shard_files")
        opening = asyncio.create_task(_result(actor.open.remote({**brief, "wiring": self._wiring}, shards)))
        try:
            await asyncio.wait({opening}, timeout=PLACE_SECONDS)
            if not opening.done():
                log.warning(
                    "the cluster has no free CPU for worker %d of %d yet; waiting", number + 1, len(self._actors)
                )
            await opening
        finally:
            opening.cancel()

    async def _live(self, number: int, receive: Receive, brief: Brief) -> bool:
        """One life of an actor; whether it ever worked."""
        self._messages[number] = []  # messages to the actor before it are dropped
        actor = self._make.remote(self._where)
        was_ready = False
        try:
            await self._opened(actor, number, brief(number))
            self._actors[number] = actor
            while True:
                is_behind = False
                for message in await actor.outgoing.remote():
                    was_ready = True
                    is_behind = receive(number, *message)
                if is_behind:
                    await asyncio.sleep(BEHIND_SECONDS)
        except self._ray.exceptions.RayError:
            return was_ready
        finally:
            self._actors[number], self._messages[number] = None, []
            with suppress(self._ray.exceptions.RayError, ValueError):
                self._ray.kill(actor)


async def _result(reference: Any) -> Any:
    return await reference


def _connected(address: str, workers: int) -> Any:
    """Ray itself, connected to a cluster. One of our own is started again if it was not up in Ray's half a minute."""
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    how = {"num_cpus": workers, "include_dashboard": False} if address == LOCAL else {"address": address}
    reason = ""
    for _ in range(STARTS if address == LOCAL else 1):
        try:
            ray.init(**how, **quiet)
        except Exception as error:  # noqa: BLE001  Ray raises bare ones
            reason = f"the cluster cannot be {'reached' if address else 'started'}: {error}"
            ray.shutdown()
        else:
            return ray
    raise SpanielError(Code.BAD_ARGS, field="--engine ray", reason=reason)

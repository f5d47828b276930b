"""Workers as actors of a Ray cluster: the coordinator is the driver, and all but the workers is as on one machine.

Turns at hosts are granted by the driver to actors wherever they are, so that a cluster is as polite as one process;
records come back to the driver, which writes and commits them. An actor that dies is replaced like a process.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from spaniel.batch.crew import BREAK_SECONDS, watched
from spaniel.batch.messages import READY
from spaniel.batch.worker import RemoteHosts, Worker, for_the_journey, opener, parts_for
from spaniel.clock import SystemClock
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.batch.crew import Hear

AT_ONCE, BYTES_AT_ONCE = 256, 8 << 20  # messages, and what they hold, that an actor hands over in one answer
PATIENCE_SECONDS = 60.0  # in which an actor should have found its place
STARTS = 3  # of a cluster of our own: on a busy machine the first may take too long
LOCAL = ""  # no address: a cluster of this machine alone, which ends with the run

_log = logging.getLogger("spaniel.batch")


class WorkerActor:
    """A worker, as Ray runs it: its methods share one event loop."""

    def __init__(self, where: str, wiring: Mapping[str, object]) -> None:
        self._where, self._wiring = where, wiring
        self._open = AsyncExitStack()
        self._worker: Worker | None = None
        self._said: deque[tuple[Any, ...]] = deque()
        self._news = asyncio.Event()

    async def open(self) -> None:
        hosts = RemoteHosts(self._send, SystemClock())
        fetch = await self._open.enter_async_context(opener(self._where)(self._wiring, hosts))
        self._worker = Worker(fetch, hosts, self._send, parts_for(self._wiring, self._send))
        self._send(READY)

    async def receive(self, letters: list[tuple[Any, ...]]) -> None:
        if self._worker is not None:
            for letter in letters:
                self._worker.receive(*letter)

    async def said(self) -> list[tuple[Any, ...]]:
        """What the worker has said since, as soon as there is something."""
        await self._news.wait()
        told: list[tuple[Any, ...]] = []
        size = 0
        while self._said and len(told) < AT_ONCE and size < BYTES_AT_ONCE:
            told.append(self._said.popleft())
            size += sum(len(value) for value in told[-1] if isinstance(value, bytes))
        if not self._said:
            self._news.clear()
        return told

    def _send(self, word: str, *values: Any) -> None:
        self._said.append(for_the_journey(word, *values))
        self._news.set()


class RayCrew:
    """Each worker is an actor, on whichever machine of the cluster has room for it."""

    def __init__(self, count: int, where: str, wiring: Mapping[str, object], address: str = LOCAL) -> None:
        self._count, self._told, self._address = count, (where, wiring), address
        self._actors: list[Any] = [None] * count
        self._letters: list[list[tuple[Any, ...]]] = [[] for _ in range(count)]
        self._watches: list[asyncio.Task[None]] = []
        self._closing = False

    async def start(self, hear: Hear) -> None:
        self._ray = _connected(self._address, self._count)
        self._make = self._ray.remote(num_cpus=1, max_restarts=0)(WorkerActor)
        self._watches = [
            watched(number, partial(self._live, number, hear), hear, lambda: self._closing)
            for number in range(self._count)
        ]

    def tell(self, worker: int, word: str, *values: Any) -> None:
        """Letters of one moment travel together: a call of Ray's costs more than what is in it."""
        letters = self._letters[worker]
        if not letters:
            asyncio.get_running_loop().call_soon(self._post, worker)
        letters.append((word, *values))

    async def close(self) -> None:
        self._closing = True
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        if self._address == LOCAL and self._watches:
            self._ray.shutdown()

    def _post(self, worker: int) -> None:
        letters, self._letters[worker] = self._letters[worker], []
        if letters and self._actors[worker] is not None:
            self._actors[worker].receive.remote(letters)

    async def _opened(self, actor: Any, number: int) -> None:
        """As soon as the cluster has room for it: that may take as long as it takes, but not in silence."""
        opening = asyncio.create_task(_result(actor.open.remote()))
        try:
            await asyncio.wait({opening}, timeout=PATIENCE_SECONDS)
            if not opening.done():
                _log.warning(
                    "the cluster has no room for worker %d of %d yet; it is waited for", number + 1, self._count
                )
            await opening
        finally:
            opening.cancel()

    async def _live(self, number: int, hear: Hear) -> bool:
        """One life of an actor; whether it ever worked."""
        self._letters[number] = []  # what was for the one before is for nobody
        actor = self._actors[number] = self._make.remote(*self._told)
        was_ready = False
        try:
            await self._opened(actor, number)
            was_ready = True
            while True:
                is_behind = False
                for said in await actor.said.remote():
                    is_behind = hear(number, *said)
                if is_behind:
                    await asyncio.sleep(BREAK_SECONDS)
        except self._ray.exceptions.RayError:
            return was_ready
        finally:
            self._actors[number], self._letters[number] = None, []
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

"""Parts that workers write themselves, where all machines can reach: a shared folder, or any place that fsspec knows.

A part appears whole or not at all, under a name that nobody else uses. It counts once the coordinator has its name in
the list of parts; what a worker had written when it died is in no list, and its pages are fetched again.
"""

from __future__ import annotations

import asyncio
import os
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from spaniel.batch.outputs.part import packed
from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PART_BYTES = 16 << 20  # of lines
PART_SECONDS = 5.0  # after its first line: what a worker's death may cost


class Wrote(NamedTuple):
    """A part, as the list of parts has it."""

    part: str  # its address
    records: int
    bytes: int
    sha256: str


class RemoteParts:
    """One writer's parts. `wrote(part, marks)` is told of each, with the marks of what is in it; `failed` why not."""

    def __init__(
        self, place: str, label: str, wrote: Callable[[Wrote, list[int]], object], failed: Callable[[str], object]
    ) -> None:
        self._place, self._label, self._wrote, self._failed = place.rstrip("/"), label, wrote, failed
        self._lines: list[bytes] = []
        self._marks: list[int] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._writing: set[asyncio.Task[None]] = set()

    def add(self, lines: Sequence[bytes], mark: int) -> None:
        """Lines that belong together: they are in one part."""
        self._lines += lines
        self._marks.append(mark)
        self._size += sum(map(len, lines))
        if self._size >= PART_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PART_SECONDS, self.flush)

    @property
    def is_idle(self) -> bool:
        return not (self._lines or self._writing)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        lines, marks = self._lines, self._marks
        self._lines, self._marks, self._size, self._timer = [], [], 0, None
        if lines:
            task = asyncio.create_task(self._write(lines, marks))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def _write(self, lines: list[bytes], marks: list[int]) -> None:
        address = f"{self._place}/part-{self._label}-{uuid4().hex}.jsonl.zst"
        try:
            size, digest = await asyncio.to_thread(_put, address, lines)
        except SpanielError as error:
            self._failed(str(error.details.get("reason", error.message)))
        else:
            self._wrote(Wrote(address, len(lines), size, digest), marks)


def _put(address: str, lines: list[bytes]) -> tuple[int, str]:
    data = packed(b"".join(lines))
    try:
        if "://" in address:
            with _fsspec(address).open(address, "wb") as file:
                file.write(data)
        else:
            os.makedirs(os.path.dirname(address), exist_ok=True)
            write_atomically(address, data, None, durable=True)
    except SpanielError:
        raise
    except Exception as error:  # noqa: BLE001  whatever a store far away raises: the run must hear of it
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        reason = f"{address} cannot be written: {why}"
        raise SpanielError(Code.BAD_ARGS, field="--parts", reason=reason) from None
    return len(data), sha256(data).hexdigest()


def _fsspec(address: str) -> Any:
    """The file system of an address."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        reason = f"{address} needs fsspec; install it, and what it needs for this kind of address, on every machine"
        raise SpanielError(Code.BAD_ARGS, field="--parts", reason=reason) from None
    return url_to_fs(address)[0]

"""The one writer of a run: a thread that appends records to the part and commits them, batch by batch."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from spaniel.batch.outputs.remote_parts import RemoteParts
from spaniel.batch.records import encode, line_of, tail_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spaniel.batch.journal import Journal
    from spaniel.batch.outputs.remote_parts import Wrote
    from spaniel.batch.ports import Item, Part, Record

BATCH = 64  # records, or
SECONDS = 1.0  # whichever comes first: what a kill may cost
MOST_BYTES = 32 << 20  # that wait to be written, before nobody is asked for more
_END = None


class Writer:
    """Takes records from the event loop's thread. `failed(error)` is called from the writer's own."""

    by_workers = False

    def __init__(
        self, part: Part, journal: Journal, failed: Callable[[Exception], object], beside: Part | None = None
    ) -> None:
        self._part, self._journal, self._failed, self._beside = part, journal, failed, beside
        self._queue: queue.SimpleQueue[tuple[list[int], bytes, bytes, Sequence[str]] | None] = queue.SimpleQueue()
        self._taken = self._given = 0  # bytes; each is written by one thread alone
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="spaniel batch writer", daemon=True)
        self._thread.start()

    def shared(self, record: Record) -> bytes:
        return tail_of(record)

    def put(self, item: Item, shared: bytes, captured: bytes = b"", failed: str = "") -> None:
        self._put([item.ordinal], line_of(item, shared), captured, (failed,) if failed else ())

    def put_part(self, part: Wrote, ordinals: list[int], failed: Sequence[str] = ()) -> None:
        """Where workers write parts, the output is the list of them."""
        self._put(ordinals, encode(part._asdict()) + b"\n", b"", failed)

    def _put(self, ordinals: list[int], line: bytes, captured: bytes, failed: Sequence[str]) -> None:
        self._given += len(line) + len(captured)
        self._queue.put((ordinals, line, captured, failed))

    @property
    def is_idle(self) -> bool:
        """What was put is committed by `close`."""
        return True

    @property
    def is_behind(self) -> bool:
        return self._given - self._taken > MOST_BYTES

    def close(self) -> None:
        """Commit what was put, and end."""
        self._queue.put(_END)
        self._thread.join()
        self._part.close()
        if self._beside is not None:
            self._beside.close()

    def _run(self) -> None:
        try:
            while self._write_batch():
                pass
        except Exception as error:  # noqa: BLE001  a full disk, above all; whatever it is, the run must hear of it
            self.error = error
            self._failed(error)

    def _write_batch(self) -> bool:
        """Whether more may come."""
        ordinals: list[int] = []
        failures: Counter[str] = Counter()
        until = None
        while len(ordinals) < BATCH:
            try:
                taken = self._queue.get(timeout=until and max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if taken is _END:
                self._commit(ordinals, failures)
                return False
            mine, line, captured, failed = taken
            self._part.append(line)
            if captured and self._beside is not None:
                self._beside.append(captured)
            self._taken += len(line) + len(captured)
            ordinals += mine
            failures.update(failed)
            until = until or time.monotonic() + SECONDS
        self._commit(ordinals, failures)
        return True

    def _commit(self, ordinals: list[int], failures: Counter[str]) -> None:
        if ordinals:
            beside = self._beside.sync() if self._beside is not None else 0
            self._journal.commit(self._part.sync(), ordinals, beside, failures)


class PartsWriter(Writer):
    """The writer of a run whose workers write parts: what no worker has fetched goes into parts of its own."""

    by_workers = True

    def __init__(self, place: str, part: Part, journal: Journal, failed: Callable[[Exception], object]) -> None:
        super().__init__(part, journal, failed)
        self._failed_here: dict[int, str] = {}  # by the ordinal, until the part is written
        self._own = RemoteParts(place, "coordinator", self._put_own, lambda why: failed(OSError(0, why)))

    @property
    def is_idle(self) -> bool:
        return self._own.is_idle

    def put(self, item: Item, shared: bytes, captured: bytes = b"", failed: str = "") -> None:  # noqa: ARG002  none here
        if failed:
            self._failed_here[item.ordinal] = failed
        self._own.add([line_of(item, shared)], item.ordinal)

    def _put_own(self, part: Wrote, ordinals: list[int]) -> None:
        failed = (self._failed_here.pop(ordinal, "") for ordinal in ordinals)
        self.put_part(part, ordinals, [code for code in failed if code])

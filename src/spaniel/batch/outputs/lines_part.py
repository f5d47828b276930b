"""The part that a run writes: lines of records, plain or compressed, that reach the disk batch by batch."""

from __future__ import annotations

import os

from spaniel.batch.outputs.part import Part

BUFFER = 1 << 20  # bytes that wait in memory at the most


class LinesPart:
    """Opened at a length: what a run that was killed had written behind it is cut off."""

    def __init__(self, path: str, length: int) -> None:
        self._part = Part.reopen(path, length) if os.path.lexists(path) else Part.create(path)
        self._held: list[bytes] = []
        self._size = 0

    def append(self, line: bytes) -> None:
        self._held.append(line)
        self._size += len(line)
        if self._size > BUFFER:
            self._flush()

    def sync(self) -> int:
        self._flush()
        self._part.sync()
        return self._part.offset

    def close(self) -> None:
        """Without what was not brought to the disk: it was not committed either."""
        self._part.close()

    def _flush(self) -> None:
        held, self._held, self._size = self._held, [], 0
        self._part.append(held)

"""Lines in the order of their ordinals, however many: sorted runs on disk, merged a bounded number at a time."""

from __future__ import annotations

import heapq
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from spaniel.batch.outputs.part import Part
from spaniel.batch.outputs.stored import Line, lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RUN_BYTES = 32 << 20  # of lines that are sorted in memory
FAN_IN = 64  # runs that are open at once
TOGETHER = 1 << 18  # bytes that are written at once


def in_order(found: Iterable[Line], folder: str, run_bytes: int = RUN_BYTES) -> Iterator[Line]:
    """The lines, sorted; runs are kept in `folder`, which is the caller's to remove."""
    runs = []
    for number, run in enumerate(_runs(found, run_bytes)):
        path = os.path.join(folder, f"run-{number}.jsonl.zst")
        _write(path, run)
        runs.append(path)
    level = 0
    while len(runs) > FAN_IN:
        level += 1
        runs = [_merged_run(runs[i : i + FAN_IN], folder, level, i) for i in range(0, len(runs), FAN_IN)]
    yield from _merged(runs)


def _runs(found: Iterable[Line], most: int) -> Iterator[list[Line]]:
    run: list[Line] = []
    size = 0
    for line in found:
        run.append(line)
        size += len(line.raw)
        if size >= most:
            yield sorted(run)
            run, size = [], 0
    if run:
        yield sorted(run)


def _merged_run(runs: list[str], folder: str, level: int, number: int) -> str:
    path = os.path.join(folder, f"run-{level}-{number}.jsonl.zst")
    _write(path, _merged(runs))
    for old in runs:
        os.unlink(old)
    return path


def _merged(runs: list[str]) -> Iterator[Line]:
    with ExitStack() as stack:
        streams = [lines(path) for path in runs]
        for stream in streams:
            stack.callback(stream.close)
        yield from heapq.merge(*streams)


def _write(path: str, found: Iterable[Line]) -> None:
    with Part.create(path) as part:
        held: list[bytes] = []
        size = 0
        for line in found:
            held.append(line.raw)
            size += len(line.raw)
            if size >= TOGETHER:
                part.append(held)
                held, size = [], 0
        part.append(held)

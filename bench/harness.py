"""One interleaved run: every contender in each round, in turn, and the median of the rounds."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

Case = Callable[[], object]


def interleave(
    cases: Mapping[str, Case], rounds: int = 7, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Median CPU seconds of each case; the order turns from round to round, so that no one always goes first."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            gc.collect()
            start = clock()
            cases[name]()
            taken[name].append(clock() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def process(command: Sequence[str]) -> Case:
    """A whole process as a case; time it with `child_cpu`. It has its byte code, as anything installed has."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment)


def child_cpu() -> float:
    """CPU seconds of all finished children: steadier than wall time on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def wanted(name: str, value: float, least: float | None = None, most: float | None = None) -> None:
    """A figure beside what is wanted of it."""
    if least is not None:
        print(f"  {name}: {value:.2f} (wanted: at least {least}) {'reached' if value >= least else 'NOT reached'}")
    if most is not None:
        print(f"  {name}: {value:.2f} (wanted: at most {most}) {'reached' if value <= most else 'NOT reached'}")

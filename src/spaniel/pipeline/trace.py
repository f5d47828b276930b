"""The steps of a fetch: the list that `--explain` prints and progress callbacks get."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable


class TraceStep(NamedTuple):
    """One step: its name in the SRD's diagram, its outcome, its time, and what it was about."""

    name: str
    outcome: str
    ms: float
    url: str = ""  # without its query, as in the log
    attempt: int = 0  # number of the fallback attempt, from 1; 0 before and after
    hop: int = 0  # redirects followed so far


class Trace:
    """The steps of one fetch in the order in which they ended; `watch` gets each as it ends."""

    def __init__(self, watch: Callable[[TraceStep], None] | None = None) -> None:
        self.steps: list[TraceStep] = []
        self._watchers = [watch] if watch else []

    def step(self, name: str, url: str = "", attempt: int = 0, hop: int = 0) -> Step:
        """Time the block; an error's code is its outcome."""
        return Step(self, name, url, attempt, hop)

    def add(self, step: TraceStep) -> None:
        self.steps.append(step)
        for watch in self._watchers:
            watch(step)

    def feed(self, other: Trace) -> None:
        """Send the steps so far, and those to come, to another trace."""
        for step in self.steps:
            other.add(step)
        self._watchers.append(other.add)

    def leave(self, other: Trace) -> None:
        self._watchers.remove(other.add)


class Step:
    """A running step: `text` is its outcome, `ok` unless set.

    A class: a generator made into a context manager takes three times as long, and a fetch has a dozen steps.
    """

    __slots__ = ("_about", "_name", "_start", "_trace", "text")

    def __init__(self, trace: Trace, name: str, url: str, attempt: int, hop: int) -> None:
        self._trace = trace
        self._name = name
        self._about = url, attempt, hop
        self._start = 0.0
        self.text = "ok"

    def __enter__(self) -> Step:
        self._start = time.perf_counter()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, SpanielError):
            self.text = str(error.code)
        elif error is not None:
            self.text = type(error).__name__
        ms = (time.perf_counter() - self._start) * 1000
        self._trace.add(TraceStep(self._name, self.text, round(ms, 3), *self._about))

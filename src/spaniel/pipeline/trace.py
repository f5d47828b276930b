"""What a fetch did, step by step: the same list that `--explain` draws and the stream sends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable


class TraceStep(NamedTuple):
    """One step: its name in the SRD's diagram, how it ended, how long it took."""

    name: str
    outcome: str
    ms: float


class Trace:
    """The steps of one fetch, in the order in which they ended; `watch` is told of each as it does."""

    def __init__(self, watch: Callable[[TraceStep], None] | None = None) -> None:
        self.steps: list[TraceStep] = []
        self._watch = watch

    def step(self, name: str) -> Step:
        """Time what is done inside; an error's code is its outcome."""
        return Step(name, self)

    def add(self, step: TraceStep) -> None:
        self.steps.append(step)
        if self._watch is not None:
            self._watch(step)


class Step:
    """A step under way: `text` is how it ends, `ok` unless somebody says otherwise.

    A class: a generator made into a context manager takes three times as long, and a fetch has a dozen steps.
    """

    __slots__ = ("_name", "_start", "_trace", "text")

    def __init__(self, name: str, trace: Trace) -> None:
        self._name = name
        self._trace = trace
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
        self._trace.add(TraceStep(self._name, self.text, round(ms, 3)))

"""What a fetch did, step by step: the same list that `--explain` draws and the stream sends."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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

    @contextmanager
    def step(self, name: str) -> Iterator[Outcome]:
        """Time what is done inside; an error's code is its outcome."""
        outcome = Outcome()
        start = time.perf_counter()
        try:
            yield outcome
        except SpanielError as error:
            outcome.text = str(error.code)
            raise
        finally:
            self._add(TraceStep(name, outcome.text, round((time.perf_counter() - start) * 1000, 3)))

    def _add(self, step: TraceStep) -> None:
        self.steps.append(step)
        if self._watch is not None:
            self._watch(step)


class Outcome:
    """How a step ends; `ok` unless somebody says otherwise."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = "ok"

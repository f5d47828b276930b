"""Optional steps of reading: one that raises is skipped, and the page is read without it (D2-41)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")


MAX_FAILURES = 20  # failures that are recorded of one page


class OptionalSteps:
    """Runs the optional steps of one page, and records which of them failed.

    Reading is pure, so nothing is logged here: the pipeline logs `Document.failures`.
    """

    def __init__(self) -> None:
        self.failures: list[str] = []

    def run(self, name: str, step: Callable[[], T], otherwise: T, undo: Callable[[], None] | None = None) -> T:
        """Return the result of the step; if it raises, call `undo` and return `otherwise`."""
        try:
            return step()
        except MemoryError:  # the next step would not have more
            raise
        except Exception as error:  # noqa: BLE001 - a failing optional step must not fail the page
            if len(self.failures) < MAX_FAILURES:
                self.failures.append(f"{name}: {type(error).__name__}{_place(error)}")
        if undo is not None:
            undo()
        return otherwise


def _place(error: Exception) -> str:
    """Return where it was raised, but not the message, which may quote the page."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f" in {file}:{trace.tb_lineno}"

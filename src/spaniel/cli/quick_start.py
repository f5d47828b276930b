"""What a process that is ours alone may leave undone to start sooner."""

from __future__ import annotations

import gc


def leave_garbage() -> None:
    """Loading modules makes little garbage, and looking for it takes a tenth of the start."""
    gc.disable()


def collect_again() -> None:
    """What is loaded by now stays: it need not be looked at any more."""
    gc.freeze()
    gc.enable()

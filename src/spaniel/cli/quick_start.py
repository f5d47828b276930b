"""What a process that is ours alone may leave undone to start sooner."""

from __future__ import annotations

import gc


def leave_garbage() -> None:
    """Loading modules makes little garbage, and looking for it takes a tenth of the start."""
    gc.disable()


def collect_rarely() -> None:
    """For many small things that live shortly and refer to one another in no circle: looking for garbage among them
    every 700 takes a twentieth of the time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def collect_again() -> None:
    """What is loaded by now stays: it need not be looked at any more."""
    gc.freeze()
    gc.enable()

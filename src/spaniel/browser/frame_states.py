"""What the page's main frame is doing, as a table: a state, an event, the next state.

An event that is not in the row of a state changes nothing: Chromium tells of more than matters, and pages make it tell.
"""

from __future__ import annotations

from enum import Enum, auto


class FrameState(Enum):
    """From the blank page to the one that is read."""

    BLANK = auto()  # nothing has been asked for
    COMING = auto()  # the first document is on its way
    PARSING = auto()  # a document is shown, and still being parsed
    READY = auto()  # a document is shown that is parsed, or will be parsed no further
    LEAVING = auto()  # a document is shown, and another is on its way


class FrameEvent(Enum):
    """What may happen to the main frame."""

    ADMITTED = auto()  # a document is asked for, and was let through: the first, a redirect, or where a script goes
    COMMITTED = auto()  # a document of the web has taken the frame
    PARSED = auto()  # DOMContentLoaded
    ENDED = auto()  # nothing more is loaded: a script stopped it, the connection broke, or the way led nowhere
    STAYED = auto()  # where the page wanted to go is a file, nothing (204), or not allowed


TABLE: dict[FrameState, dict[FrameEvent, FrameState]] = {
    FrameState.BLANK: {FrameEvent.ADMITTED: FrameState.COMING, FrameEvent.COMMITTED: FrameState.PARSING},
    FrameState.COMING: {FrameEvent.ADMITTED: FrameState.COMING, FrameEvent.COMMITTED: FrameState.PARSING},
    FrameState.PARSING: {
        FrameEvent.PARSED: FrameState.READY,
        FrameEvent.ENDED: FrameState.READY,  # window.stop(), mailto:, a document cut off: no DOMContentLoaded will come
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
    },
    FrameState.READY: {
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
    },
    FrameState.LEAVING: {
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
        FrameEvent.STAYED: FrameState.PARSING,  # its parser may go on, or may have been stopped: what comes next tells
        FrameEvent.ENDED: FrameState.READY,
    },
}  # fmt: skip


def after(state: FrameState, event: FrameEvent) -> FrameState:
    return TABLE[state].get(event, state)

"""What the page's main frame is doing, as a table: a state, an event, the next state.

An event that is not in the row of a state changes nothing: Chromium tells of more than matters, and pages make it tell.
"""

from __future__ import annotations

from enum import Enum, auto


class State(Enum):
    """From the blank page to the one that is read."""

    BLANK = auto()  # nothing has been asked for
    COMING = auto()  # the first document is on its way
    PARSING = auto()  # a document is shown, and still being parsed
    READY = auto()  # a document is shown that is parsed, or will be parsed no further
    LEAVING = auto()  # a document is shown, and another is on its way


class Event(Enum):
    """What may happen to the main frame."""

    ADMITTED = auto()  # a document is asked for, and was let through: the first, a redirect, or where a script goes
    COMMITTED = auto()  # a document of the web has taken the frame
    PARSED = auto()  # DOMContentLoaded
    ENDED = auto()  # nothing more is loaded: a script stopped it, the connection broke, or the way led nowhere
    STAYED = auto()  # where the page wanted to go is a file, nothing (204), or not allowed


TABLE: dict[State, dict[Event, State]] = {
    State.BLANK: {Event.ADMITTED: State.COMING, Event.COMMITTED: State.PARSING},
    State.COMING: {Event.ADMITTED: State.COMING, Event.COMMITTED: State.PARSING},
    State.PARSING: {
        Event.PARSED: State.READY,
        Event.ENDED: State.READY,  # window.stop(), mailto:, a document cut off: no DOMContentLoaded will come
        Event.ADMITTED: State.LEAVING,
        Event.COMMITTED: State.PARSING,
    },
    State.READY: {
        Event.ADMITTED: State.LEAVING,
        Event.COMMITTED: State.PARSING,
    },
    State.LEAVING: {
        Event.ADMITTED: State.LEAVING,
        Event.COMMITTED: State.PARSING,
        Event.STAYED: State.PARSING,  # its parser may go on, or may have been stopped: what comes next tells
        Event.ENDED: State.READY,
    },
}  # fmt: skip


def after(state: State, event: Event) -> State:
    return TABLE[state].get(event, state)

"""Logs: structured, on standard error, and safe to print (FR-WF-19b, FR-WF-19c, NFR-WF-SEC-06)."""

from __future__ import annotations

import json
import logging
import os
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

from spaniel.errors import Code, SpanielError, shown

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
OFF = logging.CRITICAL + 10
trace_parent: ContextVar[str] = ContextVar("trace_parent", default="")  # the `traceparent` of the request being served
NEVER_HIDDEN = "spaniel.protection"  # the guard's warning that some protection is off


class _Lines(logging.Formatter):
    """One line a record. Every value is escaped here."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = getattr(record, "fields", {})
        safe = {name: shown(value) if isinstance(value, str) else value for name, value in fields.items()}
        event = shown(record.getMessage())
        if record.exc_info and record.exc_info[0]:
            safe["exception"] = record.exc_info[0].__name__
        if parent := trace_parent.get():
            safe["traceparent"] = parent
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        level = record.levelname.lower()
        if self._as_json:
            return json.dumps({"time": moment, "level": level, "event": event, **safe}, ensure_ascii=False, default=str)
        pairs = " ".join(f"{name}={value}" for name, value in safe.items())
        return f"{moment[11:23]} {level:7} {event} {pairs}".rstrip()


def configure(verbose: int = 0, quiet: bool = False, stream: TextIO | None = None) -> None:
    """Send Spaniel's log to standard error: JSON for programs, plain lines on a terminal.

    The level is `warning`, or that of `SPANIEL_LOG` (debug, info, warning, error, off), or that of the options.
    Disabled protection is logged at any level.
    """
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines(as_json=not stream.isatty()))
    logger = logging.getLogger("spaniel")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(_level(verbose, quiet))
    logging.getLogger(NEVER_HIDDEN).setLevel(logging.WARNING)


def _level(verbose: int, quiet: bool) -> int:
    if quiet:
        return logging.ERROR
    if verbose:
        return logging.INFO if verbose == 1 else logging.DEBUG
    named = os.environ.get("SPANIEL_LOG", "warning").lower()
    if named != "off" and named not in LEVELS:
        reason = f"'{named}' is not one of {', '.join(LEVELS)}, off"
        raise SpanielError(Code.BAD_ARGS, field="SPANIEL_LOG", reason=reason)
    return LEVELS.get(named, OFF)

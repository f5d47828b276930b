"""The record of a URL: the one place where a batch knows what a record holds.

What differs between two spellings of one page (its place in the input, the URL as it was asked for, the columns beside
it) comes first in the line; the rest is made once and shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from spaniel.batch.planning import HAD_CREDENTIALS
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.fallbacks import HTTP_ONLY
from spaniel.pipeline.outcome import CREDENTIALS_DROPPED, NO_TEXT, Outcome
from spaniel.pipeline.record import record_of as full_record
from spaniel.url.canonical import CREDENTIALS_WARNING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.pipeline.record import Extraction
    from spaniel.runs.store import Item

Record = Mapping[str, object]
Fetch = Callable[[str], Awaitable[Record]]
"""The record of a URL, however its fetch ended."""

_OWN = "requested_url"
encode = msgspec.json.Encoder().encode


class Ending(NamedTuple):
    """How a fetch ended, as far as the frontier cares."""

    code: str = ""  # empty: the page came, with text; else why not, in one word
    status: int = 0  # of the last answer; 0: there was none
    http_only: bool = False  # the page came over plain HTTP, since the host has no HTTPS


def record_of(outcome: Outcome) -> Record:
    """The record of an outcome: the one of ingestion, field by field."""
    return msgspec.structs.asdict(full_record(outcome))


def refused(url: str | None, error: SpanielError) -> Record:
    """The record of a URL that was not fetched, for a reason; None: it is not a URL."""
    return record_of(Outcome(url or "", url, refusal=error))


def unexpected(error: Exception) -> SpanielError:
    """A bug, as an error of the page that it came up with."""
    return SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}")


def refusal_of(reason: Mapping[str, Any] | None) -> SpanielError:
    """Why a line of the input is not a URL, as found when the plan was made."""
    found = reason or {}
    return SpanielError(Code(found["code"]), **found.get("details", {}))


def ending_of(record: Record) -> Ending:
    status = cast("Extraction", record["extraction"]).status or 0
    error = cast("Mapping[str, object] | None", record.get("error"))
    if not error:
        no_text = NO_TEXT if NO_TEXT in cast("Sequence[str]", record.get("caveats") or ()) else ""
        http_only = HTTP_ONLY in cast("Sequence[str]", record.get("caveats") or ())
        return Ending(cast("str | None", record.get("page_type")) or no_text, status, http_only)
    return Ending(str(error["code"]), status)


def tail_of(record: Record) -> bytes:
    """What all spellings of a page share, as JSON."""
    return encode({name: value for name, value in record.items() if name != _OWN})


def line_of(item: Item, tail: bytes) -> bytes:
    """The line of one URL of the input."""
    columns = dict(item.columns)
    if columns.pop(HAD_CREDENTIALS, False):
        tail = _warned(tail)
    own = {"ordinal": item.ordinal, _OWN: item.raw, "columns": columns}
    return encode(own)[:-1] + b"," + tail[1:] + b"\n"


def _warned(tail: bytes) -> bytes:
    """The rest of a record whose URL was written with credentials: those of its other spellings were not (FG-03)."""
    shared = msgspec.json.decode(tail)
    shared["warnings"] = list(dict.fromkeys([*shared["warnings"], CREDENTIALS_WARNING]))
    shared["caveats"] = list(dict.fromkeys([*shared["caveats"], CREDENTIALS_DROPPED]))
    return encode(shared)

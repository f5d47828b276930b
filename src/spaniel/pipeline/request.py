"""What may be asked for: the request schema of the tool, strictly (FR-WF-02)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.tables import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_CHUNK_TOKENS, MOST_CHUNK_TOKENS = 128, 2048

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1, "description": "The http(s) URL to fetch"},
        "max_chunk_tokens": {
            "type": "integer",
            "minimum": LEAST_CHUNK_TOKENS,
            "maximum": MOST_CHUNK_TOKENS,
            "description": "Largest chunk, in cl100k_base tokens",
        },
        "no_cache": {"type": "boolean", "default": False, "description": "Fetch afresh even if a copy is cached"},
        "force_browser": {"type": "boolean", "default": False, "description": "Render in a headless browser"},
    },
    "required": ["url"],
    "additionalProperties": False,
}


class Request(NamedTuple):
    """A checked request."""

    url: str
    max_chunk_tokens: int | None = None  # None: the settings' default
    no_cache: bool = False
    force_browser: bool = False
    picture: bool = False  # a PNG of the page besides: it is rendered afresh; not for a model to ask


def read_request(args: Mapping[str, object]) -> Request:
    """A request from a tool call's arguments; the first thing that is wrong with them is `bad_args`."""
    known = ("url", "max_chunk_tokens", "no_cache", "force_browser")
    for name in args:
        if name not in known:
            raise bad(name, f"there is no such parameter; {nearest(str(name), known)}")
    url = args.get("url")
    if not isinstance(url, str):
        raise bad("url", "is missing" if url is None else "must be text")
    request = Request(
        url,
        _tokens(args.get("max_chunk_tokens")),
        _truth("no_cache", args.get("no_cache", False)),
        _truth("force_browser", args.get("force_browser", False)),
    )
    return checked(request)


def checked(request: Request) -> Request:
    """The bounds of FR-WF-02a and 02b, for requests made in Python too."""
    if not isinstance(request.url, str):
        raise bad("url", f"must be text, not {type(request.url).__name__}")
    if not request.url.strip():
        raise bad("url", "is empty")
    tokens = _tokens(request.max_chunk_tokens)
    if tokens is not None and not LEAST_CHUNK_TOKENS <= tokens <= MOST_CHUNK_TOKENS:
        raise bad("max_chunk_tokens", f"{tokens} is not between {LEAST_CHUNK_TOKENS} and {MOST_CHUNK_TOKENS}")
    return request


def _tokens(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise bad("max_chunk_tokens", "must be a whole number")


def _truth(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise bad(name, "must be true or false")


def bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)

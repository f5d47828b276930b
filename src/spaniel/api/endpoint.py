"""What the handlers of all APIs share: an endpoint with its description, bodies in, JSON and events out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from spaniel.api.errors import ApiError, bad_argument, error_fields

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request as HttpRequest

    from spaniel.errors import SpanielError

    Handler = Callable[[HttpRequest], Awaitable[Response]]

B = TypeVar("B")
HEARTBEAT_SECONDS = 15.0  # between comments in an event stream, so that proxies keep it open
MOST_EVENTS = 1_000  # that wait for a slow reader; then its stream ends
_encode = msgspec.json.Encoder().encode


class Endpoint(NamedTuple):
    """One path of the service. The routes and /openapi.json are both made from these."""

    method: str
    path: str  # with {names}, and {name:path} for the rest of a path
    handler: Handler
    summary: str
    tag: str = "Spaniel"
    body: type | Mapping[str, object] | None = None  # a msgspec type, or a JSON Schema
    query: Mapping[str, Mapping[str, object]] | None = None
    answers: Mapping[int, Mapping[str, object]] | None = None  # schemas by status; 200 if not given
    content_type: str = "application/json"


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encode(value), status, dict(headers or {}), "application/json")


def text_response(text: str, kind: str = "text/plain", status: int = 200) -> Response:
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type=f"{kind}; charset=utf-8")


async def json_object(request: HttpRequest) -> dict[str, Any]:
    """The body as a JSON object."""
    raw = await request.body()
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_argument("body", f"is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise bad_argument("body", "must be a JSON object")
    return value


async def typed_body(request: HttpRequest, kind: type[B]) -> B:
    """The body as a msgspec type, checked strictly."""
    raw = await request.body()
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        field, reason = _about(str(error))
        raise bad_argument(field, reason) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise bad_argument("body", f"is not JSON: {error}") from None


def _about(message: str) -> tuple[str, str]:
    """The field and the reason of a message such as "Expected `str`, got `int` - at `$.url`"."""
    reason, _, place = message.partition(" - at `$.")
    return (place.rstrip("`") or "body").split(" ")[0], reason


def query_text(request: HttpRequest, name: str) -> str:
    values = request.query_params.getlist(name)
    if len(values) != 1 or not values[0]:
        raise bad_argument(name, "must be given once")
    return values[0]


def query_number(request: HttpRequest, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise bad_argument(name, f"must be a whole number from {low} to {high}")
    return int(text)


class EventQueue:
    """Events for one stream, put from anywhere in the loop. A reader that is too slow loses the stream, not memory."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue(MOST_EVENTS)
        self._is_full = False

    def put(self, name: str, value: object) -> None:
        try:
            self._queue.put_nowait((name, value))
        except asyncio.QueueFull:
            self._is_full = True

    def close(self) -> None:
        with suppress(asyncio.QueueFull):
            self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[tuple[str, object]]:
        while not (self._is_full and self._queue.empty()):
            found = await self._queue.get()
            if found is None:
                return
            yield found


def event(name: str, value: object, number: int | None = None) -> bytes:
    """One server-sent event. JSON has no line breaks, so it is one `data:` line."""
    head = b"" if number is None else b"id: %d\n" % number
    return b"".join((head, b"event: ", name.encode(), b"\ndata: ", _encode(value), b"\n\n"))


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_with_heartbeat(events), headers=headers, media_type="text/event-stream")


async def _with_heartbeat(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The events, and a comment where there is none for a while."""
    source = events.__aiter__()
    following = asyncio.ensure_future(anext(source, None))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=HEARTBEAT_SECONDS)
            if not done:
                yield b": still here\n\n"
                continue
            if (found := following.result()) is None:
                return
            yield found
            following = asyncio.ensure_future(anext(source, None))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def error_event(error: ApiError | SpanielError) -> bytes:
    return event("error", error_fields(error))

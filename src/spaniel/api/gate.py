"""The outermost layer of the service: every request passes it before any handler runs.

It checks where a request comes from, who sent it and how much they may do; reads the body up to its limit; stops the
handler when the client leaves; and puts the same security headers on every response.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import ClientDisconnect

from spaniel.api.errors import ApiError, body_too_large, error_fields, headers_of, status_of
from spaniel.app.logs import trace_parent
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from spaniel.api.access import Access, Caller, Limits
    from spaniel.api.metrics import Metrics

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("spaniel.api")
BODY_SECONDS = 30.0  # for the whole body of a request
SEND_SECONDS = 60.0  # for a client to take a part of the response; then its connection is closed
PIECE_BYTES = 1 << 18  # of a body, written at once
FETCH = "/api/fetch"
OPEN_TO_ALL = ("/healthz", "/readyz")  # for probes, which have no token
STREAMS = ("/api/fetch/stream",)  # and the events of jobs
TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]
CSP = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
NO_STORE = (b"cache-control", b"no-store")


class Gate:
    """The ASGI application around the one that routes."""

    def __init__(  # noqa: PLR0913  the parts of one server
        self,
        app: Application,
        access: Access,
        limits: Limits,
        metrics: Metrics,
        *,
        max_body: int,
        recent: Callable[[bytes, Caller], bytes | None],
        is_streamed: Callable[[Scope], int],
    ) -> None:
        """`recent` answers what was asked for a moment ago, without a handler.

        `is_streamed` returns the size up to which a handler reads the body itself; 0: the gate reads it."""
        self._app, self._access, self._limits, self._metrics = app, access, limits, metrics
        self._max_body, self._recent, self._is_streamed = max_body, recent, is_streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:  # no WebSockets
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = _Call(scope, send)
        began = time.perf_counter()
        self._metrics.begin()
        try:
            await self._admit(call, receive)
        except (ApiError, SpanielError) as error:
            await call.refuse(error)
        except (_ClientLeftError, ClientDisconnect):
            call.status = 499  # as nginx logs it; nothing is sent
        except Exception as error:  # one request must not end the server
            log.exception("a request failed unexpectedly")
            await call.refuse(SpanielError(Code.INTERNAL, error=type(error).__name__))
        finally:
            self._metrics.end(call.route, scope["method"], call.status, time.perf_counter() - began)
            call.log(time.perf_counter() - began)

    async def _admit(self, call: _Call, receive: Receive) -> None:
        scope, headers = call.scope, call.headers
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:
            raise SpanielError(Code.BAD_ARGS, field="Host", reason="must be sent exactly once")
        self._access.check_host(headers["host"])
        path = scope["path"]
        if path in OPEN_TO_ALL:
            await self._app(scope, receive, call.send)
            return
        opens_page = path == "/" and scope["method"] in ("GET", "HEAD")
        self._access.check_origin(headers, opens_page=opens_page)
        peer = scope["client"][0] if scope.get("client") else ""
        address = self._access.address(peer, headers.get("x-forwarded-for", ""))
        call.caller = caller = self._access.caller(headers.get("authorization", ""), address)
        scope["state"]["caller"] = caller
        is_stream = path in STREAMS or (path.startswith("/api/jobs/") and path.endswith("/events"))
        async with self._limits.admit(caller, counts=not is_stream):
            if most := self._is_streamed(scope):
                await self._app(scope, _bounded(receive, most), call.send)
                return
            body = await self._read(headers, receive)
            if path == FETCH and scope["method"] == "POST" and (known := self._recent(body, caller)) is not None:
                scope["state"]["route"] = FETCH
                await call.answer(known)
                return
            await self._run(scope, body, receive, call)

    async def _read(self, headers: dict[str, str], receive: Receive) -> bytes:
        """The body. Raising from `receive` would end as a 500, so it is read before the handler starts."""
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self._max_body:
            raise body_too_large(self._max_body)
        parts, size = [], 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _ClientLeftError
                    if part := message.get("body", b""):
                        size += len(part)
                        if size > self._max_body:
                            raise body_too_large(self._max_body)
                        parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise ApiError("request_timeout") from None

    async def _run(self, scope: Scope, body: bytes, receive: Receive, call: _Call) -> None:
        """Run the handler; a client that leaves cancels it."""
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            return await asyncio.shield(gone)

        gone = asyncio.ensure_future(receive())
        handler = asyncio.ensure_future(self._app(scope, replay, call.send))
        try:
            await asyncio.wait({handler, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not handler.done():
                if not call.is_whole:
                    raise _ClientLeftError
                await asyncio.wait({handler})  # `receive` also returns once the response is whole
            handler.result()
        finally:
            gone.cancel()
            if not handler.done():
                handler.cancel()
                await asyncio.gather(handler, return_exceptions=True)


class _ClientLeftError(Exception):
    """The client closed its connection."""


class _Call:
    """One request, and what was answered."""

    __slots__ = ("caller", "headers", "is_begun", "is_whole", "scope", "sender", "status")

    def __init__(self, scope: Scope, sender: Send) -> None:
        self.scope, self.sender = scope, sender
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.caller: Caller | None = None
        self.status, self.is_begun, self.is_whole = 0, False, False
        scope.setdefault("state", {})
        parent = self.headers.get("traceparent", "")
        trace_parent.set(parent if TRACE_PARENT.match(parent) else "")

    @property
    def route(self) -> str:
        """The path as a template: a path may hold another site's address, with secrets in its query."""
        return str(self.scope["state"].get("route", "")) or "other"

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_begun, self.status = True, message["status"]
            given = {name for name, _ in message["headers"]}
            more = [header for header in (*HEADERS, CSP, NO_STORE) if header[0] not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        body: bytes = message.get("body", b"")
        start = 0
        while len(body) - start > PIECE_BYTES:  # each waits for the one before, so that a slow reader holds no buffer
            await self._send({**message, "body": body[start : start + PIECE_BYTES], "more_body": True})
            start += PIECE_BYTES
        await self._send({**message, "body": body[start:]} if start else message)
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def _send(self, message: Message) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self.sender(message)
        except TimeoutError:
            raise _ClientLeftError from None

    async def answer(self, body: bytes) -> None:
        """Send a whole answer in JSON."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, error: ApiError | SpanielError) -> None:
        if self.is_begun:  # the response is cut off: the connection is closed by the server
            return
        status, content = shaped(error, self.scope["path"])
        body = msgspec.json.encode(content)
        headers = {"content-type": "application/json", "content-length": str(len(body)), **headers_of(error)}
        raw = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        if status in (408, 413):
            raw.append((b"connection", b"close"))  # the rest of the body is not read
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})

    def log(self, seconds: float) -> None:
        if log.isEnabledFor(logging.INFO):
            fields = {
                "method": self.scope["method"],
                "route": self.route,
                "status": self.status,
                "ms": round(seconds * 1000),
                "caller": self.caller.name if self.caller else None,
            }
            log.info("request", extra={"fields": fields})


def shaped(error: ApiError | SpanielError, path: str) -> tuple[int, object]:
    """Status and body of an error in the form of the API that the path belongs to."""
    if path.startswith(("/v1/", "/v2/")):
        from spaniel.api.firecrawl import error_body

        return error_body(error)
    if path.startswith(("/http:", "/https:")):
        from spaniel.api.jina import error_body as jina_body

        return jina_body(error)
    if path == "/extract":
        return status_of(error), {"detail": {"error": error_fields(error)["message"]}, "error": error_fields(error)}
    return status_of(error), {"error": error_fields(error)}


def _bounded(receive: Receive, most: int) -> Receive:
    """The messages of a body that a handler reads itself; `body_too_large` once it is longer than allowed."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            if size > most:
                raise body_too_large(most)
        return message

    return bounded

"""The application: every endpoint, behind the gate."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, NoMatchFound, Route

from spaniel.api import firecrawl, jina, jobs_api, own, tavily
from spaniel.api.access import Access, Limits
from spaniel.api.endpoint import Endpoint, json_response
from spaniel.api.errors import ApiError, headers_of, not_found
from spaniel.api.gate import Gate, shaped
from spaniel.api.jobs import Jobs
from spaniel.api.metrics import Metrics
from spaniel.api.openapi import openapi, reference
from spaniel.api.recent_answers import RecentAnswers
from spaniel.api.service import Service
from spaniel.app.serving import tokens
from spaniel.clock import SystemClock
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from spaniel.api.mcp_http import McpEndpoint
    from spaniel.app.serving import ServeSettings
    from spaniel.app.settings import Settings
    from spaniel.net.resolver import Resolver

ENDPOINTS = (
    *own.ENDPOINTS,
    *jobs_api.ENDPOINTS,
    *firecrawl.ENDPOINTS,
    *tavily.ENDPOINTS,
    Endpoint("GET", "/openapi.json", openapi, "This description", tag="Server"),
    Endpoint("GET", "/", reference, "The endpoints as a page", tag="Server", content_type="text/html"),
)
# `GET /https://example.com/a?b=c`. Some proxies fold the two slashes into one.
ADDRESS = re.compile(rb"/(https?:/{1,2}.*)\Z", re.IGNORECASE | re.DOTALL)


class _Named(Route):
    """A route that notes its template, for metrics and the log."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["route"] = self.path
        await super().handle(scope, receive, send)


class _AddressRoute(BaseRoute):
    """`GET /https://…`: the rest of the request line is the URL of a page, as it was sent."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and ADDRESS.match(scope.get("raw_path") or scope["path"].encode()):
            return Match.FULL, {}
        return Match.NONE, {}

    def url_path_for(self, name: str, /, **_: Any) -> Any:
        raise NoMatchFound(name, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request

        scope["state"]["route"] = "/{url}"
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        response = await jina.read_address(Request(scope, receive))
        await response(scope, receive, send)


def build(
    settings: Settings, own_settings: ServeSettings, *, workers: int = 1, resolver: Resolver | None = None
) -> Gate:
    """The whole service as an ASGI application."""
    metrics = Metrics()
    service = Service(settings, own_settings, metrics, resolver)
    named = tokens(settings, own_settings.limits)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            app.state.jobs = await stack.enter_async_context(Jobs(service))
            if mcp is not None:
                await stack.enter_async_context(mcp)
            yield

    mcp = _mcp(service, stateless=workers > 1)
    routes: list[BaseRoute] = [_AddressRoute()]
    routes += [_Named(each.path, each.handler, methods=[each.method]) for each in ENDPOINTS]
    routes.append(_Named("/", jina.read_posted, methods=["POST"]))
    if mcp is not None:
        routes.append(_Named("/mcp", mcp, methods=["GET", "POST", "DELETE"]))
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: _error, ApiError: _error, SpanielError: _error},
    )
    app.router.redirect_slashes = False
    app.state.service, app.state.endpoints = service, ENDPOINTS
    app.state.recent = recent = RecentAnswers(service)
    return Gate(
        app,
        Access(own_settings, named),
        Limits(SystemClock()),
        metrics,
        max_body=own_settings.max_body_bytes,
        recent=recent.get,
        is_streamed=lambda scope: own_settings.max_list_bytes if jobs_api.is_upload(scope) else 0,
    )


def _mcp(service: Service, *, stateless: bool) -> Any:
    """MCP, if its SDK is installed: it is an extra of its own."""
    from importlib.util import find_spec

    return None if find_spec("mcp") is None else _LazyMcp(service, stateless=stateless)


class _LazyMcp:
    """MCP from its first request on: importing its SDK takes a second."""

    def __init__(self, service: Service, *, stateless: bool) -> None:
        self._service, self._stateless = service, stateless
        self._wanted, self._closing = asyncio.Event(), asyncio.Event()
        self._endpoint: asyncio.Future[McpEndpoint] | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._endpoint = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(self._endpoint))

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        self._wanted.set()
        if self._keeper is not None:
            await asyncio.gather(self._keeper, return_exceptions=True)

    async def _keep(self, endpoint: asyncio.Future[McpEndpoint]) -> None:
        """Open it and close it in one task, as its task group demands."""
        await self._wanted.wait()
        if self._closing.is_set():
            return
        try:
            module = await asyncio.to_thread(import_module, "spaniel.api.mcp_http")
            mcp: McpEndpoint = module.McpEndpoint(self._service, stateless=self._stateless)
            async with mcp.run():
                endpoint.set_result(mcp)
                await self._closing.wait()
        except Exception as error:
            if endpoint.done():
                raise
            endpoint.set_exception(error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        assert self._endpoint is not None  # noqa: S101  the application has started
        endpoint = await asyncio.shield(self._endpoint)
        await endpoint(scope, receive, send)


async def _error(request: HttpRequest, error: Exception) -> Response:
    """An error in the form of the API that was called."""
    if isinstance(error, HTTPException):
        if error.status_code == 405:
            error = ApiError("method_not_allowed", hint="See /openapi.json.", headers=error.headers)
        else:
            error = not_found()
    assert isinstance(error, ApiError | SpanielError)  # noqa: S101  it is registered for these
    status, content = shaped(error, request.scope["path"])
    return json_response(content, status, headers_of(error))

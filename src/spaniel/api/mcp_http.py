"""MCP over streamable HTTP at `/mcp`: the same tools as `spaniel mcp`, for many clients."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from spaniel.mcp.server import Handlers, build
from spaniel.tool.registry import build_registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from spaniel.api.access import Caller
    from spaniel.api.gate import Receive, Scope, Send
    from spaniel.api.service import Service

MOST_SESSIONS = 1_000  # whose pages are listed as resources; the oldest are forgotten


class McpEndpoint:
    """An ASGI application behind the gate, which has checked Host, Origin and the token."""

    def __init__(self, service: Service, *, stateless: bool) -> None:
        """`stateless`: with several workers, since a session lives in one of them."""
        sessions = _Sessions(service)
        self._manager = StreamableHTTPSessionManager(
            build(sessions),  # type: ignore[arg-type]
            stateless=stateless,
            max_request_body_size=service.own.max_body_bytes,
            max_sessions=MOST_SESSIONS,
        )
        self.run = self._manager.run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        # A session belongs to the caller that opened it: the SDK compares these.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))
        await self._manager.handle_request(scope, receive, send)


class _Sessions:
    """The handlers of each session: one client never sees the pages of another.

    Where the protocol has no sessions (2026-07-28), a client is known by its token or its address.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: OrderedDict[tuple[str, str], Handlers] = OrderedDict()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """One of the methods of `Handlers`."""
        if name not in ("list_tools", "call_tool", "list_resources", "list_templates", "read_resource"):
            raise AttributeError(name)

        async def handle(ctx: ServerRequestContext[Any], params: Any) -> Any:
            return await getattr(self._of(ctx), name)(ctx, params)

        return handle

    def _of(self, ctx: ServerRequestContext[Any]) -> Handlers:
        request = ctx.request
        caller: Caller = request.scope["state"]["caller"]  # type: ignore[union-attr]
        session: str = request.headers.get("mcp-session-id", "")  # type: ignore[union-attr]
        key = caller.name, session
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(caller)
            if len(self._known) > MOST_SESSIONS:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return found

    def _new(self, caller: Caller) -> Handlers:
        service, profile = self._service, "web_fetch"
        client = service.client(profile if profile in service.own.profiles else None)
        session = service.session(caller, client.profile.name)
        registry = build_registry(client, service.settings.tool.opted_in(), session)
        return Handlers(client, registry, service.settings.mcp)

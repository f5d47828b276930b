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
    from spaniel.api.gate import Message, Receive, Scope, Send
    from spaniel.api.service import Service

SESSION = b"mcp-session-id"
MOST_SESSIONS = 1_000  # whose pages are listed as resources; the oldest are forgotten
MOST_OPEN = 5_000  # sessions of all callers
MOST_OF_ONE = 100  # sessions of one caller; clients seldom end theirs, so the one unused for longest is ended


class McpEndpoint:
    """An ASGI application behind the gate, which has checked Host, Origin and the token."""

    def __init__(self, service: Service, *, stateless: bool) -> None:
        """`stateless`: with several workers, since a session lives in one of them."""
        sessions = _Sessions(service)
        self._manager = StreamableHTTPSessionManager(
            build(sessions),  # type: ignore[arg-type]
            stateless=stateless,
            max_request_body_size=service.own.max_body_bytes,
            max_sessions=MOST_OPEN,
        )
        self.run = self._manager.run
        self._open: OrderedDict[tuple[str, bytes], None] = OrderedDict()  # sessions by caller and id, as they were used

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        # A session belongs to the caller that opened it: the SDK compares these.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller.name, scopes=[]))
        session = dict(scope["headers"]).get(SESSION)

        async def noting(message: Message) -> None:
            if session is None and message["type"] == "http.response.start" and message["status"] < 400:
                opened = dict(message["headers"]).get(SESSION)
                if opened is not None:
                    await self._opened(scope, caller, opened)
            await send(message)

        if session is not None and (caller.name, session) in self._open:
            self._open.move_to_end((caller.name, session))
        await self._manager.handle_request(scope, receive, noting)

    async def _opened(self, scope: Scope, caller: Caller, session: bytes) -> None:
        self._open[caller.name, session] = None
        own = [each for each in self._open if each[0] == caller.name]
        for each in own[: max(0, len(own) - MOST_OF_ONE)]:
            del self._open[each]
            await self._end(scope, each[1])
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)

    async def _end(self, scope: Scope, session: bytes) -> None:
        """As if its client had ended it."""

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_: Message) -> None:
            pass

        kept = [field for field in scope["headers"] if field[0] == b"host"]
        await self._manager.handle_request(
            {**scope, "method": "DELETE", "headers": [*kept, (SESSION, session)]}, receive, send
        )


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

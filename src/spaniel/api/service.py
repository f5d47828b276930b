"""The state of the service: one engine, a client for each profile, a session for each caller."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from spaniel.api.errors import bad_argument
from spaniel.app.client import Spaniel
from spaniel.app.engine import Engine
from spaniel.tables import nearest
from spaniel.tool.framework import ToolSession

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

    from spaniel.api.access import Caller
    from spaniel.api.metrics import Metrics
    from spaniel.app.serving import ServeSettings
    from spaniel.app.settings import Settings
    from spaniel.cache import CacheKey
    from spaniel.net.resolver import Resolver
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Request, Trace

MOST_SESSIONS = 1_000  # callers whose pages `more` knows; the oldest are forgotten


class Service:
    """What the handlers work with. Open from the start of the server to its end."""

    def __init__(
        self, settings: Settings, own: ServeSettings, metrics: Metrics, resolver: Resolver | None = None
    ) -> None:
        self.settings, self.own, self.metrics = settings, own, metrics
        self.engine = Engine(settings, resolver)
        self.is_ready = False
        self._clients: dict[str, Spaniel] = {}
        self._sessions: OrderedDict[tuple[str, str], ToolSession] = OrderedDict()

    async def __aenter__(self) -> Service:
        await self.engine.__aenter__()
        try:
            for name in self.own.profiles:
                self._clients[name] = await Spaniel(profile=name, engine=self.engine).__aenter__()
        except BaseException:
            await self.engine.close()
            raise
        self.is_ready = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.is_ready = False
        await self.engine.close()

    def client(self, profile: object = None) -> Spaniel:
        """A client by the name of its profile. Callers choose among the settings' names; a path is none of them."""
        name = self.own.profile if profile is None else profile
        client = self._clients.get(name) if isinstance(name, str) else None
        if client is None:
            raise bad_argument("profile", f"unknown profile; {nearest(str(name)[:100], self._clients)}")
        return client

    def session(self, caller: Caller, profile: str) -> ToolSession:
        """What `more` may read on in: each caller has its own, so that no one reads another's pages."""
        key = caller.name, profile
        session = self._sessions.get(key)
        if session is None:
            client = self._clients[profile]
            display = None if client.profile.is_srd else self.settings.browser.display
            session = self._sessions[key] = ToolSession(
                display=display, max_screenshot_height=self.settings.mcp.max_screenshot_height
            )
            if len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(key)
        return session

    def touch(self, key: CacheKey) -> None:
        """A cached page was used."""
        if (cache := self.engine.services.cache) is not None:
            cache.touch(key)

    async def outcome(self, client: Spaniel, request: Request, trace: Trace | None = None) -> Outcome:
        """The outcome of a fetch, counted."""
        outcome = await client.outcome(request, trace)
        self.metrics.fetched(outcome)
        return outcome


def service_of(request: HttpRequest) -> Service:
    service: Service = request.app.state.service
    return service


def caller_of(request: HttpRequest) -> Caller:
    caller: Caller = request.scope["state"]["caller"]
    return caller

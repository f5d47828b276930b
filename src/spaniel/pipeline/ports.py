"""What a fetch needs of the rooms below, as narrow as it needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spaniel.browser.rendering import RenderedPage, RenderRequest
    from spaniel.errors import SpanielError
    from spaniel.hosts import Asked, Politeness
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page, RequestHeaders, RequestOptions
    from spaniel.url.domains import DomainRules
    from spaniel.url.value import Url


class Guard(Protocol):
    @property
    def overrides(self) -> str: ...

    def check_page(self, url: Url, asked: DomainRules) -> None: ...

    async def vet(self, url: Url, deadline: Deadline) -> Target: ...

    async def vet_page(self, url: Url, deadline: Deadline, asked: DomainRules) -> Target: ...


class Permission(Protocol):
    @property
    def note(self) -> str | None: ...

    @property
    def crawl_delay(self) -> float | None: ...

    @property
    def content_signal(self) -> str | None: ...


class Robots(Protocol):
    async def require(
        self, url: Url, target: Target, deadline: Deadline, headers: RequestHeaders = ...
    ) -> Permission: ...


class Fetcher(Protocol):
    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = ...) -> Page: ...

    async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = ...) -> Page: ...

    async def stream(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        sink: Callable[[bytes], object],
        options: RequestOptions = ...,
    ) -> Page: ...


class Turn(Protocol):
    async def __aenter__(self) -> None: ...

    async def again(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


class Hosts(Protocol):
    # `where` is an origin, or a host for all of its origins. `led`: another site's redirect led there.
    def turn(self, where: str, deadline: Deadline, politeness: Politeness, *, led: bool = False) -> Turn: ...

    def set_crawl_delay(self, host: str, seconds: float) -> None: ...

    def answered(self, where: str, status: int, headers: Mapping[str, str], *, led: bool = False) -> None: ...

    def unanswered(self, where: str, error: SpanielError, *, led: bool = False) -> None: ...

    def asked(self, where: str) -> Asked | None: ...

    async def wait(self, where: str, deadline: Deadline, politeness: Politeness) -> None: ...

    def set_http_only(self, host: str) -> None: ...

    def is_http_only(self, host: str) -> bool: ...


class Renders(Protocol):
    async def render(self, wanted: RenderRequest) -> RenderedPage: ...


class Door(NamedTuple):
    """What every hop passes."""

    guard: Guard
    robots: Robots
    hosts: Hosts
    http: Fetcher

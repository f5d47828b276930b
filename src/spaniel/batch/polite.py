"""Clients that take a turn at a host first, where the pipeline does not do it for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.net.deadline import Deadline
from spaniel.net.http import RequestOptions

if TYPE_CHECKING:
    from spaniel.browser.rendering import RenderedPage, RenderRequest
    from spaniel.hosts import Hosts
    from spaniel.net.guard import Target
    from spaniel.net.http import Http, Page
    from spaniel.pipeline.retrieve import Renders
    from spaniel.url.value import Url

_USUAL = RequestOptions()
ROBOTS = "/robots.txt"  # what else is asked for here, a redirect has led to


class PoliteHttp:
    """For robots.txt: it is a request like any other to the server."""

    def __init__(self, http: Http, hosts: Hosts) -> None:
        self._http, self._hosts = http, hosts

    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        turn = self._hosts.turn(url.origin, deadline, shared=True)
        async with turn:
            page = await self._http.get(url, target, deadline, options._replace(before_repeat=turn.again))
            self._hosts.answered(url.origin, page.status, page.headers, led=url.target != ROBOTS)
        return page


class PoliteRenderer:
    """For the browser: what a page loads into itself belongs to its turn."""

    def __init__(self, renderer: Renders, hosts: Hosts) -> None:
        self._renderer, self._hosts = renderer, hosts

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        async with self._hosts.turn(wanted.url.host, Deadline(wanted.timeout_seconds), shared=True):
            return await self._renderer.render(wanted)

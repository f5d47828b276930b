"""The pages of a session, by every URL that they are known by: how they were asked for, and cut into what sizes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request

MOST = 1_000  # URLs
MOST_HELD = 4  # answers that no cache keeps


class RecentPages:
    """A model names a page by the URL that it asked for or by the one that it was told; the cache knows the first."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, Request] = OrderedDict()
        self._held: OrderedDict[Request, Answer] = OrderedDict()

    def remember(self, request: Request, answer: Answer) -> None:
        """The same page is read on from where this came from: rendered or not, and with chunks of the same size."""
        rendered = request.force_browser or request.picture or request.display is not None
        request = request._replace(no_cache=False, force_browser=rendered, picture=False, picture_height=0)
        for url in (request.url, answer.final_url):
            key = _key(url)
            self._requests[key] = request
            self._requests.move_to_end(key)
        while len(self._requests) > MOST:
            self._requests.popitem(last=False)
        if request.display is not None:
            self._held[request] = answer._replace(picture=None)
            self._held.move_to_end(request)
            while len(self._held) > MOST_HELD:
                self._held.popitem(last=False)

    def asked_for(self, url: str) -> Request | None:
        """The last request that brought this page."""
        return self._requests.get(_key(url))

    def held(self, request: Request) -> Answer | None:
        """The page as it was rendered for one call: the cache has no such copy."""
        return self._held.get(request)


def _key(url: str) -> str:
    try:
        return parse(url)._replace(fragment=None).href
    except SpanielError:
        return url

"""The pages fetched in a session, by requested and final URL, with the request that fetched them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request

MAX_URLS = 1_000  # some 500 pages: more than a session of a model reads
MAX_RENDERED = 4  # answers that the cache does not store, each up to a few MB


class RecentPages:
    """Finds a page by its requested or its final URL; the cache only knows the requested one."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, Request] = OrderedDict()
        self._rendered: OrderedDict[Request, Answer] = OrderedDict()

    def remember(self, request: Request, answer: Answer) -> None:
        """Later calls read the same copy: rendered or not, with chunks of the same size."""
        rendered = request.force_browser or request.picture or request.display is not None
        request = request._replace(no_cache=False, force_browser=rendered, picture=False, picture_height=0)
        for url in (request.url, answer.final_url):
            key = _key(url)
            self._requests[key] = request
            self._requests.move_to_end(key)
        while len(self._requests) > MAX_URLS:
            self._requests.popitem(last=False)
        if request.display is not None:
            self._rendered[request] = answer._replace(picture=None)
            self._rendered.move_to_end(request)
            while len(self._rendered) > MAX_RENDERED:
                self._rendered.popitem(last=False)

    def request_for(self, url: str) -> Request | None:
        """The last request that fetched this page."""
        return self._requests.get(_key(url))

    def rendered(self, request: Request) -> Answer | None:
        """The answer of a call with rendering options of its own, which the cache does not store."""
        return self._rendered.get(request)


def _key(url: str) -> str:
    try:
        return parse(url)._replace(fragment=None).href
    except SpanielError:
        return url

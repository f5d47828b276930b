"""Encoded answers of cached pages: what makes a cache hit cost no more than a route that returns fixed bytes.

An answer is valid while the cache's file is the very same (inode, time, size), so that any process may renew or remove
the copy, and until the copy expires. Only the moment at which it is served changes.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spaniel.pipeline.outcome import moment

if TYPE_CHECKING:
    from spaniel.api.access import Caller
    from spaniel.api.service import Service
    from spaniel.app.client import Spaniel
    from spaniel.cache import CacheKey
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome
    from spaniel.pipeline.request import Request

MOST_BYTES = 64 << 20  # of all answers together
LARGEST = 4 << 20  # of one
LONGEST_BODY = 4 << 10  # of a request that is remembered
log = logging.getLogger("spaniel.fetch")


class _Kept(NamedTuple):
    head: bytes  # before and after the moment at which it is served
    tail: bytes
    path: str  # of the copy in the cache
    file: tuple[int, int, int]  # inode, time of change, size
    expires: float
    key: CacheKey
    profile: str
    request: Request
    answer: Answer  # without its text
    callers: set[str]  # that `more` knows it for


class RecentAnswers:
    """Answers of `POST /api/fetch` by the body of the request."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()
        self._bytes = 0

    def get(self, body: bytes, caller: Caller) -> bytes | None:
        """The answer to this body, if it may be served again."""
        kept = self._kept.get(body)
        if kept is None or log.isEnabledFor(logging.INFO):  # a fetch writes a log line (FR-WF-19c)
            return None
        now = self._service.engine.clock.now()
        if now.timestamp() >= kept.expires or _identity(kept.path) != kept.file:
            self._drop(body)
            return None
        self._kept.move_to_end(body)
        self._service.touch(kept.key)
        if caller.name not in kept.callers:
            kept.callers.add(caller.name)
            self._service.session(caller, kept.profile).recent.remember(kept.request, kept.answer)
        self._service.metrics.served_copy()
        return b"".join((kept.head, moment(now).encode(), kept.tail))

    def keep(self, body: bytes, client: Spaniel, request: Request, outcome: Outcome, answer: Answer) -> None:
        """Remember the answer to this body, if it came from the cache and nothing else decides it."""
        found = outcome.found
        is_plain = request.display is None and not request.picture and not request.is_special
        if not outcome.cache_hit or found is None or found.cache_info is None or len(body) > LONGEST_BODY:
            return
        if not is_plain or found.cache_info.how != "hit":
            return
        located = self._service.engine.cached_at(outcome, client.profile)
        if located is None or (file := _identity(located[1])) is None:
            return
        mark = token_hex(16)
        fields = {**answer.as_dict(), "served_at": mark}
        head, _, tail = msgspec.json.encode(fields).partition(mark.encode())
        if len(head) + len(tail) > LARGEST:
            return
        expires = found.cache_info.cached_at.timestamp() + found.cache_info.ttl_hours * 3600
        bare = answer._replace(markdown="", chunks=(), metadata={}, trace=())
        self._drop(body)
        self._kept[body] = _Kept(
            head, tail, located[1], file, expires, located[0], client.profile.name, request, bare, set()
        )
        self._bytes += len(head) + len(tail)
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, body: bytes) -> None:
        kept = self._kept.pop(body, None)
        if kept is not None:
            self._bytes -= len(kept.head) + len(kept.tail)


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size

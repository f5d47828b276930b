"""What a worker's fetches bring over the wire, kept for a WARC file: every hop of a page, also those that failed.

A fetch's hops are gathered while it lasts, in its own context; they leave the worker compressed, with its record. Where
no WARC file is asked for, nothing of this runs: the HTTP client is not wrapped.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING

from spaniel.batch.outputs.warc import Capture, capture_records
from spaniel.errors import SpanielError
from spaniel.net.http import RequestOptions
from spaniel.reading.kinds import BY_NAME, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from spaniel.clock import Clock
    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import CapturedExchange, Http, Page
    from spaniel.url.value import Url

MOST_BODY = 16 << 20  # bytes of one body; the rest is left out, which is marked
AT_ONCE = 1 << 20  # bytes that are compressed without a thread of their own
_USUAL = RequestOptions()
_captured: ContextVar[list[Capture] | None] = ContextVar("captured", default=None)  # hops of the fetch under way


def begin() -> list[Capture]:
    """From here on, the hops of this fetch are put into this list."""
    taken: list[Capture] = []
    _captured.set(taken)
    return taken


def note(capture: Capture) -> None:
    """A hop of the fetch under way; of none, it is forgotten."""
    taken = _captured.get()
    if taken is not None:
        taken.append(capture)


async def packed(taken: list[Capture]) -> bytes:
    """WARC records of these hops, compressed. They are not needed any more after that."""
    if not taken:
        return b""
    if sum(len(capture.body) for capture in taken) <= AT_ONCE:
        return _packed(taken)
    return await asyncio.to_thread(_packed, taken)


def _packed(taken: list[Capture]) -> bytes:
    found = b"".join(map(capture_records, taken))
    taken.clear()
    return found


class CapturingHttp:
    """The HTTP client, which puts each hop into the list of the fetch that it is made for."""

    def __init__(self, http: Http, clock: Clock) -> None:
        self._http, self._clock = http, clock

    async def get(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        at, began = self._clock.now(), self._clock.monotonic()

        def observe(page: Page, crossing: CapturedExchange) -> None:
            note(_capture(page, crossing, at, round((self._clock.monotonic() - began) * 1000)))

        return await self._http.get(url, target, deadline, options._replace(observe=observe))

    async def head(self, url: Url, target: Target, deadline: Deadline, options: RequestOptions = _USUAL) -> Page:
        """A response without a body is not kept."""
        return await self._http.head(url, target, deadline, options)

    async def stream(
        self,
        url: Url,
        target: Target,
        deadline: Deadline,
        sink: Callable[[bytes], object],
        options: RequestOptions = _USUAL,
    ) -> Page:
        """What is not held in memory is not kept either."""
        return await self._http.stream(url, target, deadline, sink, options)


def _capture(page: Page, crossing: CapturedExchange, at: datetime, ms: int) -> Capture:
    url, before = page.url._replace(fragment=None), _captured.get()
    body = page.body[:MOST_BODY]
    cut = "length" if len(body) < len(page.body) or (body and not crossing.whole) else ""
    return Capture(
        url.href,
        page.status,
        page.reason,
        crossing.answered,
        body,
        at,
        payload_type=_type_of(page) if body else "",
        address=crossing.address,
        request=_request(url, crossing),
        truncated=cut or ("" if crossing.whole else "unspecified"),
        about=[("fetchTimeMs", str(ms)), *([("via", before[-1].url)] if before else [])],
    )


def _request(url: Url, crossing: CapturedExchange) -> bytes:
    lines = [f"GET {url.target} HTTP/1.1", *(f"{name}: {value}" for name, value in crossing.asked)]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"


def _type_of(page: Page) -> str:
    """What a body is, whatever its header says; empty for what Spaniel does not read."""
    declared = page.headers.get("content-type", "")
    try:
        types = BY_NAME[kind_of(declared, page.body).reader].types
    except SpanielError:
        return ""
    essence = declared.partition(";")[0].strip().lower()
    return essence if essence in types else types[0]

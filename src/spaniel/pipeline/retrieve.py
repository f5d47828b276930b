"""From URL to page: the redirect loop, with guard and robots at every hop (SRD Appendix B)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.trace import Trace
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.net.deadline import Deadline
    from spaniel.net.guard import Target
    from spaniel.net.http import Page
    from spaniel.url.value import Url

log = logging.getLogger("spaniel.fetch")

HTTPS_DOWNGRADE = "https_downgrade"


class Guard(Protocol):
    def check_form(self, url: Url) -> None: ...

    async def vet(self, url: Url, deadline: Deadline) -> Target: ...


class Robots(Protocol):
    async def require(self, url: Url, target: Target, deadline: Deadline) -> str | None: ...


class Fetcher(Protocol):
    async def get(
        self, url: Url, target: Target, deadline: Deadline, *, headers: Mapping[str, str] | None = None
    ) -> Page: ...


class Door(NamedTuple):
    """The three that every hop passes."""

    guard: Guard
    robots: Robots
    http: Fetcher


class Retrieved(NamedTuple):
    """A page, how it was reached, and what is to be noted about that."""

    page: Page
    chain: tuple[str, ...]  # the URLs before the final one
    notes: tuple[str, ...]

    def noted(self, note: str) -> Retrieved:
        return self._replace(notes=(*self.notes, note))


async def retrieve(
    url: Url, door: Door, deadline: Deadline, max_redirects: int = 5, trace: Trace | None = None
) -> Retrieved:
    """Fetch a page, following redirects by hand; one record in the log says how it ended."""
    trail = Trail(url, trace)
    try:
        async with deadline.guarding("start"):
            found = await _follow(url, door, deadline, max_redirects, trail)
    except SpanielError as error:
        trail.record(str(error.code), deadline, error)
        raise
    trail.record("fetch_complete", deadline)
    return found


async def _follow(url: Url, door: Door, deadline: Deadline, max_redirects: int, trail: Trail) -> Retrieved:
    notes: list[str] = []
    for _ in range(max_redirects + 1):
        with trail.trace.step("guard"):
            target = await door.guard.vet(url, deadline)
        with trail.trace.step("robots"):
            _add(notes, await door.robots.require(url, target, deadline))
        with trail.trace.step("fetch") as outcome:
            page = await door.http.get(url, target, deadline)
            outcome.text = str(page.status)
        if page.location is None:
            return Retrieved(successful(page), tuple(trail.chain), tuple(notes))
        trail.chain.append(url.href)
        following = parse(page.location, base=url)._replace(fragment=None)
        _add(notes, HTTPS_DOWNGRADE if url.scheme == "https" and following.scheme == "http" else None)
        url = trail.url = following
    raise SpanielError(Code.REDIRECT_LIMIT, count=max_redirects + 1, max=max_redirects)


def _add(notes: list[str], note: str | None) -> None:
    if note is not None and note not in notes:
        notes.append(note)


def successful(page: Page) -> Page:
    """A status that has no code of its own is `network` (D2-27)."""
    if page.ok:
        return page
    details = {"status": page.status, "status_text": page.reason}
    if 400 <= page.status <= 499:
        raise SpanielError(Code.HTTP_4XX, **details, retry_after=page.headers.get("retry-after"))
    if 500 <= page.status <= 599:
        raise SpanielError(Code.HTTP_5XX, **details, retry_after=page.headers.get("retry-after"))
    raise SpanielError(Code.NETWORK, **details, error=f"status {page.status} brings no page")


class Trail:
    """Where a fetch has been, for its record in the log (FR-WF-19c): no query, no credentials."""

    def __init__(self, url: Url, trace: Trace | None, rendering_method: str = "http") -> None:
        self.start = self.url = url
        self.trace = trace or Trace()
        self.rendering_method = rendering_method
        self.chain: list[str] = []

    def record(self, event: str, deadline: Deadline, error: SpanielError | None = None) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        fields: dict[str, object] = {
            "requested_host": self.start.host,
            "url": self.start.redacted,
            "final_url": self.url.redacted,
            "redirects": len(self.chain),
            "rendering_method": self.rendering_method,
            "cache_hit": False,
            "ms": round((deadline.seconds - deadline.left()) * 1000),
        }
        if error is not None:
            fields |= {"error_code": str(error.code), "phase": deadline.phase}
        log.info(event, extra={"fields": fields})

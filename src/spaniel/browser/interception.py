"""Request interception: every request of a page is paused and judged before it is made (FR-WF-11b, c, g, h).

The egress proxy also guards the traffic that interception does not see: WebSockets, preconnects, speculative loads.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from spaniel.errors import SpanielError
from spaniel.net.egress import USER
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spaniel.browser.cdp import CdpSession, Params
    from spaniel.net.egress import EgressProxy
    from spaniel.url.value import Url

_ORIGIN = re.compile(r"https?://[^/?#\\]+", re.IGNORECASE)
MAX_REQUESTS = 5_000  # of one page
PIXEL = "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="  # a transparent GIF in base64
LANGUAGES = "Accept-Language"
ALL = [{"urlPattern": "*", "requestStage": "Request"}]
PAGE = [*ALL, {"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]


class Interception:
    """Judges the requests of a page, its frames and workers. The page's own documents are judged by `Navigation`."""

    def __init__(self, egress: EgressProxy) -> None:
        self._egress = egress
        self._blocked: frozenset[str] = frozenset()
        self._max_redirects = 0
        self._origins: dict[str, Url | None] = {}
        self._hops: dict[str, int] = {}  # redirects before a request, for those that have any
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests = 0  # let through so far
        self.languages = ""  # the header Accept-Language; empty: Chromium's own
        self._asked = 0

    def set(self, blocked: frozenset[str], max_redirects: int) -> None:
        self._blocked, self._max_redirects = blocked, max_redirects

    def heard(self, session: CdpSession, method: str, params: Params) -> bool:
        """Handle an event; return whether it was one of these."""
        if method == "Fetch.requestPaused":
            self.judge(session, params)
        elif method == "Fetch.authRequired":
            self._authenticate(session, params)
        else:
            return False
        return True

    def judge(self, session: CdpSession, params: Params) -> None:
        """Judge a request that is not a document of the page itself."""
        if _is_response(params):
            self.pass_on(session, params)
            return
        self._asked += 1
        origin = self._origin(params["request"]["url"]) if self._asked <= MAX_REQUESTS else None
        if origin is None or self._too_many_hops(params):
            self.refuse(session, params)
        elif params["resourceType"].lower() in self._blocked:
            self._block(session, params)
        elif self._egress.has_passed(origin):
            self.requests += 1
            self.pass_on(session, params)
        else:
            self.spawn(self._vet(session, params, origin))

    async def _vet(self, session: CdpSession, params: Params, origin: Url) -> None:
        try:
            await self._egress.vet(origin)
        except SpanielError:
            self.refuse(session, params)
        else:
            self.requests += 1
            self.pass_on(session, params)

    def pass_on(self, session: CdpSession, params: Params) -> None:
        """Continue the request, with the same Accept-Language as over HTTP (Chromium computes its own weights)."""
        sent = params["request"]["headers"]
        if self.languages and not _is_response(params) and sent.get(LANGUAGES) != self.languages:
            others = {name: value for name, value in sent.items() if name.lower() != LANGUAGES.lower()}
            headers = [{"name": name, "value": value} for name, value in {**others, LANGUAGES: self.languages}.items()]
            session.post("Fetch.continueRequest", requestId=params["requestId"], headers=headers)
        else:
            session.post("Fetch.continueRequest", requestId=params["requestId"])

    def refuse(self, session: CdpSession, params: Params) -> None:
        """Navigations are aborted, so that the current document stays; otherwise an error page would replace it."""
        reason = "Aborted" if params["resourceType"] == "Document" else "BlockedByClient"
        session.post("Fetch.failRequest", requestId=params["requestId"], errorReason=reason)

    def _block(self, session: CdpSession, params: Params) -> None:
        """Block a resource that is not needed. An image gets a transparent pixel, for pages that wait for it."""
        if params["resourceType"] != "Image":
            self.refuse(session, params)
            return
        origin = {name.lower(): value for name, value in params["request"]["headers"].items()}.get("origin")
        headers = {"Content-Type": "image/gif", "Cache-Control": "no-store"}
        if origin:
            headers |= {"Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true"}
        session.post(
            "Fetch.fulfillRequest",
            requestId=params["requestId"],
            responseCode=200,
            responseHeaders=[{"name": name, "value": value} for name, value in headers.items()],
            body=PIXEL,
        )

    def spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _origin(self, url: str) -> Url | None:
        """Scheme, host and port of a URL, parsed strictly; the path is not checked."""
        found = _ORIGIN.match(url)
        if found is None:
            return None
        if found[0] not in self._origins:
            try:
                self._origins[found[0]] = parse(f"{found[0]}/")
            except SpanielError:
                self._origins[found[0]] = None
        return self._origins[found[0]]

    def _too_many_hops(self, params: Params) -> bool:
        before = params.get("redirectedRequestId")
        if before is None:
            return False
        hops = self._hops[params["requestId"]] = self._hops.pop(before, 0) + 1
        return hops > self._max_redirects

    def _authenticate(self, session: CdpSession, params: Params) -> None:
        """Send the context's secret to our own proxy, and nothing to others."""
        challenge = params["authChallenge"]
        ours = challenge.get("source") == "Proxy" and challenge.get("origin") == f"http://127.0.0.1:{self._egress.port}"
        answer = {"response": "ProvideCredentials", "username": USER, "password": self._egress.secret}
        session.post(
            "Fetch.continueWithAuth",
            requestId=params["requestId"],
            authChallengeResponse=answer if ours else {"response": "CancelAuth"},
        )


def _is_response(params: Params) -> bool:
    """Whether a response was paused, not a request."""
    return "responseStatusCode" in params or "responseErrorReason" in params

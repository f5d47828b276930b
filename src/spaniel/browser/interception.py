"""The second wall: every request is paused before it is made, and judged (FR-WF-11b, c, g, h).

The first is the egress proxy, which also sees what no interception does: WebSockets, preconnects, speculation.
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
MOST_REQUESTS = 5_000  # of one page
PIXEL = "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="  # a transparent picture, as a GIF in base64
LANGUAGES = "Accept-Language"
ALL = [{"urlPattern": "*", "requestStage": "Request"}]
PAGE = [*ALL, {"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]


class Interception:
    """The verdicts on one page's requests, its frames' and workers' included; documents are judged by the tab."""

    def __init__(self, way_out: EgressProxy) -> None:
        self._exit = way_out
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
        """Whether an event was one of these."""
        if method == "Fetch.requestPaused":
            self.judge(session, params)
        elif method == "Fetch.authRequired":
            self._authenticate(session, params)
        else:
            return False
        return True

    def judge(self, session: CdpSession, params: Params) -> None:
        """A request that is no document of the page itself."""
        if _has_come(params):
            self.pass_on(session, params)
            return
        self._asked += 1
        origin = self._origin(params["request"]["url"]) if self._asked <= MOST_REQUESTS else None
        if origin is None or self._too_many_hops(params):
            self.refuse(session, params)
        elif params["resourceType"].lower() in self._blocked:
            self._leave_out(session, params)
        elif self._exit.passed(origin):
            self.requests += 1
            self.pass_on(session, params)
        else:
            self.spawn(self._vet(session, params, origin))

    async def _vet(self, session: CdpSession, params: Params, origin: Url) -> None:
        try:
            await self._exit.vet(origin)
        except SpanielError:
            self.refuse(session, params)
        else:
            self.requests += 1
            self.pass_on(session, params)

    def pass_on(self, session: CdpSession, params: Params) -> None:
        """Let it go on, asking for the languages that HTTP asks for: Chromium weighs them by a rule of its own."""
        sent = params["request"]["headers"]
        if self.languages and not _has_come(params) and sent.get(LANGUAGES) != self.languages:
            others = {name: value for name, value in sent.items() if name.lower() != LANGUAGES.lower()}
            headers = [{"name": name, "value": value} for name, value in {**others, LANGUAGES: self.languages}.items()]
            session.post("Fetch.continueRequest", requestId=params["requestId"], headers=headers)
        else:
            session.post("Fetch.continueRequest", requestId=params["requestId"])

    def refuse(self, session: CdpSession, params: Params) -> None:
        """Navigation are aborted, so that what is shown stays; else an error page would take its place."""
        reason = "Aborted" if params["resourceType"] == "Document" else "BlockedByClient"
        session.post("Fetch.failRequest", requestId=params["requestId"], errorReason=reason)

    def _leave_out(self, session: CdpSession, params: Params) -> None:
        """What nobody needs is not asked for. Of a picture, a page that waits for it is told that it has come."""
        if params["resourceType"] != "Image":
            self.refuse(session, params)
            return
        asked_by = {name.lower(): value for name, value in params["request"]["headers"].items()}.get("origin")
        headers = {"Content-Type": "image/gif", "Cache-Control": "no-store"}
        if asked_by:
            headers |= {"Access-Control-Allow-Origin": asked_by, "Access-Control-Allow-Credentials": "true"}
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
        """Scheme, host and port of a URL, judged as strictly as any; paths of any length are a page's own affair."""
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
        """Our own proxy gets the context's secret; nobody else gets anything."""
        challenge = params["authChallenge"]
        ours = challenge.get("source") == "Proxy" and challenge.get("origin") == f"http://127.0.0.1:{self._exit.port}"
        answer = {"response": "ProvideCredentials", "username": USER, "password": self._exit.secret}
        session.post(
            "Fetch.continueWithAuth",
            requestId=params["requestId"],
            authChallengeResponse=answer if ours else {"response": "CancelAuth"},
        )


def _has_come(params: Params) -> bool:
    """Whether it is an answer that was paused, not a request."""
    return "responseStatusCode" in params or "responseErrorReason" in params

"""Navigations of the main frame: which are allowed, how many, and the response of each document."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING

from spaniel.browser.rendering import PARTIAL, DocumentHead, RenderedPage
from spaniel.errors import Code, SpanielError
from spaniel.net.http import REDIRECTS, has_body
from spaniel.net.redirects import HTTPS_DOWNGRADE
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.browser.cdp import CdpSession, Params
    from spaniel.browser.interception import Interception
    from spaniel.browser.rendering import RenderRequest
    from spaniel.net.egress import EgressProxy
    from spaniel.url.value import Url


class FrameState(Enum):
    """From the blank page to the one that is read."""

    BLANK = auto()  # nothing was requested
    COMING = auto()  # the first document is loading
    PARSING = auto()  # a document is committed and being parsed
    READY = auto()  # a document is committed, and its parsing has ended
    LEAVING = auto()  # a document is committed, and another is loading


class FrameEvent(Enum):
    """Events of the main frame."""

    ADMITTED = auto()  # a request for a document was allowed: the first, a redirect, or a navigation by a script
    COMMITTED = auto()  # a document was committed
    PARSED = auto()  # DOMContentLoaded
    ENDED = auto()  # loading ended: stopped by a script, the connection, or a failed navigation
    STAYED = auto()  # the navigation led to a file, to nothing (204), or was not allowed


TABLE: dict[FrameState, dict[FrameEvent, FrameState]] = {
    FrameState.BLANK: {FrameEvent.ADMITTED: FrameState.COMING, FrameEvent.COMMITTED: FrameState.PARSING},
    FrameState.COMING: {FrameEvent.ADMITTED: FrameState.COMING, FrameEvent.COMMITTED: FrameState.PARSING},
    FrameState.PARSING: {
        FrameEvent.PARSED: FrameState.READY,
        FrameEvent.ENDED: FrameState.READY,  # window.stop(), mailto:, truncation: without DOMContentLoaded
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
    },
    FrameState.READY: {
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
    },
    FrameState.LEAVING: {
        FrameEvent.ADMITTED: FrameState.LEAVING,
        FrameEvent.COMMITTED: FrameState.PARSING,
        FrameEvent.STAYED: FrameState.PARSING,  # its parser may continue or may have been stopped: the next event shows
        FrameEvent.ENDED: FrameState.READY,
    },
}  # fmt: skip


def after(state: FrameState, event: FrameEvent) -> FrameState:
    return TABLE[state].get(event, state)


class Navigation:
    """Judges each navigation of the main frame. `stopped` resolves when there is nothing more to wait for."""

    def __init__(self, interception: Interception, egress: EgressProxy) -> None:
        self._interception = interception
        self._egress = egress
        self._wanted: RenderRequest | None = None
        self._url: Url | None = None  # of the current document, or the one that is loading
        self.url: Url | None = None  # of the current document, as the browser reports it
        self.chain: tuple[str, ...] = ()  # the URLs before it
        self._state = FrameState.BLANK
        self.loader = ""  # of the current document
        self._size = 0  # bytes of it received so far
        self._before: tuple[Url, DocumentHead] | None = None  # the current document while another is loading
        self._ready = asyncio.Event()
        self.stopped: asyncio.Future[RenderedPage] = asyncio.get_running_loop().create_future()
        self.moves = 0  # documents requested
        self._chain: list[str] = []
        self.notes: list[str] = []
        self.head = DocumentHead()

    def begin(self, wanted: RenderRequest) -> None:
        self._wanted = wanted

    async def ready(self) -> None:
        """Wait for DOMContentLoaded of the last document."""
        await self._ready.wait()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    @property
    def is_parsing(self) -> bool:
        return self._state is FrameState.PARSING

    @property
    def has_document(self) -> bool:
        return self._shown

    @property
    def _shown(self) -> bool:
        """Whether a document has replaced the blank one."""
        return self._state in (FrameState.PARSING, FrameState.READY, FrameState.LEAVING)

    def _step(self, event: FrameEvent) -> None:
        self._state = after(self._state, event)
        if self._state is FrameState.READY:
            self._ready.set()
        else:
            self._ready.clear()

    def requested(self, session: CdpSession, params: Params) -> None:
        """A document is about to be requested: the first, a redirect, or a navigation by a script."""
        wanted = self._wanted
        if wanted is None:
            self._interception.refuse(session, params)
            return
        self.moves += 1
        if self.moves > wanted.max_redirects + 1:
            self._interception.refuse(session, params)
            self.stop(SpanielError(Code.REDIRECT_LIMIT, count=self.moves - 1, max=wanted.max_redirects))
        else:
            self._interception.spawn(self._admit(session, params, wanted))

    async def _admit(self, session: CdpSession, params: Params, wanted: RenderRequest) -> None:
        try:
            url = parse(params["request"]["url"])._replace(fragment=None)
            note = await wanted.gate(url, await self._egress.vet(url))
        except SpanielError as error:
            self._interception.refuse(session, params)
            if not self._shown:
                self.stop(error)
            elif self._state is not FrameState.READY:
                self._step(FrameEvent.STAYED)
            return
        before, self._url = self._url, url
        if before is not None:
            self._before = (before, self.head) if self._shown else None
            self._chain.append(before.href)
            self._note(HTTPS_DOWNGRADE if before.scheme == "https" and url.scheme == "http" else None)
        self._note(note)
        self._step(FrameEvent.ADMITTED)
        self._interception.requests += 1
        self._interception.pass_on(session, params)

    def frame_requested(self, session: CdpSession, params: Params) -> bool:
        """Whether a request is for a same-origin frame, which is read with the page, so that robots.txt applies."""
        page, wanted = self.url, self._wanted
        if params["resourceType"] != "Document" or "responseStatusCode" in params or page is None or wanted is None:
            return False
        try:
            url = parse(params["request"]["url"])._replace(fragment=None)
        except SpanielError:
            return False
        if url.origin != page.origin:
            return False
        self._interception.spawn(self._admit_frame(session, params, wanted, url))
        return True

    async def _admit_frame(self, session: CdpSession, params: Params, wanted: RenderRequest, url: Url) -> None:
        try:
            await wanted.gate(url, await self._egress.vet(url))
        except SpanielError:
            self._interception.refuse(session, params)
        else:
            self._interception.judge(session, params)

    def responded(self, session: CdpSession, params: Params) -> None:
        """The response head of a document was received: errors and files are not rendered."""
        status = params.get("responseStatusCode", 0)
        headers = {field["name"].lower(): str(field["value"]) for field in params.get("responseHeaders", ())}
        redirect = status in REDIRECTS and "location" in headers
        if "responseErrorReason" in params or redirect or self._url is None:
            self._interception.pass_on(session, params)
            return
        kind = _kind(headers)
        head = DocumentHead(status, params.get("responseStatusText", ""), headers)
        if has_body(status) and self._is_readable(kind):
            self._require_size(int(length) if (length := headers.get("content-length", "")).isdecimal() else 0)
            self.head, self._size = head, 0
            self._interception.pass_on(session, params)
            return
        self._interception.refuse(session, params)
        if self._before is not None:  # a download or an empty response: the current document stays
            self._url, self.head = self._before
            self._chain = list(self.chain)
            self._step(FrameEvent.STAYED)
        else:
            self.stop(RenderedPage(self._url, head, kind, b"", tuple(self._chain), tuple(self.notes)))

    def _is_readable(self, kind: str) -> bool:
        """Whether the profile reads such documents; one without a type is sniffed later."""
        essence = kind.partition(";")[0].strip().lower()
        return not essence or (self._wanted is not None and essence in self._wanted.types)

    def navigated(self, frame: Params) -> None:
        """A document was committed; if it is not of the web (an error page), the fetch ends here."""
        if frame.get("unreachableUrl"):
            if self._shown:  # for the first, Chromium reports the reason separately
                self.failed("where the page went cannot be reached")
            return
        scheme = frame["url"].partition(":")[0]
        if scheme not in ("http", "https"):
            self.stop(SpanielError(Code.INVALID_SCHEME, scheme=scheme))
            return
        try:
            self.url = parse(frame["url"])._replace(fragment=None)
        except SpanielError as error:
            self.stop(error)
            return
        self.loader = frame["loaderId"]
        self._step(FrameEvent.COMMITTED)
        self.chain = tuple(self._chain)

    def received(self, params: Params) -> None:
        """Data was received: the document's size is limited, as over HTTP."""
        if params["requestId"] == self.loader or not self._shown:
            self._size += params["dataLength"]
            self._require_size(self._size)

    def load_failed(self, params: Params) -> None:
        """A request failed: if it is the document's own, the document is truncated."""
        if params["requestId"] == self.loader and self._state is FrameState.PARSING:
            self._note(PARTIAL)

    def _require_size(self, size: int) -> None:
        most = self._wanted.max_document_bytes if self._wanted else 0
        if most and size > most:
            self.stop(SpanielError(Code.RESPONSE_TOO_LARGE, size=size, max_bytes=most))

    def failed(self, reason: str) -> None:
        """A navigation failed."""
        host = self._url.host if self._url else ""
        self.stop(SpanielError(Code.NETWORK, error=self._egress.failures.get(host, reason)))

    def parsed(self) -> None:
        """DOMContentLoaded."""
        self._step(FrameEvent.PARSED)

    def ended(self) -> None:
        """Loading ended. A navigation by a script stops the parser, even if the navigation was refused."""
        self._step(FrameEvent.ENDED)

    def stop(self, outcome: RenderedPage | SpanielError) -> None:
        if self.stopped.done():
            return
        if isinstance(outcome, SpanielError):
            self.stopped.set_exception(outcome)
            self.stopped.exception()  # marks it as retrieved: the fetch may have ended already
        else:
            self.stopped.set_result(outcome)

    def _note(self, note: str | None) -> None:
        if note is not None and note not in self.notes:
            self.notes.append(note)


def _kind(headers: dict[str, str]) -> str:
    """The content type; empty for a download."""
    if headers.get("content-disposition", "").strip().lower().startswith("attachment"):
        return "attachment"
    return headers.get("content-type", "")

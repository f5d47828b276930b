"""The documents of the page itself: where it may go, how often, and what came from there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spaniel.browser.frame_states import FrameEvent, FrameState, after
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


class Navigation:
    """Judges each navigation of the main frame. `stopped` is settled when there is nothing more to wait for."""

    def __init__(self, interception: Interception, way_out: EgressProxy) -> None:
        self._interception = interception
        self._exit = way_out
        self._wanted: RenderRequest | None = None
        self._url: Url | None = None  # of the document that is shown, or on its way
        self.url: Url | None = None  # of the document that is shown, as the browser tells it
        self.chain: tuple[str, ...] = ()  # and how it was come to
        self._state = FrameState.BLANK
        self.loader = ""  # of the document that is shown
        self._size = 0  # bytes of it that have come
        self._before: tuple[Url, DocumentHead] | None = None  # what is shown while another is on its way
        self._ready = asyncio.Event()
        self.stopped: asyncio.Future[RenderedPage] = asyncio.get_running_loop().create_future()
        self.moves = 0  # documents asked for
        self._chain: list[str] = []
        self.notes: list[str] = []
        self.head = DocumentHead()

    def begin(self, wanted: RenderRequest) -> None:
        self._wanted = wanted

    async def ready(self) -> None:
        """Until DOMContentLoaded of whichever document is the last."""
        await self._ready.wait()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    @property
    def is_parsing(self) -> bool:
        return self._state is FrameState.PARSING

    @property
    def has_come(self) -> bool:
        return self._shown

    @property
    def _shown(self) -> bool:
        """Whether a document of the page has taken the place of the blank one."""
        return self._state in (FrameState.PARSING, FrameState.READY, FrameState.LEAVING)

    def _step(self, event: FrameEvent) -> None:
        self._state = after(self._state, event)
        if self._state is FrameState.READY:
            self._ready.set()
        else:
            self._ready.clear()

    def asked(self, session: CdpSession, params: Params) -> None:
        """A document of the main frame is about to be requested: the first, a redirect, or where a script goes."""
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
            note = await wanted.gate(url, await self._exit.vet(url))
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

    def asked_for_frame(self, session: CdpSession, params: Params) -> bool:
        """Whether a request is for a frame that would be read with the page, which robots.txt is asked about too."""
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
            await wanted.gate(url, await self._exit.vet(url))
        except SpanielError:
            self._interception.refuse(session, params)
        else:
            self._interception.judge(session, params)

    def answered(self, session: CdpSession, params: Params) -> None:
        """The head of a document has come: an error or a file is not worth rendering."""
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
        if self._before is not None:  # a file that the page offers, or nothing at all: it stays where it is
            self._url, self.head = self._before
            self._chain = list(self.chain)
            self._step(FrameEvent.STAYED)
        else:
            self.stop(RenderedPage(self._url, head, kind, b"", tuple(self._chain), tuple(self.notes)))

    def _is_readable(self, kind: str) -> bool:
        """Whether the profile reads such documents; one without a type is looked at when it is there."""
        essence = kind.partition(";")[0].strip().lower()
        return not essence or (self._wanted is not None and essence in self._wanted.types)

    def navigated(self, frame: Params) -> None:
        """A document has taken the frame: one of the web's, or the fetch ends here."""
        if frame.get("unreachableUrl"):
            if self._shown:  # of the first, Chromium tells the reason besides
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
        """Some of a body has come: of the document itself there is a largest size, as there is over HTTP."""
        if params["requestId"] == self.loader or not self._shown:
            self._size += params["dataLength"]
            self._require_size(self._size)

    def broke_off(self, params: Params) -> None:
        """A request failed: where it is the document's own, what is shown is its beginning."""
        if params["requestId"] == self.loader and self._state is FrameState.PARSING:
            self._note(PARTIAL)

    def _require_size(self, size: int) -> None:
        most = self._wanted.max_document_bytes if self._wanted else 0
        if most and size > most:
            self.stop(SpanielError(Code.RESPONSE_TOO_LARGE, size=size, max_bytes=most))

    def failed(self, reason: str) -> None:
        """A navigation came to nothing."""
        host = self._url.host if self._url else ""
        self.stop(SpanielError(Code.NETWORK, error=self._exit.failures.get(host, reason)))

    def parsed(self) -> None:
        """DOMContentLoaded."""
        self._step(FrameEvent.PARSED)

    def ended(self) -> None:
        """Nothing more is being loaded. A script that leaves stops the parser, even where it was kept from leaving."""
        self._step(FrameEvent.ENDED)

    def stop(self, outcome: RenderedPage | SpanielError) -> None:
        if self.stopped.done():
            return
        if isinstance(outcome, SpanielError):
            self.stopped.set_exception(outcome)
            self.stopped.exception()  # seen: the fetch may have ended by itself
        else:
            self.stopped.set_result(outcome)

    def _note(self, note: str | None) -> None:
        if note is not None and note not in self.notes:
            self.notes.append(note)


def _kind(headers: dict[str, str]) -> str:
    """The content type; a file to be saved is none that is read."""
    if headers.get("content-disposition", "").strip().lower().startswith("attachment"):
        return "attachment"
    return headers.get("content-type", "")

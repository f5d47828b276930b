"""The documents of the page itself: where it may go, how often, and what came from there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spaniel.browser.rendered import DocumentHead, Rendered
from spaniel.errors import Code, SpanielError
from spaniel.net.http import REDIRECTS, has_body
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.browser.cdp import Params, Session
    from spaniel.browser.interception import Interception
    from spaniel.browser.rendered import Wanted
    from spaniel.net.egress import Exit
    from spaniel.url.value import Url

HTTPS_DOWNGRADE = "https_downgrade"


class Navigation:
    """Judges each navigation of the main frame. `stopped` is settled when there is nothing more to wait for."""

    def __init__(self, interception: Interception, way_out: Exit) -> None:
        self._interception = interception
        self._exit = way_out
        self._wanted: Wanted | None = None
        self._url: Url | None = None  # of the document that is shown, or on its way
        self.url: Url | None = None  # of the document that is shown, as the browser tells it
        self.chain: tuple[str, ...] = ()  # and how it was come to
        self._shown = False  # whether a document of the page has taken the place of the blank one
        self._stayed = False  # whether it was kept from going elsewhere
        self._before: tuple[Url, DocumentHead] | None = None  # what is shown while another is on its way
        self._ready = asyncio.Event()
        self.stopped: asyncio.Future[Rendered] = asyncio.get_running_loop().create_future()
        self.moves = 0  # documents asked for
        self._chain: list[str] = []
        self.notes: list[str] = []
        self.head = DocumentHead()

    def begin(self, wanted: Wanted) -> None:
        self._wanted = wanted

    async def ready(self) -> None:
        """Until DOMContentLoaded of whichever document is the last."""
        await self._ready.wait()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set()

    def asked(self, session: Session, params: Params) -> None:
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

    async def _admit(self, session: Session, params: Params, wanted: Wanted) -> None:
        try:
            url = parse(params["request"]["url"])._replace(fragment=None)
            note = await wanted.gate(url, await self._exit.vet(url))
        except SpanielError as error:
            self._interception.refuse(session, params)
            if self._shown:
                self._stayed = True
            else:
                self.stop(error)
            return
        before, self._url = self._url, url
        if before is not None:
            self._before = (before, self.head) if self._shown else None
            self._chain.append(before.href)
            self._note(HTTPS_DOWNGRADE if before.scheme == "https" and url.scheme == "http" else None)
        self._note(note)
        self._ready.clear()
        self._interception.requests += 1
        self._interception.pass_on(session, params)

    def answered(self, session: Session, params: Params) -> None:
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
            self.head = head
            self._interception.pass_on(session, params)
            return
        self._interception.refuse(session, params)
        if self._before is not None and has_body(status):  # a file: the page offers it and stays where it is
            self._url, self.head = self._before
            self._chain = list(self.chain)
            self._stayed = True
        else:
            self.stop(Rendered(self._url, head, kind, b"", tuple(self._chain), tuple(self.notes)))

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
        self._shown = True
        self.chain = tuple(self._chain)

    def failed(self, reason: str) -> None:
        """A navigation came to nothing."""
        host = self._url.host if self._url else ""
        self.stop(SpanielError(Code.NETWORK, error=self._exit.failures.get(host, reason)))

    def parsed(self) -> None:
        """DOMContentLoaded."""
        if self._shown:
            self._ready.set()

    def ended(self) -> None:
        """Nothing more is being loaded. A script that leaves stops the parser, even where it was kept from leaving."""
        if self._stayed:
            self._stayed = False
            self._ready.set()

    def stop(self, outcome: Rendered | SpanielError) -> None:
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

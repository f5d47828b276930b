"""One page in its own browser context: prepared ahead, navigated once, read, disposed of."""

from __future__ import annotations

import asyncio
import re
from secrets import token_hex
from typing import TYPE_CHECKING

from spaniel.browser.cdp import CdpError
from spaniel.browser.idle import IdleWaiter, RequestTracker, pending_script
from spaniel.browser.interception import ALL, PAGE, Interception
from spaniel.browser.navigation import Navigation
from spaniel.browser.page_reader import PageReader
from spaniel.browser.rendering import CLOSED, MISSING, PARTIAL, TRUNCATED, RenderedPage
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.browser.cdp import CdpConnection, CdpSession, Params
    from spaniel.browser.rendering import BrowserSettings, RenderOptions, RenderRequest
    from spaniel.net.egress import EgressProxy
    from spaniel.url.value import Url

DISPOSE_SECONDS = 5.0  # a stuck page is disposed of in 10 ms; only a stuck browser takes this long
CRASH_SECONDS = 0.2  # between a failure and the event for the crash that caused it
GRACE = 2.0  # seconds for reading the page after all waiting (D2-25)
PENDING_SCRIPT_NAME = f"_{token_hex(8)}"
PICTURED = frozenset({"image", "font"})  # not blocked for a screenshot


class Tab:
    """A browser context, its page, and the frames, workers and popups of the page."""

    def __init__(self, cdp: CdpConnection, egress: EgressProxy, settings: BrowserSettings) -> None:
        self._cdp = cdp
        self._settings = settings
        self._egress = egress
        self._interception = Interception(egress)
        self._navigation = Navigation(self._interception, egress)
        self._loading = RequestTracker()
        self._idle = IdleWaiter(self._loading, self._navigation, PENDING_SCRIPT_NAME)
        self._session: CdpSession | None = None
        self._frame = self._idle_document = ""  # the second: the document that became idle
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._identity = "", ""
        self.context = ""
        # Handlers for events of the page's session; they return whether the event is done with.
        self._own_events: dict[str, Callable[[CdpSession, Params], bool | None]] = {
            "Fetch.requestPaused": self._document_paused,
            "Page.frameNavigated": self._navigated,
            "Page.domContentEventFired": lambda _session, _params: self._navigation.parsed(),
            "Page.frameStoppedLoading": self._stopped_loading,
            "Page.javascriptDialogOpening": self._dialog,
            "Network.dataReceived": lambda _session, params: self._navigation.received(params),
            "Network.loadingFailed": self._load_failed,
            "Emulation.virtualTimeBudgetExpired": lambda _session, _params: self._idle.expired(),
            "Inspector.targetCrashed": lambda _session, _params: self._break("the page crashed"),
        }

    @property
    def broken(self) -> bool:
        return self._broken.done()

    @property
    def has_requested(self) -> bool:
        """Whether any request was made."""
        return self._navigation.moves > 0

    @property
    def has_document(self) -> bool:
        """Whether a document was committed: until then, another tab can replace this one."""
        return self._navigation.has_document

    async def answers(self, seconds: float) -> bool:
        """Whether its renderer process responds."""
        if self._session is None or self.broken:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self._session.call("Runtime.evaluate", expression="1")
        except (CdpError, TimeoutError):
            return False
        return True

    async def prepare(self) -> None:
        """Do everything that does not need the URL."""
        session = await self._create()
        session.hear = self._hear
        session.detached = lambda: self._break("the page is gone")
        await asyncio.gather(
            session.call("Page.enable"),
            session.call("Page.addScriptToEvaluateOnNewDocument", source=pending_script(PENDING_SCRIPT_NAME)),
            session.call("Emulation.setDeviceMetricsOverride", **self._settings.display.metrics),
            session.call("Inspector.enable"),
            session.call("Network.enable"),
            session.call("Network.setBypassServiceWorker", bypass=True),  # its responses would not be vetted
            session.call("Fetch.enable", patterns=PAGE, handleAuthRequests=True),
            session.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True),
            session.call("Runtime.runIfWaitingForDebugger"),
        )

    async def _create(self) -> CdpSession:
        self._cdp.post("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self.context})
        self._cdp.post("Browser.grantPermissions", {"permissions": [], "browserContextId": self.context})
        made = await self._cdp.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        self._frame = made["targetId"]  # a page's target id is also its main frame's
        if self._session is None:
            raise CdpError("the new page was not attached to")
        return self._session

    async def load(self, wanted: RenderRequest) -> RenderedPage:
        """The page, rendered. Raises `SpanielError`."""
        blocked = self._settings.blocked()
        self._interception.set(blocked - PICTURED if wanted.picture else blocked, wanted.max_redirects)
        self._egress.adopt(wanted.target)
        self._navigation.begin(wanted)
        self._identity = wanted.user_agent, wanted.languages
        self._interception.languages = wanted.languages
        work = asyncio.create_task(self._work(wanted))
        stopped = self._navigation.stopped
        try:
            await asyncio.wait((work, stopped, self._broken), return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                raise SpanielError(Code.BROWSER_CRASHED, error=self._broken.result())
            if stopped.done():
                return stopped.result()
            return work.result()
        except CdpError as error:
            raise SpanielError(Code.BROWSER_CRASHED, error=str(error)) from None
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _work(self, wanted: RenderRequest) -> RenderedPage:
        session = self._session
        if session is None:
            raise CdpError("there is no page")
        display = wanted.display or self._settings.display
        with Deadline(wanted.timeout_seconds).guarding("load"):
            self._set_identity(session)
            if wanted.display is not None:
                await session.call("Emulation.setDeviceMetricsOverride", **display.metrics)
            done = await session.call("Page.navigate", url=wanted.url.href)
            if error := done.get("errorText"):
                await asyncio.wait([self._broken], timeout=CRASH_SECONDS)
                self._navigation.failed(error)
            await self._navigation.ready()
        reader = PageReader(session, self._frame, self._navigation)
        with Deadline(display.idle_ms / 1000 + GRACE).guarding("render"):
            notes = await self._until_idle(session, reader, display, display.idle_ms / 1000)
            copy = await reader.copy(self._settings.max_rendered_dom_bytes)
            if self._navigation.is_parsing or self._navigation.loader != self._idle_document:  # navigated meanwhile
                notes = await self._until_idle(session, reader, display, GRACE / 2)
                copy = await reader.copy(self._settings.max_rendered_dom_bytes)
        picture, about = await reader.picture(display, wanted.picture_height) if wanted.picture else (None, ())
        notes = (*self._navigation.notes, *notes, *((TRUNCATED,) if copy.cut else ()), *about)
        return RenderedPage(
            self._final(copy.url),
            self._navigation.head,
            copy.content_type,
            copy.body,
            self._navigation.chain,
            tuple(dict.fromkeys(notes)),
            picture,
        )

    async def _until_idle(
        self, session: CdpSession, reader: PageReader, display: RenderOptions, seconds: float
    ) -> tuple[str, ...]:
        """Wait until the page is idle or the time is over; return notes on what may be missing."""
        end = _now() + seconds
        self._idle_document = self._navigation.loader
        if display.wait_for and not await reader.appears(display.wait_for, end - _now()):
            return (MISSING,)
        is_idle = await self._idle.wait(session, _milliseconds(end))
        height = 0
        for _ in range(display.scrolls if is_idle else 0):
            before, height = height, await reader.scroll()
            if height == before:
                break
            self._loading.mark_changed()
            is_idle = await self._idle.wait(session, _milliseconds(end))
        self._idle_document = self._navigation.loader
        notes = [] if is_idle else [PARTIAL]
        idle, documents = self._idle, self._loading.documents
        if idle.has_closed_roots or await reader.has_closed_roots(documents, written=idle.may_have_closed_roots):
            notes.append(CLOSED)
        return tuple(notes)

    def _final(self, shown: str) -> Url:
        """The URL that the page reports, if it has the same origin (scripts can change the path)."""
        arrived = self._navigation.url
        if arrived is None:
            raise SpanielError(Code.INTERNAL, error="a page without a URL")
        try:
            url = parse(shown)._replace(fragment=None)
        except SpanielError:
            return arrived
        return url if url.origin == arrived.origin else arrived

    def _set_identity(self, session: CdpSession) -> None:
        """Frames and workers send the same User-Agent and languages as the page."""
        agent, languages = self._identity
        if agent or languages:
            names = {"acceptLanguage": _language_names(languages)} if languages else {}
            session.post("Emulation.setUserAgentOverride", userAgent=agent or self._cdp.user_agent, **names)

    def adopt(self, session: CdpSession, target: Params) -> None:
        """Attach to a new target of this context: the page itself, a frame, a worker, or a popup."""
        kind = target["type"]
        if kind == "page" and self._session is None:
            self._session = session
            return
        session.hear = lambda method, params: self._hear_other(session, method, params)
        self._set_identity(session)
        session.post("Fetch.enable", patterns=ALL, handleAuthRequests=True)
        session.post("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        if "worker" in kind:
            session.detached = lambda: self._loading.drop_worker(session)
            self._loading.add_worker(session)
            session.post("Network.enable")
        session.post("Runtime.runIfWaitingForDebugger")  # first: closing a popup that waits would stop its opener
        if kind == "page":
            session.hear = lambda _method, _params: None  # its requests stay paused
            self._cdp.post("Target.closeTarget", {"targetId": target["targetId"]})

    def _hear(self, method: str, params: Params) -> None:
        session = self._session
        if session is None:
            return
        own = self._own_events.get(method)
        if own is not None and own(session, params):
            return
        self._hear_other(session, method, params)

    def _document_paused(self, session: CdpSession, params: Params) -> bool:
        """Handle the request for a document of the main frame, or its response head."""
        if params["resourceType"] != "Document" or params["frameId"] != self._frame:
            return False
        if "responseStatusCode" in params or "responseErrorReason" in params:
            self._navigation.responded(session, params)
        else:
            self._navigation.requested(session, params)
            self._loading.mark_changed()
        return True

    def _navigated(self, session: CdpSession, params: Params) -> bool:
        frame = params["frame"]
        if "parentId" not in frame:
            self._navigation.navigated(frame)
            self._loading.began_document(session, frame["loaderId"])
        return True

    def _stopped_loading(self, _session: CdpSession, params: Params) -> bool:
        if params["frameId"] == self._frame:
            self._navigation.ended()
            self._loading.ended_document()
        return True

    def _load_failed(self, _session: CdpSession, params: Params) -> bool:
        self._navigation.load_failed(params)
        return False

    def _dialog(self, session: CdpSession, _params: Params) -> bool:
        session.post("Page.handleJavaScriptDialog", accept=False)
        return True

    def _hear_other(self, session: CdpSession, method: str, params: Params) -> None:
        if method == "Fetch.requestPaused" and self._navigation.frame_requested(session, params):
            return
        if self._interception.heard(session, method, params):
            return
        if method == "Target.attachedToTarget":
            self.adopt(self._cdp.session(params["sessionId"]), params["targetInfo"])
        elif method == "Target.detachedFromTarget":
            self._cdp.forget(params["sessionId"])
        else:
            self._loading.heard(session, method, params)

    def _break(self, why: str) -> None:
        if not self._broken.done():
            self._broken.set_result(why)

    async def close(self) -> None:
        """Dispose of the context; `TimeoutError` if Chromium does not respond."""
        if self._session is not None:
            self._session.detached = lambda: None
        self._interception.close()
        try:
            if self.context:
                async with asyncio.timeout(DISPOSE_SECONDS):
                    await self._cdp.call("Target.disposeBrowserContext", browserContextId=self.context)
        finally:
            await self._egress.close()


def _language_names(header: str) -> str:
    """The languages of an Accept-Language header, the preferred first: what scripts see as `navigator.languages`."""
    weighed: list[tuple[float, str]] = []
    for part in header.split(","):
        name, _, parameter = (piece.strip() for piece in part.partition(";"))
        weight = parameter.lower().removeprefix("q=").strip()
        weighed.append((float(weight) if re.fullmatch(r"[01](\.\d{0,3})?", weight, re.ASCII) else 1.0, name))
    weighed.sort(key=lambda one: -one[0])
    return ",".join(name for weight, name in weighed if weight and name not in ("", "*"))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _milliseconds(end: float) -> int:
    return max(0, round((end - _now()) * 1000))

"""One page in a context of its own: prepared ahead, navigated once, read, thrown away."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from functools import cache
from importlib.resources import files
from secrets import token_hex
from typing import TYPE_CHECKING

import msgspec

from spaniel.browser.cdp import CdpError
from spaniel.browser.idle import Quiet, ledger
from spaniel.browser.interception import ALL, PAGE, Interception
from spaniel.browser.loading import Loading
from spaniel.browser.navigation import Navigation
from spaniel.browser.rendered import PARTIAL, TRUNCATED, Rendered
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from spaniel.browser.cdp import Params, Session, Wire
    from spaniel.browser.rendered import BrowserSettings, Wanted
    from spaniel.net.egress import Exit
    from spaniel.url.value import Url

DISPOSE_SECONDS = 5.0  # a stuck page goes in 10 ms, nobody waits for it; what takes this long is a stuck browser
CRASH_SECONDS = 0.2  # by which the news of a crash follows on the failure that it caused
GRACE = 2.0  # seconds for reading the page after all waiting (D2-25)
MOST_ELEMENTS = 150_000
SOME_TEXT = 200  # characters; less than that is no page that fades in
TRIES = 3  # a page may move on while it is read
LEDGER = f"_{token_hex(8)}"
# Tall, so that what a reader would scroll to is there from the start, and nothing need be scrolled.
VIEWPORT = {"width": 1280, "height": 8000, "deviceScaleFactor": 1, "mobile": False}
PICTURED = frozenset({"image", "font"})  # what a picture would be poor without


class Tab:
    """A browser context, its one page, and whatever the page starts."""

    def __init__(self, wire: Wire, way_out: Exit, settings: BrowserSettings) -> None:
        self._wire = wire
        self._settings = settings
        self._exit = way_out
        self._interception = Interception(way_out)
        self._navigation = Navigation(self._interception, way_out)
        self._loading = Loading()
        self._quiet = Quiet(self._loading, self._navigation, LEDGER)
        self._session: Session | None = None
        self._frame = ""
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._user_agent = ""
        self.context = ""

    @property
    def broken(self) -> bool:
        return self._broken.done()

    @property
    def has_asked(self) -> bool:
        """Whether anything was asked of the web."""
        return self._navigation.moves > 0

    async def prepare(self) -> None:
        """All that can be done before the URL is known."""
        session = await self._create()
        session.hear = self._hear
        session.detached = lambda: self._break("the page is gone")
        await asyncio.gather(
            session.call("Page.enable"),
            session.call("Page.addScriptToEvaluateOnNewDocument", source=ledger(LEDGER)),
            session.call("Emulation.setDeviceMetricsOverride", **VIEWPORT),
            session.call("Inspector.enable"),
            session.call("Network.enable"),
            session.call("Network.setBypassServiceWorker", bypass=True),  # what it answers would not have been judged
            session.call("Fetch.enable", patterns=PAGE, handleAuthRequests=True),
            session.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True),
            session.call("Runtime.runIfWaitingForDebugger"),
        )

    async def _create(self) -> Session:
        self._wire.post("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": self.context})
        self._wire.post("Browser.grantPermissions", {"permissions": [], "browserContextId": self.context})
        made = await self._wire.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        self._frame = made["targetId"]  # of a page, the target's name is its main frame's too
        if self._session is None:
            raise CdpError("the new page was not attached to")
        return self._session

    async def load(self, wanted: Wanted) -> Rendered:
        """The page, rendered. Raises `SpanielError`."""
        blocked = self._settings.blocked()
        self._interception.set(blocked - PICTURED if wanted.picture else blocked, wanted.max_redirects)
        self._exit.know(wanted.target)
        self._navigation.begin(wanted)
        self._user_agent = wanted.user_agent
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

    async def _work(self, wanted: Wanted) -> Rendered:
        session = self._session
        if session is None:
            raise CdpError("there is no page")
        async with Deadline(wanted.timeout_seconds).guarding("load"):
            self._introduce(session)
            done = await session.call("Page.navigate", url=wanted.url.href)
            if error := done.get("errorText"):
                await asyncio.wait([self._broken], timeout=CRASH_SECONDS)
                self._navigation.failed(error)
            await self._navigation.ready()
        idle_ms = self._settings.network_idle_ms
        async with Deadline(idle_ms / 1000 + GRACE).guarding("render"):
            at_rest = await self._quiet.wait(session, idle_ms)
            return await self._read(session, at_rest, picture=wanted.picture)

    async def _read(self, session: Session, at_rest: bool, *, picture: bool) -> Rendered:
        cap = self._settings.max_rendered_dom_bytes
        limits = {"bytes": cap, "elements": MOST_ELEMENTS, "some": SOME_TEXT}
        found = await self._evaluate(session, f"({script()})({msgspec.json.encode(limits).decode()})")
        body = found["html"].encode("utf-8", "replace")
        notes = [*self._navigation.notes, *(() if at_rest else (PARTIAL,))]
        if found["cut"] or len(body) > cap:
            body = body[:cap].decode("utf-8", "ignore").encode()
            notes.append(TRUNCATED)
        return Rendered(
            self._final(found["url"]),
            self._navigation.head,
            f"{found['type']}; charset=utf-8",
            body,
            self._navigation.chain,
            tuple(notes),
            await self._shoot(session) if picture else None,
        )

    async def _evaluate(self, session: Session, expression: str) -> Params:
        for attempt in range(TRIES):
            try:
                world = await session.call("Page.createIsolatedWorld", frameId=self._frame, worldName="spaniel")
                done = await session.call(
                    "Runtime.evaluate",
                    expression=expression,
                    contextId=world["executionContextId"],
                    returnByValue=True,
                )
            except CdpError:
                if attempt == TRIES - 1:
                    raise
                await self._navigation.ready()
                continue
            if "exceptionDetails" in done:
                text = done["exceptionDetails"].get("exception", {}).get("description", "a script failed")
                raise SpanielError(Code.EXTRACTION_FAILED, error=text)
            value: Params = done["result"]["value"]
            return value
        raise AssertionError("the last attempt raises or returns")

    async def _shoot(self, session: Session) -> bytes:
        shot = await session.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return b64decode(shot["data"])

    def _final(self, shown: str) -> Url:
        """What the page calls its URL, as far as it may: another path, never another origin."""
        arrived = self._navigation.url
        if arrived is None:
            raise SpanielError(Code.INTERNAL, error="a page without a URL")
        try:
            told = parse(shown)._replace(fragment=None)
        except SpanielError:
            return arrived
        return told if told.origin == arrived.origin else arrived

    def _introduce(self, session: Session) -> None:
        """Whatever the page starts says who asks, as the page itself does."""
        if self._user_agent:
            session.post("Emulation.setUserAgentOverride", userAgent=self._user_agent)

    def adopt(self, session: Session, target: Params) -> None:
        """Something of this context has come to life: the page itself, a frame, a worker, or a popup."""
        kind = target["type"]
        if kind == "page" and self._session is None:
            self._session = session
            return
        session.hear = lambda method, params: self._hear_other(session, method, params)
        self._introduce(session)
        session.post("Fetch.enable", patterns=ALL, handleAuthRequests=True)
        session.post("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        if "worker" in kind:
            session.detached = lambda: self._loading.drop_worker(session)
            self._loading.add_worker(session)
            session.post("Network.enable")
        session.post("Runtime.runIfWaitingForDebugger")  # first: a popup that is closed while it waits stops its opener
        if kind == "page":
            session.hear = lambda _method, _params: None  # what it asks for stays paused
            self._wire.post("Target.closeTarget", {"targetId": target["targetId"]})

    def _hear(self, method: str, params: Params) -> None:
        session = self._session
        if session is None:
            return
        if method == "Fetch.requestPaused" and self._is_own(params):
            if "responseStatusCode" in params or "responseErrorReason" in params:
                self._navigation.answered(session, params)
            else:
                self._navigation.asked(session, params)
                self._loading.stir()
        elif method == "Page.frameNavigated" and "parentId" not in params["frame"]:
            self._navigation.navigated(params["frame"])
            self._loading.began_document(session, params["frame"]["loaderId"])
        elif method == "Page.domContentEventFired":
            self._navigation.parsed()
        elif method == "Page.frameStoppedLoading" and params["frameId"] == self._frame:
            self._navigation.ended()
        elif method == "Emulation.virtualTimeBudgetExpired":
            self._quiet.expired()
        elif method == "Page.javascriptDialogOpening":
            session.post("Page.handleJavaScriptDialog", accept=False)
        elif method == "Inspector.targetCrashed":
            self._break("the page crashed")
        else:
            self._hear_other(session, method, params)

    def _hear_other(self, session: Session, method: str, params: Params) -> None:
        if self._interception.heard(session, method, params):
            return
        if method == "Target.attachedToTarget":
            self.adopt(self._wire.session(params["sessionId"]), params["targetInfo"])
        elif method == "Target.detachedFromTarget":
            self._wire.forget(params["sessionId"])
        else:
            self._loading.heard(session, method, params)

    def _is_own(self, params: Params) -> bool:
        """Whether a request is for a document of the page itself."""
        return bool(params["resourceType"] == "Document" and params["frameId"] == self._frame)

    def _break(self, why: str) -> None:
        if not self._broken.done():
            self._broken.set_result(why)

    async def close(self) -> None:
        """Throw the context away, whatever its page is doing; `TimeoutError` where Chromium does not obey."""
        if self._session is not None:
            self._session.detached = lambda: None
        self._interception.close()
        try:
            if self.context:
                async with asyncio.timeout(DISPOSE_SECONDS):
                    await self._wire.call("Target.disposeBrowserContext", browserContextId=self.context)
        finally:
            await self._exit.close()


@cache
def script() -> str:
    return (files("spaniel.browser") / "snapshot.js").read_text(encoding="utf-8")

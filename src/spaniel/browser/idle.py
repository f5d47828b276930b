"""Detects when a page is idle: no requests and nothing pending for half a second (FR-WF-11e, f; D2-35).

The half second is shortened where possible. If nothing is left that could change the page, it ends at once; if only
timers are left, virtual time is advanced to them. Everything else (frames, storage, messages, workers, sockets) does
not follow the page's clock, and gets the half second in real time.
"""

from __future__ import annotations

import asyncio
import contextlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from spaniel.browser.cdp import CdpError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.browser.cdp import CdpSession, Params
    from spaniel.browser.navigation import Navigation

MAX_DOCUMENTS = 32  # of a page and its frames that are tracked
# Requests that content does not depend on.
IGNORED = frozenset({"Ping", "Prefetch", "CSPViolationReport", "Manifest", "Media", "TextTrack"})

QUIET_MS = 500
SETTLED_MS = 50  # of quiet, if nothing is known that could end it
STEP_MS = 20  # between two checks of pending work
BARE = 400  # characters of text; a page with fewer, and with scripts, is not considered ready
LATE_MS = 3_000  # of virtual time for the timers of a page that is bare, or grows with each of them
LINGER_MS = 1_500  # of quiet for a bare page that may still change; and how long a growing page is watched
PATIENCE_MS = 5_000  # for pending work while nothing is loaded; what takes longer may never finish
STARVED = 10_000  # tasks after which virtual time advances even if there is always another


class RequestTracker:
    """Tracks active requests. A worker's script is requested by the page, and its end is reported by the worker."""

    def __init__(self) -> None:
        self._active: dict[str, tuple[str, str]] = {}  # request: its session and document
        self._open: set[str] = set()  # web sockets and event sources
        self._workers: dict[str, CdpSession] = {}
        self._document = ""  # the request for the current document, which has the id of its loader
        self.documents: list[str] = []  # requests for it and for its frames
        self.changed = asyncio.Event()
        self.last = 0.0  # when a request began or ended

    @property
    def active(self) -> bool:
        return bool(self._active)

    @property
    def is_live(self) -> bool:
        """Whether data can arrive without a request: from a worker, a socket, an event source."""
        return bool(self._open or self._workers)

    def mark_changed(self) -> None:
        self.last = asyncio.get_running_loop().time()
        self.changed.set()

    def add_worker(self, session: CdpSession) -> None:
        self._workers[session.ident] = session
        self.mark_changed()

    def drop_worker(self, session: CdpSession) -> None:
        self._workers.pop(session.ident, None)
        self._keep(lambda of, _loader: of != session.ident)

    def began_document(self, session: CdpSession, loader: str) -> None:
        """Drop the requests of the previous document."""
        self._keep(lambda of, for_document: of != session.ident or for_document == loader)
        self._document = loader
        self.documents = [loader]
        self._open.clear()
        self.mark_changed()

    def ended_document(self) -> None:
        """The document has ended. Chromium does not report the end of one that a script stopped."""
        if self._active.pop(self._document, None) is not None:
            self.mark_changed()

    async def wait_for_workers(self) -> None:
        """Wait until no worker is busy: a worker that computes evaluates nothing before it is done."""
        calls = [worker.call("Runtime.evaluate", expression="1") for worker in self._workers.values()]
        await asyncio.gather(*calls, return_exceptions=True)

    def heard(self, session: CdpSession, method: str, params: Params) -> None:
        if method == "Network.requestWillBeSent":
            self._begin(session, params)
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self._open.discard(params["requestId"])
            if self._active.pop(params["requestId"], None) is not None:
                self.mark_changed()
        elif method == "Network.webSocketCreated":
            self._open.add(params["requestId"])
            self.changed.set()
        elif method == "Network.webSocketClosed":
            self._open.discard(params["requestId"])

    def _begin(self, session: CdpSession, params: Params) -> None:
        request, kind = params["requestId"], params.get("type", "")
        if kind == "Document" and len(self.documents) < MAX_DOCUMENTS:
            self.documents.append(request)
        if kind == "EventSource":
            self._open.add(request)
            self.changed.set()
        elif kind not in IGNORED and not params["request"]["url"].startswith("data:"):
            self._active[request] = session.ident, params.get("loaderId", "")
            self.mark_changed()

    def _keep(self, wanted: Callable[[str, str], bool]) -> None:
        self._active = {request: of for request, of in self._active.items() if wanted(*of)}


class PendingWork(msgspec.Struct, frozen=True):
    """What is pending in a page, as counted by pending.js."""

    held: int = 0  # promises of storage, crypto, decoders …
    frames: int = 0  # animation frames
    moves: bool = False  # animations that are about to end
    due: float = -1  # milliseconds to the next timer within the window; -1: there is none
    lively: bool = True
    unready: bool = False  # documents, fonts, scripts that are loading
    bare: bool = False  # little text, or signs of more to come
    size: int = 0  # elements and characters
    closed: int = 0  # closed shadow roots
    declared: bool = False  # whether a script wrote markup that can declare one


UNKNOWN = PendingWork()  # if pending.js does not respond


class IdleWaiter:
    """Waits until a page is idle."""

    def __init__(self, loading: RequestTracker, navigation: Navigation, name: str) -> None:
        self._loading = loading
        self._navigation = navigation
        self._name = msgspec.json.encode(name).decode()
        self._expired = asyncio.Event()
        self._virtual = False  # whether the page runs on virtual time
        self.has_closed_roots = False
        self.may_have_closed_roots = False
        self._skipped_ms = 0  # of virtual time, since the last request
        self._size = 0  # of the page, when virtual time was last advanced

    def expired(self) -> None:
        self._expired.set()

    async def wait(self, session: CdpSession, most_ms: int) -> bool:
        """Whether the page became idle in time, with nothing pending."""
        try:
            async with asyncio.timeout(most_ms / 1000):
                return await self._until_idle(session, most_ms)
        except TimeoutError:
            session.post("Runtime.terminateExecution")
            if self._virtual:
                session.post("Emulation.setVirtualTimePolicy", policy="pause")
            return False

    async def _until_idle(self, session: CdpSession, most_ms: int) -> bool:
        began, last, before, moves = _now(), -1.0, UNKNOWN, -1
        grew = began  # when the page last did, without a request
        pending_ms, skips = 0.0, most_ms // QUIET_MS  # virtual time is limited too, for pages that poll
        while True:
            await self._parsed(session)
            if self._loading.active:
                await self._live(session, STEP_MS)
                continue
            if (last, moves) != (self._loading.last, self._navigation.moves):
                last, moves = self._loading.last, self._navigation.moves
                pending_ms, self._skipped_ms, before = 0.0, 0, UNKNOWN
            look = await self._look(session)
            since = max(last, began)
            if before is not UNKNOWN and look.size > before.size and (_now() - since) * 1000 < LINGER_MS:
                grew = _now()
            quiet = (_now() - max(since, grew)) * 1000
            if look.held or look.moves or look.unready:
                if pending_ms >= PATIENCE_MS or (not look.held and pending_ms > 2 * QUIET_MS):
                    return not look.held
                pending_ms += await self._live(session, STEP_MS)
                before = look
                continue
            if self._may_skip(look) and skips:
                skips -= 1
                await self._skip(session, look.size)
                before = UNKNOWN
                continue
            wanted, restless = self._wanted(look, before), self._is_restless(look)
            if quiet >= wanted and await self._workers_idle(last):
                return True
            before = look
            await self._live(session, min(wanted - quiet, QUIET_MS / 2) if restless else SETTLED_MS)

    async def _parsed(self, session: CdpSession) -> None:
        """Wait for DOMContentLoaded of the last document. On virtual time, its parser needs the clock to advance."""
        while self._virtual and not self._navigation.is_ready:
            await self._live(session, STEP_MS)
        await self._navigation.ready()

    async def _workers_idle(self, since: float) -> bool:
        """Whether the workers are idle too. If one was busy, its next message is waited for."""
        began = _now()
        with contextlib.suppress(TimeoutError):  # one that computes forever sends nothing
            async with asyncio.timeout(PATIENCE_MS / 1000):
                await self._loading.wait_for_workers()
        if (_now() - began) * 1000 > QUIET_MS / 2:
            self._loading.mark_changed()
        return self._loading.last == since

    def _wanted(self, look: PendingWork, before: PendingWork) -> float:
        """How many milliseconds of quiet are needed."""
        if look.bare and self._may_change(look):
            return LINGER_MS
        return QUIET_MS if self._is_restless(look) or look.size != before.size else SETTLED_MS

    def _is_restless(self, look: PendingWork) -> bool:
        """Whether anything is known that could change the page; else two equal checks are enough."""
        return look.bare or look.due >= 0 or self._may_change(look)

    def _may_change(self, look: PendingWork) -> bool:
        """Whether anything but the page's own timers could change it."""
        return bool(look.lively or look.frames or self._loading.is_live)

    def _may_skip(self, look: PendingWork) -> bool:
        """Whether only timers are pending, so that virtual time can be advanced to them."""
        most = LATE_MS if look.bare or look.size > self._size else QUIET_MS
        return look.due >= 0 and not self._may_change(look) and self._skipped_ms < most

    async def _skip(self, session: CdpSession, size: int) -> None:
        """Let half a second of virtual time pass; it stops while something is loaded."""
        if not self._virtual:
            self._virtual = True
            await self._evaluate(session, "guard()")
        self._skipped_ms += QUIET_MS
        self._size = size
        self._expired.clear()
        session.post(
            "Emulation.setVirtualTimePolicy",
            policy="pauseIfNetworkFetchesPending",
            budget=QUIET_MS,
            maxVirtualTimeTaskStarvationCount=STARVED,
        )
        while not self._expired.is_set() and not self._loading.is_live and self._navigation.is_ready:
            await _either(self._expired, self._loading.changed, QUIET_MS)
            self._loading.changed.clear()

    async def _live(self, session: CdpSession, milliseconds: float) -> float:
        """Wait in real time until something changes; return how much time passed on the page's clock."""
        began = _now()
        if self._virtual:  # the page's clock advances only by the budget it gets
            session.post("Emulation.setVirtualTimePolicy", policy="advance", budget=STEP_MS)
            await asyncio.sleep(STEP_MS / 1000)
            return STEP_MS
        self._loading.changed.clear()
        await _either(self._loading.changed, None, milliseconds)
        return (_now() - began) * 1000

    async def _look(self, session: CdpSession) -> PendingWork:
        within = LATE_MS if self._skipped_ms else QUIET_MS
        found = await self._evaluate(session, f"look({BARE}, {within}, {LATE_MS})")
        try:
            look = msgspec.convert(found, PendingWork)
        except msgspec.ValidationError:  # the page has changed the script's result
            return UNKNOWN
        self.has_closed_roots, self.may_have_closed_roots = look.closed > 0, look.declared
        return look

    async def _evaluate(self, session: CdpSession, call: str) -> Params | None:
        """Evaluated in the page's own world, so that it waits for the script that is running."""
        try:
            done = await session.call("Runtime.evaluate", expression=f"window[{self._name}].{call}", returnByValue=True)
        except CdpError:
            return None
        value: Params | None = done.get("result", {}).get("value")
        return value if "exceptionDetails" not in done and isinstance(value, dict) else None


async def _either(one: asyncio.Event, other: asyncio.Event | None, milliseconds: float) -> None:
    waits = [asyncio.create_task(event.wait()) for event in (one, other) if event is not None]
    try:
        await asyncio.wait(waits, timeout=max(milliseconds, 1) / 1000, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


@cache
def pending_script(name: str) -> str:
    """The script that counts a page's pending work, under a name that the page cannot guess."""
    source = (files("spaniel.browser") / "pending.js").read_text(encoding="utf-8")
    return f"({source})({msgspec.json.encode(name).decode()})"


def _now() -> float:
    return asyncio.get_running_loop().time()

"""When a page has come to rest: nothing is under way, nothing is pending, for half a second (FR-WF-11e, f; D2-35).

Half a second of silence is not always waited for. Where nothing is left that could break it, it is over at once; where
only timers are left, virtual time runs ahead to them; all else (frames, storage, messages, workers, sockets) has to do
with the world outside the page's clock, and gets the half second in real time.
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
    from spaniel.browser.cdp import CdpSession, Params
    from spaniel.browser.loading import RequestTracker
    from spaniel.browser.navigation import Navigation

QUIET_MS = 500
SETTLED_MS = 50  # of silence, where nothing is known that could break it
STEP_MS = 20  # between two looks at what is pending
BARE = 400  # characters of text; a page with fewer, and with scripts, is not believed to be ready
LATE_MS = 3_000  # of virtual time for the timers of a page that is bare, or grows with each of them
LINGER_MS = 1_500  # of silence where a page is bare and somebody may yet speak; and how long one that grows is watched
PATIENCE_MS = 5_000  # for what is pending while nothing is loaded; what takes longer may never come
STARVED = 10_000  # tasks after which virtual time goes on even though there is always another


class PendingWork(msgspec.Struct, frozen=True):
    """What is pending in a page, as its ledger has it."""

    held: int = 0  # answers of storage, crypto, decoders …
    frames: int = 0  # animation frames
    moves: bool = False  # animations that are about to end
    due: float = -1  # milliseconds to the next timer within the window; -1: there is none
    lively: bool = True
    unready: bool = False  # documents, fonts, scripts that are not done
    bare: bool = False  # little text, or signs that more will come
    size: int = 0  # elements and characters
    closed: int = 0  # shadow roots that nobody can look into
    declared: bool = False  # whether a script wrote markup that may declare one


UNKNOWN = PendingWork()  # of a page whose ledger does not answer


class IdleWaiter:
    """Waits for a page's rest."""

    def __init__(self, loading: RequestTracker, navigation: Navigation, name: str) -> None:
        self._loading = loading
        self._navigation = navigation
        self._name = msgspec.json.encode(name).decode()
        self._expired = asyncio.Event()
        self._virtual = False  # whether the page's clock is ours already
        self.has_closed_roots = False
        self.may_have_closed_roots = False
        self._skipped_ms = 0  # of virtual time, since the last request
        self._size = 0  # of the page, when its clock was last put on

    def expired(self) -> None:
        self._expired.set()

    async def wait(self, session: CdpSession, most_ms: int) -> bool:
        """Whether the page came to rest in time, with nothing pending."""
        try:
            async with asyncio.timeout(most_ms / 1000):
                return await self._rest(session, most_ms)
        except TimeoutError:
            session.post("Runtime.terminateExecution")
            if self._virtual:
                session.post("Emulation.setVirtualTimePolicy", policy="pause")
            return False

    async def _rest(self, session: CdpSession, most_ms: int) -> bool:
        began, last, before, moves = _now(), -1.0, UNKNOWN, -1
        grew = began  # when the page last did, of itself
        pending_ms, skips = 0.0, most_ms // QUIET_MS  # virtual time is limited too: a page that polls is not hurried on
        while True:
            await self._parsed(session)
            if self._loading.under_way:
                await self._live(session, STEP_MS)
                continue
            if (last, moves) != (self._loading.last, self._navigation.moves):
                last, moves = self._loading.last, self._navigation.moves
                pending_ms, self._skipped_ms, before = 0.0, 0, UNKNOWN
            look = await self._look(session)
            since = max(last, began)
            if before is not UNKNOWN and look.size > before.size and (_now() - since) * 1000 < LINGER_MS:
                grew = _now()
            silence = (_now() - max(since, grew)) * 1000
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
            if silence >= wanted and await self._workers_rest(last):
                return True
            before = look
            await self._live(session, min(wanted - silence, QUIET_MS / 2) if restless else SETTLED_MS)

    async def _parsed(self, session: CdpSession) -> None:
        """DOMContentLoaded of the last document. Where its clock is ours, a page's parser stands still without us."""
        while self._virtual and not self._navigation.is_ready:
            await self._live(session, STEP_MS)
        await self._navigation.ready()

    async def _workers_rest(self, since: float) -> bool:
        """Whether the workers are at rest too. Where one was computing, what it says next is waited for."""
        began = _now()
        with contextlib.suppress(TimeoutError):  # one that computes for ever says nothing
            async with asyncio.timeout(PATIENCE_MS / 1000):
                await self._loading.workers_pause()
        if (_now() - began) * 1000 > QUIET_MS / 2:
            self._loading.stir()
        return self._loading.last == since

    def _wanted(self, look: PendingWork, before: PendingWork) -> float:
        """How long the silence has to be."""
        if look.bare and self._others_may_speak(look):
            return LINGER_MS
        return QUIET_MS if self._is_restless(look) or look.size != before.size else SETTLED_MS

    def _is_restless(self, look: PendingWork) -> bool:
        """Whether anything is known that could break the silence; else two looks that find the same are enough."""
        return look.bare or look.due >= 0 or self._others_may_speak(look)

    def _others_may_speak(self, look: PendingWork) -> bool:
        """Whether anything but the page's own timers could change it."""
        return bool(look.lively or look.frames or self._loading.is_live)

    def _may_skip(self, look: PendingWork) -> bool:
        """Whether only timers are pending, so that nothing is lost when the clock runs ahead to them."""
        most = LATE_MS if look.bare or look.size > self._size else QUIET_MS
        return look.due >= 0 and not self._others_may_speak(look) and self._skipped_ms < most

    async def _skip(self, session: CdpSession, size: int) -> None:
        """Half a second of virtual time goes by; it stands still while something is loaded."""
        if not self._virtual:
            self._virtual = True
            await self._ask(session, "guard()")
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
            await _either(self._expired, self._loading.stirred, QUIET_MS)
            self._loading.stirred.clear()

    async def _live(self, session: CdpSession, milliseconds: float) -> float:
        """Real time goes by, until something stirs; how much of it by the page's own clock."""
        began = _now()
        if self._virtual:  # the page's clock goes only as far as it is told
            session.post("Emulation.setVirtualTimePolicy", policy="advance", budget=STEP_MS)
            await asyncio.sleep(STEP_MS / 1000)
            return STEP_MS
        self._loading.stirred.clear()
        await _either(self._loading.stirred, None, milliseconds)
        return (_now() - began) * 1000

    async def _look(self, session: CdpSession) -> PendingWork:
        within = LATE_MS if self._skipped_ms else QUIET_MS
        found = await self._ask(session, f"look({BARE}, {within}, {LATE_MS})")
        try:
            look = msgspec.convert(found, PendingWork)
        except msgspec.ValidationError:  # a page may have got at its ledger
            return UNKNOWN
        self.has_closed_roots, self.may_have_closed_roots = look.closed > 0, look.declared
        return look

    async def _ask(self, session: CdpSession, question: str) -> Params | None:
        """Asked where the page's scripts run, so that the answer waits for the one that is running."""
        try:
            done = await session.call(
                "Runtime.evaluate", expression=f"window[{self._name}].{question}", returnByValue=True
            )
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
def ledger(name: str) -> str:
    """The script that keeps a page's ledger, under a name that no page knows."""
    source = (files("spaniel.browser") / "pending.js").read_text(encoding="utf-8")
    return f"({source})({msgspec.json.encode(name).decode()})"


def _now() -> float:
    return asyncio.get_running_loop().time()

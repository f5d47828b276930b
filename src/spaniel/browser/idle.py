"""When a page has come to rest: no request under way for half a second (FR-WF-11e, f).

The half second is virtual time, which stands still while the page loads something and runs ahead while it only waits;
so a quiet page costs milliseconds. Workers are not seen by it, and their requests are counted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.browser.cdp import Params, Session
    from spaniel.browser.interception import Interception
    from spaniel.browser.navigation import Navigation

QUIET_MS = 500
STARVED = 10_000  # tasks after which virtual time goes on even though there is always another


class Quiet:
    """Waits for a page's rest."""

    def __init__(self, interception: Interception, navigation: Navigation) -> None:
        self._interception = interception
        self._navigation = navigation
        self._stirred = asyncio.Event()
        self._loading: dict[str, set[str]] = {}  # of each worker
        self._last = 0.0

    def expired(self) -> None:
        self._stirred.set()

    def moved(self) -> None:
        self._stirred.set()

    def add_worker(self, session: Session) -> None:
        self._loading[session.ident] = set()
        self._last = _now()

    def drop_worker(self, session: Session) -> None:
        self._loading.pop(session.ident, None)

    def worker_event(self, session: Session, method: str, params: Params) -> None:
        under_way = self._loading.get(session.ident)
        if under_way is None:
            return
        if method == "Network.requestWillBeSent":
            under_way.add(params["requestId"])
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            under_way.discard(params["requestId"])
        else:
            return
        self._last = _now()

    async def wait(self, session: Session, most_ms: int) -> bool:
        """Whether the page came to rest in time; it stands still afterwards."""
        try:
            async with asyncio.timeout(most_ms / 1000):
                for _ in range(most_ms // QUIET_MS):  # virtual time is limited too: a page that polls is not hurried on
                    began = _now()
                    if await self._window(session) and await self._workers_rest(began):
                        return True
        except TimeoutError:
            pass
        session.post("Runtime.terminateExecution")
        session.post("Emulation.setVirtualTimePolicy", policy="pause")
        return False

    async def _window(self, session: Session) -> bool:
        """Half a second goes by; whether nothing was asked for in it."""
        await self._navigation.ready()
        requests, moves = self._interception.requests, self._navigation.moves
        self._stirred.clear()
        session.post(
            "Emulation.setVirtualTimePolicy",
            policy="pauseIfNetworkFetchesPending",
            budget=QUIET_MS,
            maxVirtualTimeTaskStarvationCount=STARVED,
        )
        await self._stirred.wait()
        return requests == self._interception.requests and moves == self._navigation.moves

    async def _workers_rest(self, since: float) -> bool:
        """Whether the workers did nothing meanwhile; if they did, the page is given time for what they say."""
        while any(self._loading.values()) or (  # noqa: ASYNC110  it is time that is waited for
            self._loading and _now() - self._last < QUIET_MS / 1000
        ):
            await asyncio.sleep(0.02)
        return self._last <= since


def _now() -> float:
    return asyncio.get_running_loop().time()

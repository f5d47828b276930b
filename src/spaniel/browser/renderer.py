"""Renders pages: one warm Chromium, a fresh context for every page, and another Chromium when one has had its day."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, NamedTuple

from spaniel.browser.cdp import CdpError
from spaniel.browser.certificates import TrustStoreError, database
from spaniel.browser.chrome import Chrome
from spaniel.browser.find import find_path
from spaniel.browser.launch import launch
from spaniel.browser.rendering import BrowserSettings, RenderedPage
from spaniel.browser.turns import PageSlots
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.egress import EgressProxy

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spaniel.browser.rendering import RenderRequest
    from spaniel.browser.tab import Tab
    from spaniel.net.egress import Vets
    from spaniel.net.proxy import Proxies

log = logging.getLogger("spaniel.browser")

AT_ONCE = 8
MOST_OPEN = 32  # with those that take long
ANSWER_SECONDS = 2.0  # within which a Chromium that works answers
OPEN_SECONDS = 3.0  # for a tab, which takes a tenth of one; what takes longer, another Chromium does sooner
BUSY_SECONDS = 15.0  # for the first tab of that other one: it is new, so it is the machine that is slow
CORES = os.cpu_count() or 1
PAGES = 400  # after which a Chromium is replaced


class UnusedTabError(Exception):
    """Chromium went before the page was there: nothing is lost by another try."""


class OpenTab(NamedTuple):
    """A tab that nobody has used yet, and the Chromium that it is in."""

    chrome: Chrome
    tab: Tab


class Renderer:
    """Renders pages for many tasks at once. Chromium starts when the first page is asked for; close it at the end."""

    def __init__(
        self,
        guard: Vets,
        settings: BrowserSettings | None = None,
        proxies: Proxies | None = None,
        ca_file: str = "",
    ) -> None:
        self._guard = guard
        self._settings = settings or BrowserSettings()
        self._settings.blocked()  # a mistake in the settings is told at once
        self._proxies = proxies
        self._ca_file = ca_file
        self._trust: dict[str, bytes] | None = None
        self._turns = PageSlots(AT_ONCE, MOST_OPEN)
        self._starting = asyncio.Lock()
        self._chrome: Chrome | None = None
        self._spare: OpenTab | None = None
        self._filling = False
        self._active = 0
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        """Raises `browser_unavailable`, `browser_crashed`, and whatever a fetch may."""
        deadline = Deadline(wanted.timeout_seconds)  # waiting for a turn and starting Chromium are part of it
        turn = self._turns.taken()
        with deadline.guarding("browser"):
            await turn.__aenter__()
        self._active += 1
        try:
            try:
                return await self._load(wanted, deadline)
            except UnusedTabError:
                return await self._load(wanted, deadline)
        except UnusedTabError as error:
            raise SpanielError(Code.BROWSER_CRASHED, error="it crashes at every start") from error
        finally:
            self._active -= 1
            await turn.__aexit__(None, None, None)

    async def _load(self, wanted: RenderRequest, deadline: Deadline) -> RenderedPage:
        chrome = self._chrome
        try:
            with deadline.guarding("browser"):
                place = await self._take()
        except SpanielError as error:
            if error.code is Code.TIMEOUT:
                self._begin(self._suspect(chrome))
            raise
        self._begin(self._refill())
        try:
            page = await place.tab.load(wanted._replace(timeout_seconds=max(0.0, deadline.left())))
            if not place.chrome.alive:  # what it lacks since then, nobody knows
                raise SpanielError(Code.BROWSER_CRASHED, error="a process of Chromium ended while it was in use")
        except SpanielError as error:
            if error.code is Code.BROWSER_CRASHED and _is_unused(place):
                self._set_aside(place.chrome)
                raise UnusedTabError from error
            if error.code is Code.TIMEOUT and not place.tab.has_come:
                self._begin(self._suspect(place.chrome))
            raise
        else:
            return page
        finally:
            self._begin(self._leave(place))

    async def _suspect(self, chrome: Chrome | None) -> None:
        """A Chromium in which a page got nowhere: one that does not answer, or has no network, is ended."""
        if chrome is None:
            return
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                tab = await chrome.open_tab(EgressProxy(self._guard))
                await chrome.close_tab(tab)
        except (CdpError, TimeoutError):
            await self._end(chrome)

    async def close(self) -> None:
        self._closed = True
        spare, self._spare = self._spare, None
        if spare is not None:
            self._begin(self._leave(spare))
        while self._work:
            await asyncio.gather(*self._work, return_exceptions=True)
        async with self._starting:  # one that is being started is waited for
            chrome, self._chrome = self._chrome, None
        if chrome is not None:
            await chrome.process.close()

    async def _take(self) -> OpenTab:
        spare, self._spare = self._spare, None
        if spare is not None:
            is_there = False
            try:
                is_there = spare.chrome.alive and await spare.tab.answers(ANSWER_SECONDS)
            finally:  # also where the fetch is stopped meanwhile
                if not is_there:
                    self._begin(self._leave(spare))
            if is_there:
                return spare
        try:
            return await self._open()
        except CdpError:
            pass  # Chromium has gone since it was last used: once more, with a new one
        try:
            return await self._open(BUSY_SECONDS)
        except CdpError as error:
            raise SpanielError(Code.BROWSER_CRASHED, error=str(error)) from None

    async def _open(self, seconds: float = OPEN_SECONDS) -> OpenTab:
        """A tab in a running Chromium; one that does not even open a tab is set aside, and `CdpError` is raised."""
        chrome = await self._running()
        try:
            async with asyncio.timeout(seconds):
                return OpenTab(chrome, await chrome.open_tab(EgressProxy(self._guard, self._proxies)))
        except TimeoutError:
            self._set_aside(chrome)
            raise CdpError(f"no new page within {seconds:g} s") from None

    async def _running(self) -> Chrome:
        """The Chromium in use, or a new one where it has gone or is old."""
        async with self._starting:
            self._require_open()
            old = self._chrome
            if old is not None and old.alive and old.opened < PAGES:
                return old
            self._chrome = None
            if old is not None:
                self._begin(self._retire(old))
            path = find_path(self._settings.chromium_path)
            trust = await asyncio.to_thread(self._trusted)
            process = await launch(path, no_sandbox=self._settings.no_sandbox, trust=trust)
            if self._closed:
                await process.kill()
            self._require_open()
            chrome = self._chrome = Chrome(process, self._settings)
            await chrome.start()
            return chrome

    def _trusted(self) -> dict[str, bytes]:
        """What tells a Chromium whom to trust; where that cannot be had, it trusts fewer and never more."""
        if self._trust is None:
            try:
                self._trust = database(self._ca_file) if self._ca_file else {}
            except TrustStoreError as error:
                log.warning("ca_file does not apply to Chromium: %s", error)
                self._trust = {}
        return self._trust

    def _require_open(self) -> None:
        if self._closed:
            path = self._settings.chromium_path
            raise SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path=path, error="the client is closed")

    async def _refill(self) -> None:
        """Prepare the next page's tab while this page is loading, if there is a core to spare for it."""
        if not self._wants_spare() or self._filling or self._active > CORES:
            return
        self._filling = True
        try:
            place = await self._open()
        except (CdpError, SpanielError) as error:
            log.debug("no tab could be prepared: %s", error)
            return
        finally:
            self._filling = False
        if self._wants_spare():
            self._spare = place
        else:
            await self._leave(place)

    def _wants_spare(self) -> bool:
        return self._spare is None and not self._closed

    async def _leave(self, place: OpenTab) -> None:
        """Throw a used tab away; a Chromium that does not let go of it goes too."""
        try:
            await place.chrome.close_tab(place.tab)
        except (CdpError, TimeoutError):
            await self._end(place.chrome)
        else:
            if place.chrome is not self._chrome:
                await self._retire(place.chrome)

    async def _retire(self, chrome: Chrome) -> None:
        """Close a Chromium that is no longer in use, once its last page is done."""
        if self._spare is not None and self._spare.chrome is chrome:
            spare, self._spare = self._spare, None
            await self._leave(spare)
        if not chrome.alive or not chrome.busy:
            await chrome.process.close()

    def _set_aside(self, chrome: Chrome) -> None:
        """The next page gets another Chromium; those that are in this one may yet come to an end."""
        if self._chrome is chrome:
            self._chrome = None
        self._begin(self._retire(chrome))

    async def _end(self, chrome: Chrome) -> None:
        if self._chrome is chrome:
            self._chrome = None
        await chrome.process.kill()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)


def _is_unused(place: OpenTab) -> bool:
    """Whether nothing was asked for; or nothing has come, and Chromium runs on, so that only a process was missing."""
    return not place.tab.has_asked or (not place.tab.has_come and place.chrome.process.alive)

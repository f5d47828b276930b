"""Renders pages in one warm Chromium, each in a fresh context; replaces Chromium when it is old or broken."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from spaniel.browser.cdp import CdpError
from spaniel.browser.certificates import TrustStoreError, database
from spaniel.browser.find import find_path
from spaniel.browser.launch import launch
from spaniel.browser.rendering import BrowserSettings
from spaniel.browser.tab import Tab
from spaniel.errors import Code, SpanielError
from spaniel.net.deadline import Deadline
from spaniel.net.egress import EgressProxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from spaniel.browser.cdp import Params
    from spaniel.browser.launch import Process
    from spaniel.browser.rendering import RenderedPage, RenderRequest
    from spaniel.net.egress import TargetVetter
    from spaniel.net.proxy import Proxies

LONG = 2.0  # seconds after which a page frees its slot for the next

log = logging.getLogger("spaniel.browser")

AT_ONCE = 8
MAX_OPEN = 32  # pages, including those that take long
ANSWER_SECONDS = 2.0  # within which a working Chromium responds
OPEN_SECONDS = 3.0  # for a tab, which normally takes 0.1; after this a new Chromium is faster
BUSY_SECONDS = 15.0  # for the first tab of a new Chromium, if the machine is slow
CORES = os.cpu_count() or 1
PAGES = 400  # after which a Chromium is replaced


class Chrome:
    """A browser process and its tabs: routes events of the browser to the tab that they concern."""

    def __init__(self, process: Process, settings: BrowserSettings) -> None:
        self.process = process
        self._settings = settings
        self._tabs: dict[str, Tab] = {}
        self.opened = 0  # tabs so far
        self._network = 0  # the id of its network process, once it is known
        process.cdp.hear = self._hear

    @property
    def alive(self) -> bool:
        """Whether it runs, and its network process too: without that, pages lose what they load."""
        return self.process.alive and (self._network == 0 or _runs(self._network))

    @property
    def busy(self) -> bool:
        return bool(self._tabs)

    async def start(self) -> None:
        await self.process.cdp.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    async def open_tab(self, egress: EgressProxy) -> Tab:
        """A blank page in a fresh context, ready to navigate."""
        self.opened += 1
        tab = Tab(self.process.cdp, egress, self._settings)
        try:
            await egress.open()
            made = await self.process.cdp.call(
                "Target.createBrowserContext",
                proxyServer=f"http://127.0.0.1:{egress.port}",
                proxyBypassList="<-loopback>",
            )
            tab.context = made["browserContextId"]
            self._tabs[tab.context] = tab
            await tab.prepare()
            if not self._network:
                await self._find_network()
        except BaseException:
            if self._tabs.pop(tab.context, None) is not None:
                self.process.cdp.post("Target.disposeBrowserContext", {"browserContextId": tab.context})
            await egress.close()
            raise
        return tab

    async def _find_network(self) -> None:
        info = await self.process.cdp.call("SystemInfo.getProcessInfo")
        found = [one["id"] for one in info["processInfo"] if "networkservice" in one["type"].lower()]
        self._network = found[0] if found else 0  # in some builds it is part of the browser's own process

    async def close_tab(self, tab: Tab) -> None:
        """`TimeoutError` if Chromium does not respond; it must be replaced then."""
        self._tabs.pop(tab.context, None)
        await tab.close()

    def _hear(self, method: str, params: Params) -> None:
        cdp = self.process.cdp
        if method == "Target.attachedToTarget":
            tab = self._tabs.get(params["targetInfo"].get("browserContextId", ""))
            session = cdp.session(params["sessionId"])
            if tab is not None:
                tab.adopt(session, params["targetInfo"])
            else:
                session.post("Runtime.runIfWaitingForDebugger")
        elif method == "Target.detachedFromTarget":
            cdp.forget(params["sessionId"])


def _runs(pid: int) -> bool:
    """Whether a process runs: not stopped, not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X")
    except (ProcessLookupError, FileNotFoundError):
        return not os.path.exists("/proc/self/stat") and _is_there(pid)  # there is no /proc everywhere


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


class PageSlots:
    """At most `at_once` pages that began less than `LONG` seconds ago, and `most` in all."""

    def __init__(self, at_once: int, most: int) -> None:
        self._lately = asyncio.Semaphore(at_once)
        self._all = asyncio.Semaphore(most)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        async with self._all:
            await self._lately.acquire()
            given_back = False

            def give_back() -> None:
                nonlocal given_back
                if not given_back:
                    given_back = True
                    self._lately.release()

            timer = asyncio.get_running_loop().call_later(LONG, give_back)
            try:
                yield
            finally:
                timer.cancel()
                give_back()


class UnusedTabError(Exception):
    """Chromium exited before the page was loaded: it can be tried again."""


class OpenTab(NamedTuple):
    """An unused tab and its Chromium."""

    chrome: Chrome
    tab: Tab


class Renderer:
    """Renders pages for many tasks at once. Chromium starts with the first page; close the renderer at the end."""

    def __init__(
        self,
        guard: TargetVetter,
        settings: BrowserSettings | None = None,
        proxies: Proxies | None = None,
        ca_file: str = "",
    ) -> None:
        self._guard = guard
        self._settings = settings or BrowserSettings()
        self._settings.blocked()  # reports invalid settings early
        self._proxies = proxies
        self._ca_file = ca_file
        self._trust: dict[str, bytes] | None = None
        self._turns = PageSlots(AT_ONCE, MAX_OPEN)
        self._starting = asyncio.Lock()
        self._chrome: Chrome | None = None
        self._spare: OpenTab | None = None
        self._filling = False
        self._active = 0
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False

    async def render(self, wanted: RenderRequest) -> RenderedPage:
        """Raises `browser_unavailable`, `browser_crashed`, and the errors of a fetch."""
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
            if not place.chrome.alive:  # the page may be incomplete
                raise SpanielError(Code.BROWSER_CRASHED, error="a process of Chromium ended while it was in use")
        except SpanielError as error:
            if error.code is Code.BROWSER_CRASHED and _is_unused(place):
                self._set_aside(place.chrome)
                raise UnusedTabError from error
            if error.code is Code.TIMEOUT and not place.tab.has_document:
                self._begin(self._suspect(place.chrome))
            raise
        else:
            return page
        finally:
            self._begin(self._leave(place))

    async def _suspect(self, chrome: Chrome | None) -> None:
        """Check a Chromium in which a page failed to load: one that does not respond, or has no network, is ended."""
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
        async with self._starting:  # waits for one that is starting
            chrome, self._chrome = self._chrome, None
        if chrome is not None:
            await chrome.process.close()

    async def _take(self) -> OpenTab:
        spare, self._spare = self._spare, None
        if spare is not None:
            is_there = False
            try:
                is_there = spare.chrome.alive and await spare.tab.answers(ANSWER_SECONDS)
            finally:  # also if the fetch is cancelled
                if not is_there:
                    self._begin(self._leave(spare))
            if is_there:
                return spare
        try:
            return await self._open()
        except CdpError:
            pass  # Chromium has exited since it was last used: try again with a new one
        try:
            return await self._open(BUSY_SECONDS)
        except CdpError as error:
            raise SpanielError(Code.BROWSER_CRASHED, error=str(error)) from None

    async def _open(self, seconds: float = OPEN_SECONDS) -> OpenTab:
        """A tab in a running Chromium. If it opens none in time, it is replaced, and `CdpError` is raised."""
        chrome = await self._running()
        try:
            async with asyncio.timeout(seconds):
                return OpenTab(chrome, await chrome.open_tab(EgressProxy(self._guard, self._proxies)))
        except TimeoutError:
            self._set_aside(chrome)
            raise CdpError(f"no new page within {seconds:g} s") from None

    async def _running(self) -> Chrome:
        """The current Chromium, or a new one if it has exited or is old."""
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
        """The files of the trust store; without them Chromium trusts only what the system trusts."""
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
        """Close a used tab; a Chromium that cannot close it is replaced."""
        try:
            await place.chrome.close_tab(place.tab)
        except (CdpError, TimeoutError):
            await self._end(place.chrome)
        else:
            if place.chrome is not self._chrome:
                await self._retire(place.chrome)

    async def _retire(self, chrome: Chrome) -> None:
        """Close a Chromium that was replaced, once its last page is done."""
        if self._spare is not None and self._spare.chrome is chrome:
            spare, self._spare = self._spare, None
            await self._leave(spare)
        if not chrome.alive or not chrome.busy:
            await chrome.process.close()

    def _set_aside(self, chrome: Chrome) -> None:
        """Use a new Chromium for the next page; pages in this one may finish."""
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
    """Whether nothing was requested; or no document was committed, and Chromium runs (only a renderer crashed)."""
    return not place.tab.has_requested or (not place.tab.has_document and place.chrome.process.alive)

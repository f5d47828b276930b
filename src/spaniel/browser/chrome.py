"""A running Chromium and its tabs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from spaniel.browser.tab import Tab

if TYPE_CHECKING:
    from spaniel.browser.cdp import Params
    from spaniel.browser.launch import Process
    from spaniel.browser.rendering import BrowserSettings
    from spaniel.net.egress import EgressProxy


class Chrome:
    """Hears what the browser as a whole says, and passes it to the tab that it concerns."""

    def __init__(self, process: Process, settings: BrowserSettings) -> None:
        self.process = process
        self._settings = settings
        self._tabs: dict[str, Tab] = {}
        self.opened = 0  # tabs so far
        self._network = 0  # the process that opens its connections, once it is known
        process.wire.hear = self._hear

    @property
    def alive(self) -> bool:
        """Whether it runs, and the process that does its network with it: without that, pages lose what they load."""
        return self.process.alive and (self._network == 0 or _runs(self._network))

    @property
    def busy(self) -> bool:
        return bool(self._tabs)

    async def start(self) -> None:
        await self.process.wire.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    async def open_tab(self, way_out: EgressProxy) -> Tab:
        """A page in a fresh context, ready to be sent somewhere."""
        self.opened += 1
        tab = Tab(self.process.wire, way_out, self._settings)
        try:
            await way_out.open()
            made = await self.process.wire.call(
                "Target.createBrowserContext",
                proxyServer=f"http://127.0.0.1:{way_out.port}",
                proxyBypassList="<-loopback>",
            )
            tab.context = made["browserContextId"]
            self._tabs[tab.context] = tab
            await tab.prepare()
            if not self._network:
                await self._find_network()
        except BaseException:
            if self._tabs.pop(tab.context, None) is not None:
                self.process.wire.post("Target.disposeBrowserContext", {"browserContextId": tab.context})
            await way_out.close()
            raise
        return tab

    async def _find_network(self) -> None:
        told = await self.process.wire.call("SystemInfo.getProcessInfo")
        found = [one["id"] for one in told["processInfo"] if "networkservice" in one["type"].lower()]
        self._network = found[0] if found else 0  # in some builds it is part of the browser's own process

    async def close_tab(self, tab: Tab) -> None:
        """`TimeoutError` where Chromium does not obey; it is of no use any more then."""
        self._tabs.pop(tab.context, None)
        await tab.close()

    def _hear(self, method: str, params: Params) -> None:
        wire = self.process.wire
        if method == "Target.attachedToTarget":
            tab = self._tabs.get(params["targetInfo"].get("browserContextId", ""))
            session = wire.session(params["sessionId"])
            if tab is not None:
                tab.adopt(session, params["targetInfo"])
            else:
                session.post("Runtime.runIfWaitingForDebugger")
        elif method == "Target.detachedFromTarget":
            wire.forget(params["sessionId"])


def _runs(pid: int) -> bool:
    """Whether a process is there and at work: one that was stopped, or only waits to be reaped, is not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"T", b"t", b"Z", b"X")
    except (ProcessLookupError, FileNotFoundError):
        return not os.path.exists("/proc/self/stat") and _is_there(pid)  # not every system tells


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True

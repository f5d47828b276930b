"""A running Chromium and its tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.browser.tab import Tab

if TYPE_CHECKING:
    from spaniel.browser.cdp import Params
    from spaniel.browser.launch import Process
    from spaniel.browser.rendered import BrowserSettings
    from spaniel.net.egress import Exit


class Chrome:
    """Hears what the browser as a whole says, and passes it to the tab that it concerns."""

    def __init__(self, process: Process, settings: BrowserSettings) -> None:
        self.process = process
        self._settings = settings
        self._tabs: dict[str, Tab] = {}
        self.opened = 0  # tabs so far
        process.wire.hear = self._hear

    @property
    def alive(self) -> bool:
        return self.process.alive

    @property
    def busy(self) -> bool:
        return bool(self._tabs)

    async def start(self) -> None:
        await self.process.wire.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    async def open_tab(self, way_out: Exit) -> Tab:
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
        except BaseException:
            if self._tabs.pop(tab.context, None) is not None:
                self.process.wire.post("Target.disposeBrowserContext", {"browserContextId": tab.context})
            await way_out.close()
            raise
        return tab

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

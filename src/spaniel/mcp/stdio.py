"""`spaniel mcp`: serves one client on standard input and output until it disconnects."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

from spaniel.mcp.pipes import claimed, serve_pipes
from spaniel.mcp.server import Handlers, build
from spaniel.tool.framework import ToolSession
from spaniel.tool.registry import build_registry

if TYPE_CHECKING:
    from types import FrameType

    from spaniel.app.client import Spaniel
    from spaniel.app.settings import Settings
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request, Trace

log = logging.getLogger("spaniel.mcp")


def serve(settings: Settings, profile: str | None = None, *, plain_schemas: bool = False) -> int:
    """The exit code: 0 after the client closed its end, or after SIGTERM."""
    sdk = logging.getLogger("mcp")  # its log goes where ours does
    sdk.handlers[:] = logging.getLogger("spaniel").handlers
    sdk.propagate = False
    signals = Signals()
    try:
        asyncio.run(_serve(settings, profile, plain_schemas, signals))
    except asyncio.CancelledError:
        log.info("stopped by a signal")
    return signals.code


async def _serve(settings: Settings, profile: str | None, plain_schemas: bool, signals: Signals) -> None:
    signals.cancel_this_task()
    tool = settings.tool.opted_in()
    if tool.switched_off_by:
        log.warning("web_fetch is switched off by %s: no call will be served", tool.switched_off_by)
    client = LazyClient(settings, profile)
    display = None
    if settings.protection_off or profile is not None:
        # The guard's warnings and errors (FR-WF-05b, D2-26), and those of a bad profile, come before serving starts.
        opened = await client.open()
        display = None if opened.profile.is_srd else settings.browser.display
    session = ToolSession(display=display, max_screenshot_height=settings.mcp.max_screenshot_height)
    server = build(Handlers(client, build_registry(client, tool, session), settings.mcp, plain_schemas=plain_schemas))
    try:
        with claimed() as (source, sink):
            await serve_pipes(server, source, sink)
    except* BrokenPipeError:
        log.info("the client disconnected")
    finally:
        await client.close()


class Signals:
    """The first signal cancels the running task, so that everything is closed properly.

    The handlers stay until the process exits: the interpreter's own handler could print a traceback.
    """

    def __init__(self) -> None:
        self._received = 0

    @property
    def code(self) -> int:
        """128 + the signal as in a shell; 0 for SIGTERM, with which hosts stop a server."""
        return 128 + self._received if self._received not in (0, signal.SIGTERM) else 0

    def cancel_this_task(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            return

        def end(number: int, _frame: FrameType | None = None) -> None:
            if self._received or loop.is_closed():  # a second signal, or one during exit
                if number == signal.SIGINT:
                    os._exit(128 + number)
                return
            self._received = number
            loop.call_soon_threadsafe(task.cancel)

        if sys.platform != "win32" and signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGTERM, end, signal.SIGTERM)  # from now on any signal wakes the loop
        for number in (signal.SIGINT, getattr(signal, "SIGHUP", None)):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, end)


class LazyClient:
    """The client of all calls of one server."""

    def __init__(self, settings: Settings, profile: str | None = None) -> None:
        self._settings = settings
        self._profile = profile
        self._spaniel: Spaniel | None = None
        self._opening = asyncio.Lock()

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer:
        spaniel = self._spaniel or await self.open()
        return await spaniel.answer(request, trace)

    async def require_form(self, request: Request, trace: Trace | None = None) -> None:
        spaniel = self._spaniel or await self.open()
        await spaniel.require_form(request, trace)

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None:
        spaniel = self._spaniel or await self.open()
        return await spaniel.stored(request, trace)

    async def open(self) -> Spaniel:
        async with self._opening:
            if self._spaniel is None:
                from spaniel.app.client import Spaniel
                from spaniel.pipeline.profile import DEFAULT

                self._spaniel = await Spaniel(self._settings, profile=self._profile or DEFAULT).__aenter__()
            return self._spaniel

    async def close(self) -> None:
        if self._spaniel is not None:
            await self._spaniel.close()

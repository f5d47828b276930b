"""`spaniel mcp`: serves one client on standard input and output until it goes."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

from spaniel.mcp.lazy_client import LazyClient
from spaniel.mcp.pipes import claimed, serve_pipes
from spaniel.mcp.server import Handlers, build

if TYPE_CHECKING:
    from types import FrameType

    from spaniel.app.settings import Settings

log = logging.getLogger("spaniel.mcp")


def serve(settings: Settings, profile: str | None = None, *, plain_schemas: bool = False) -> int:
    """The exit code: 0 when the client has closed its end, or SIGTERM has come."""
    sdk = logging.getLogger("mcp")  # what it has to say goes where ours does
    sdk.handlers[:] = logging.getLogger("spaniel").handlers
    sdk.propagate = False
    signals = Signals()
    try:
        asyncio.run(_serve(settings, profile, plain_schemas, signals))
    except asyncio.CancelledError:
        log.info("asked to end")
    return signals.code


async def _serve(settings: Settings, profile: str | None, plain_schemas: bool, signals: Signals) -> None:
    signals.cancel_this_task()
    tool = settings.tool.opted_in()
    if tool.switched_off_by:
        log.warning("web_fetch is switched off by %s: no call will be served", tool.switched_off_by)
    client = LazyClient(settings, profile)
    display = None
    if settings.protection_off or profile is not None:
        # The guard warns, or refuses, before anybody is served (FR-WF-05b, D2-26); and so does a profile that is none.
        opened = await client.open()
        display = None if opened.profile.is_srd else settings.browser.display
    server = build(Handlers(client, tool, settings.mcp, plain_schemas=plain_schemas, display=display))
    try:
        with claimed() as (source, sink):
            await serve_pipes(server, source, sink)
    except* BrokenPipeError:
        log.info("the client has gone")
    finally:
        await client.close()


class Signals:
    """The first signal that asks the process to end cancels what is under way, so that what is open is closed.

    Handlers stay until the process ends: an exception out of the interpreter's own would show as a traceback.
    """

    def __init__(self) -> None:
        self._asked_by = 0

    @property
    def code(self) -> int:
        """What a shell shows for a program that the signal ended; SIGTERM is how hosts end a server."""
        return 128 + self._asked_by if self._asked_by not in (0, signal.SIGTERM) else 0

    def cancel_this_task(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None:
            return

        def end(number: int, _frame: FrameType | None = None) -> None:
            if self._asked_by or loop.is_closed():  # a second, or one that comes at the end
                if number == signal.SIGINT:
                    os._exit(128 + number)
                return
            self._asked_by = number
            loop.call_soon_threadsafe(task.cancel)

        if sys.platform != "win32" and signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGTERM, end, signal.SIGTERM)  # and any signal now wakes the loop
        for number in (signal.SIGINT, getattr(signal, "SIGHUP", None)):
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, end)

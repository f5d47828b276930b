"""`spaniel mcp`: serves one client on standard input and output until it goes."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING

from spaniel.mcp.lazy_client import LazyClient
from spaniel.mcp.pipes import claimed, serve_pipes
from spaniel.mcp.server import Handlers, build

if TYPE_CHECKING:
    from spaniel.app.settings import Settings

log = logging.getLogger("spaniel.mcp")


def serve(settings: Settings, profile: str | None = None, *, plain_schemas: bool = False) -> None:
    """Returns when the client has closed its end, or the process was asked to end."""
    sdk = logging.getLogger("mcp")  # what it has to say goes where ours does
    sdk.handlers[:] = logging.getLogger("spaniel").handlers
    sdk.propagate = False
    try:
        asyncio.run(_serve(settings, profile, plain_schemas))
    except asyncio.CancelledError:
        log.info("asked to end")


async def _serve(settings: Settings, profile: str | None, plain_schemas: bool) -> None:
    end_on_sigterm()
    tool = settings.tool.opted_in()
    if tool.switched_off_by:
        log.warning("web_fetch is switched off by %s: no call will be served", tool.switched_off_by)
    client = LazyClient(settings, profile)
    if settings.protection_off or profile is not None:
        # The guard warns, or refuses, before anybody is served (FR-WF-05b, D2-26); and so does a profile that is none.
        await client.open()
    server = build(Handlers(client, tool, settings.mcp, plain_schemas=plain_schemas))
    try:
        with claimed() as (source, sink):
            await serve_pipes(server, source, sink)
    except* BrokenPipeError:
        log.info("the client has gone")
    finally:
        await client.close()


def end_on_sigterm() -> None:
    """Hosts end a server that way: what is under way is stopped, and what is open is closed."""
    task = asyncio.current_task()
    if sys.platform != "win32" and task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)

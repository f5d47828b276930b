"""`spaniel mcp`: serves one client on standard input and output until it goes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server

from spaniel.mcp.opened import Opened
from spaniel.mcp.server import Handlers, build
from spaniel.tool.web_fetch import ToolSettings

if TYPE_CHECKING:
    from spaniel.app.settings import Settings

log = logging.getLogger("spaniel.mcp")


def serve(settings: Settings) -> None:
    """Returns when the client has closed its end. Nothing but protocol goes to standard output."""
    sdk = logging.getLogger("mcp")  # what it has to say goes where ours does
    sdk.handlers[:] = logging.getLogger("spaniel").handlers
    sdk.propagate = False
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    concerned = ToolSettings.of(settings, opted_in=True)
    if concerned.mode != "enabled" or not concerned.enabled:
        log.warning("web_fetch is switched off by %s: no call will be served", settings.file)
    client = Opened(settings)
    if not all(setting.value for path, setting in settings.items() if ".security.block_" in path):
        await client.open()  # so that the guard warns, or refuses, before anybody is served (FR-WF-05b, D2-26)
    handlers = Handlers(
        client,
        concerned,
        settings.number("spaniel.mcp.max_output_bytes"),
        settings.number("spaniel.mcp.max_chunk_bytes"),
    )
    server = build(handlers)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* BrokenPipeError:
        log.info("the client has gone")
    finally:
        await client.close()

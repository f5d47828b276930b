"""Standard input and output as the transport: messages are bounded, and cancelling ends it at once.

The SDK's own transport buffers a message of any length, and on cancelling waits for one more line (docs/adr/0051).
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from spaniel.errors import Code, SpanielError
from spaniel.mcp.blocking_calls import BlockingCalls
from spaniel.mcp.lines import LONGEST, Lines, TooLong
from spaniel.tool.admission import record_refusal
from spaniel.tool.framework import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

PIECE = 1 << 16  # bytes; the capacity of a pipe on Linux


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Reserve standard input and output for the protocol; other output goes to standard error."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(sink, 1)
        os.dup2(source, 0)  # the duplicates stay open: a thread may still be reading


async def serve_pipes(server: Server[Any], source: int, sink: int) -> None:
    """Serve one client until its end of `source` is closed; `BrokenPipeError`, in a group, if that of `sink` is."""
    asked, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, answered = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, source, asked, outgoing.clone())
        tasks.start_soon(_write, answered, sink)
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _read(
    source: int,
    asked: MemoryObjectSendStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    lines, reader = Lines(), BlockingCalls()
    async with asked, outgoing:
        more = True
        while more:
            data = await reader.call(lambda: os.read(source, PIECE))
            more = bool(data)
            for line in lines.feed(data) if more else lines.rest():
                if isinstance(line, TooLong):
                    await _refuse(line, outgoing)
                else:
                    await asked.send(_parsed(line))


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace")))
    except ValueError as error:  # the server ignores it
        return error


async def _refuse(line: TooLong, outgoing: MemoryObjectSendStream[SessionMessage]) -> None:
    """Answer a message over the limit, if it was a request."""
    members = line.members()
    number = members.get("id")
    if not isinstance(number, int | str):
        return
    reason = f"the call has {line.size} bytes, more than {LONGEST}"
    refusal = SpanielError(Code.BAD_ARGS, field="arguments", reason=reason)
    message: types.JSONRPCMessage
    if members.get("method") == "tools/call":
        record_refusal(None, refusal)
        content = types.TextContent(text=ToolError("", refusal).message)
        result = types.CallToolResult(content=[content], is_error=True)
        fields = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        message = types.JSONRPCResponse(jsonrpc="2.0", id=number, result=fields)
    else:
        error = types.ErrorData(code=types.INVALID_REQUEST, message=refusal.message)
        message = types.JSONRPCError(jsonrpc="2.0", id=number, error=error)
    await outgoing.send(SessionMessage(message))


async def _write(answered: MemoryObjectReceiveStream[SessionMessage], sink: int) -> None:
    writer = BlockingCalls()
    async with answered:
        async for message in answered:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            await writer.call(partial(_write_all, sink, data))


def _write_all(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(sink, view) :]

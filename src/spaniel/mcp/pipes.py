"""Standard input and output as the transport: messages are bounded, and cancelling ends it at once.

The SDK's own transport buffers a message of any length, and on cancelling waits for one more line (docs/adr/0051).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
from mcp import types
from mcp.shared.message import SessionMessage

from spaniel.errors import Code, SpanielError
from spaniel.tool.framework import ToolError, record_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server.lowlevel import Server

LONGEST = 4 << 20  # bytes of a message; a call with the longest allowed URL takes about 10,000
EDGE = 4096  # bytes kept of each end; enough for `jsonrpc`, `method` and `id`
PIECE = 1 << 16  # bytes; the capacity of a pipe on Linux

_MEMBER = rb'\s*"(?:jsonrpc|method|id)"\s*:\s*(?:"(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,18})\s*'
_FIRST = re.compile(rb"\s*\{((?:%b,)*)" % _MEMBER)
_LAST = re.compile(rb"((?:,%b)*)\}\s*\Z" % _MEMBER)

T = TypeVar("T")
Job = tuple["asyncio.Future[Any]", "Callable[[], Any]"]


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
    lines, reader = MessageLines(), BlockingCalls()
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


class TooLong(NamedTuple):
    """A message over the limit: its first and last bytes, and its size."""

    head: bytes
    tail: bytes
    size: int

    def members(self) -> dict[str, object]:
        """`jsonrpc`, `method` and `id` as far as they are at the ends; members of `params` are never matched."""
        first, last = _FIRST.match(self.head), _LAST.search(self.tail)
        ends = [found[1].strip(b",") for found in (first, last) if found and found[1]]
        try:
            return dict(json.loads(b"{%b}" % b",".join(ends)))
        except ValueError:
            return {}


class MessageLines:
    """Takes bytes in any pieces, yields complete lines of bounded length; of a longer line only both ends are kept."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._line = bytearray()
        self._tail = b""
        self._size = 0

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            yield self._take()
            start = end + 1
        self._add(data[start:])

    def rest(self) -> Iterator[bytes | TooLong]:
        """The last line, if it has no line end."""
        if self._size:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._longest:
            self._line += piece
            return
        if not self._tail:
            self._tail = bytes(self._line[-EDGE:])
            self._line += piece[:EDGE]  # the head may still be shorter than EDGE
            del self._line[EDGE:]
        self._tail = (self._tail + piece)[-EDGE:]

    def _take(self) -> bytes | TooLong:
        line, tail, size = bytes(self._line), self._tail, self._size
        self._line.clear()
        self._tail, self._size = b"", 0
        return TooLong(line, tail, size) if size > self._longest else line


class BlockingCalls:
    """One daemon thread that runs calls in order. asyncio's and anyio's own threads would be joined at exit."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        Thread(target=self._work, daemon=True).start()

    async def call(self, function: Callable[[], T]) -> T:
        """The function's result or exception. If the caller is cancelled, the call continues in its thread."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((future, function))
        return await future

    def _work(self) -> None:
        while True:
            future, function = self._jobs.get()
            result, error = None, None
            try:
                result = function()
            except OSError as raised:
                error = raised
            try:
                self._loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed
                return


def _settle(future: asyncio.Future[Any], result: object, error: OSError | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)

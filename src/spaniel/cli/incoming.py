"""URLs as they come: from the arguments, and from standard input, which is read beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cli.files import standard_input
from spaniel.cli.lines import numbered_lines
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

READ_AHEAD = 64  # lines


class Asked(NamedTuple):
    """A URL that is wanted, and the number of its line if it has one."""

    url: str
    line: int = 0


async def incoming(arguments: Iterable[str]) -> AsyncIterator[Asked]:
    for argument in arguments:
        if argument != "-":
            yield Asked(argument)
            continue
        async for asked in _from_standard_input():
            yield asked


async def _from_standard_input() -> AsyncIterator[Asked]:
    """A thread reads: a pipe that says nothing for an hour holds up neither the fetches nor Ctrl-C."""
    descriptor = standard_input().fileno()
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Asked | OSError | None] = asyncio.Queue()
    ahead = threading.Semaphore(READ_AHEAD)

    def put(item: Asked | OSError | None) -> None:
        ahead.acquire()
        loop.call_soon_threadsafe(queue.put_nowait, item)

    def read() -> None:
        try:
            # A reader of its own: at the end of the process Python would wait for the lock of the other
            with open(descriptor, "rb", closefd=False) as stream:
                for number, text in numbered_lines(stream):
                    put(Asked(text, number))
            put(None)
        except OSError as error:
            put(error)
        except RuntimeError:  # the loop is closed: nobody wants more
            return

    threading.Thread(target=read, name="standard input", daemon=True).start()
    while (item := await queue.get()) is not None:
        ahead.release()
        if isinstance(item, OSError):
            raise SpanielError(Code.BAD_ARGS, field="-", reason=f"cannot be read: {item.strerror}")
        yield item

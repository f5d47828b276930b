"""One Chromium process: started, spoken to over its pipes, and gone without a trace when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
from typing import TYPE_CHECKING

from spaniel.browser.cdp import CdpError, Wire
from spaniel.browser.find import check_version, home_for, unavailable, why_not
from spaniel.browser.flags import FLAGS
from spaniel.browser.home import remove_home, sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 20.0  # to start: a cold disk is slow
MOST_MEMORY = 2 << 30  # bytes that one of its processes may hold; a page at rest has 0.6 of it, most of them untouched
PATIENCE = 1.0  # to end by itself
MOST_WORDS = 1 << 16  # bytes of what it said that are looked at


class Process:
    """A running Chromium."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.wire = Wire()
        self.version = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._home = home_for(path)
        self._nowhere = _refusing_port()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name that somebody could take

    @property
    def pid(self) -> int:
        return self._child.pid if self._child else 0

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None and not self.wire.gone.is_set()

    async def start(self, flags: Sequence[str], user_agent: str = "") -> None:
        """Raises `browser_unavailable` with what Chromium had to say."""
        to_it, from_it = os.pipe(), os.pipe()
        try:
            self._child = self._spawn(self._command(flags, user_agent), to_it[0], from_it[1])
        except (OSError, subprocess.SubprocessError) as error:
            _close(*to_it, *from_it)
            raise unavailable(self.path, why_not(error, self._home.owner)) from None
        _close(to_it[0], from_it[1])
        await self.wire.open(from_it[0], to_it[1])
        try:
            async with asyncio.timeout(SECONDS):
                self.version = str((await self.wire.call("Browser.getVersion"))["product"])
        except (CdpError, TimeoutError):
            raise unavailable(self.path, self._last_words()) from None
        check_version(self.path, self.version)

    def _command(self, flags: Sequence[str], user_agent: str) -> list[str]:
        own = [f"--user-data-dir={self._home.path}/profile"]
        if "--proxy-bypass-list=<-loopback>" in flags:  # what is no context's has no way out at all
            own.append(f"--proxy-server=http://127.0.0.1:{self._nowhere.getsockname()[1]}")
        if user_agent:
            own.append(f"--user-agent={user_agent}")
        return [self.path, *flags, *own]

    def _spawn(self, command: list[str], read: int, write: int) -> subprocess.Popen[bytes]:
        import resource

        def prepare() -> None:  # Chromium reads from 3 and writes to 4; neither may be in the other's way
            high = os.dup(write), os.dup(read)
            os.dup2(high[1], 3)
            os.dup2(high[0], 4)
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))

        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            pass_fds=(3, 4, read, write),
            preexec_fn=prepare,  # noqa: PLW1509
            start_new_session=True,
            **self._home.popen(),
        )

    def _last_words(self) -> str:
        """Read from our own descriptor, as far as it goes: the offset is shared with Chromium."""
        return why_not(os.pread(self._said.fileno(), MOST_WORDS, 0).decode("utf-8", "replace"), self._home.owner)

    async def close(self) -> None:
        """Ask it to go, then see to it."""
        if self.alive:
            with contextlib.suppress(CdpError, TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self.wire.call("Browser.close")
                    await self.wire.gone.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it and all that it started, and take its files away. May be called again."""
        self.wire.close()
        child, self._child = self._child, None
        if child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            await asyncio.to_thread(child.wait)
        self._nowhere.close()
        self._said.close()
        await asyncio.to_thread(remove_home, self._home)


async def launch(path: str, user_agent: str = "", flags: Sequence[str] = FLAGS) -> Process:
    """Start Chromium, or raise `browser_unavailable`."""
    process = Process(path)
    try:
        await asyncio.to_thread(sweep)
        await process.start(flags, user_agent)
    except BaseException:
        await process.kill()
        raise
    return process


def _refusing_port() -> socket.socket:
    """A port that is taken and never listened on: whoever is sent there is refused."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

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

from spaniel.browser.cdp import CdpConnection, CdpError
from spaniel.browser.find import check_version, home_for, unavailable, why_not
from spaniel.browser.flags import FLAGS
from spaniel.browser.home import remove_home, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

    from spaniel.browser.home import BrowserHome

SECONDS = 20.0  # to start: a cold disk is slow
MOST_MEMORY = 2 << 30  # bytes that one of its processes may hold; a page at rest has 0.6 of it, most of them untouched
PATIENCE = 1.0  # to end by itself
MOST_WORDS = 1 << 16  # bytes of what it said that are looked at


# Chromium reads from 3 and writes to 4, and has its share of memory; a shell sees to both, since nothing may be run
# between fork and exec in a process that has threads. It stays until Chromium has gone, whoever ended it and however,
# and empties its folder; what is not its own stays for `sweep`, and is nothing that Chromium has said.
GUARDIAN = (
    'exec 3<&0 4>&1 0</dev/null 1>/dev/null; ulimit -d "$1"; home="$2"; shift 2; "$@"; code=$?; exec 3<&- 4>&-; '
    'exec 2>/dev/null; cd /; rm -rf -- "$home"; rmdir -- "${home%/*}"; exit $code'
)


class Process:
    """A running Chromium."""

    def __init__(self, path: str, *, no_sandbox: bool = False, trust: Mapping[str, bytes] | None = None) -> None:
        self.path = path
        self._trust = trust  # the files of whom it is to trust
        self.wire = CdpConnection()
        self.version = ""
        self._no_sandbox = no_sandbox
        self._child: subprocess.Popen[bytes] | None = None
        self._home: BrowserHome | None = None
        self._nowhere = socket.socket()  # a port that is taken and never listened on: whoever is sent there is refused
        self._said: BinaryIO | None = None

    @property
    def pid(self) -> int:
        return self._child.pid if self._child else 0

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None and not self.wire.gone.is_set()

    async def start(self, flags: Sequence[str], user_agent: str = "") -> None:
        """Raises `browser_unavailable` with what Chromium had to say."""
        await asyncio.to_thread(sweep)
        self._nowhere.bind(("127.0.0.1", 0))
        home = self._home = home_for(self.path, self._trust)
        said = self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name that somebody could take
        to_it, from_it = os.pipe(), os.pipe()
        try:
            self._child = self._spawn(self._command(flags, user_agent, home), to_it[0], from_it[1], said, home)
        except (OSError, subprocess.SubprocessError) as error:
            _close(*to_it, *from_it)
            raise unavailable(self.path, why_not(error, home.owner)) from None
        _close(to_it[0], from_it[1])
        await self.wire.open(from_it[0], to_it[1])
        try:
            async with asyncio.timeout(SECONDS):
                told = await self.wire.call("Browser.getVersion")
        except (CdpError, TimeoutError):
            raise unavailable(self.path, why_not(_last_words(said), home.owner)) from None
        self.version, self.wire.user_agent = str(told["product"]), str(told.get("userAgent", ""))
        check_version(self.path, self.version)

    def _command(self, flags: Sequence[str], user_agent: str, home: BrowserHome) -> list[str]:
        own = [f"--user-data-dir={home.path}/profile"]
        if "--proxy-bypass-list=<-loopback>" in flags:  # what is no context's has no way out at all
            own.append(f"--proxy-server=http://127.0.0.1:{self._nowhere.getsockname()[1]}")
        if user_agent:
            own.append(f"--user-agent={user_agent}")
        if self._no_sandbox:
            own.append("--no-sandbox")
        return [self.path, *flags, *own]

    def _spawn(
        self, command: list[str], read: int, write: int, said: BinaryIO, home: BrowserHome
    ) -> subprocess.Popen[bytes]:
        guarded = ["/bin/sh", "-c", GUARDIAN, "spaniel-chromium", str(MOST_MEMORY >> 10), home.path, *command]
        return subprocess.Popen(  # noqa: S603
            guarded, stdin=read, stdout=write, stderr=said, start_new_session=True, **home.popen()
        )

    async def close(self) -> None:
        """Ask Chromium to exit, then make sure that it did, even if this call is cancelled meanwhile."""
        try:
            if self.alive:
                with contextlib.suppress(CdpError, TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        await self.wire.call("Browser.close")
                        await self.wire.gone.wait()
        finally:
            await asyncio.shield(self.kill())

    async def kill(self) -> None:
        """End it and all that it started, and take its files away. May be called again."""
        self.wire.close()
        self._nowhere.close()  # what takes no time is done first: whoever waits may be stopped
        if self._said is not None:
            self._said.close()
        child, self._child = self._child, None
        if child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            await asyncio.to_thread(child.wait)
        home, self._home = self._home, None
        if home is not None:
            await asyncio.to_thread(remove_home, home)


async def launch(
    path: str,
    user_agent: str = "",
    flags: Sequence[str] = FLAGS,
    *,
    no_sandbox: bool = False,
    trust: Mapping[str, bytes] | None = None,
) -> Process:
    """Start Chromium, or raise `browser_unavailable`."""
    process = Process(path, no_sandbox=no_sandbox, trust=trust)
    try:
        await process.start(flags, user_agent)
    except BaseException:
        await asyncio.shield(process.kill())  # to its end, even where nobody waits any longer
        raise
    return process


def _last_words(said: BinaryIO) -> str:
    """Read from our own descriptor, as far as it goes: the offset is shared with Chromium."""
    return os.pread(said.fileno(), MOST_WORDS, 0).decode("utf-8", "replace")


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

"""One Chromium process: started, spoken to over its pipes, and gone without a trace when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from typing import TYPE_CHECKING

from spaniel.browser.cdp import CdpError, Wire
from spaniel.browser.find import Way, check_version, complaint, unavailable, ways
from spaniel.browser.flags import FLAGS

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "spaniel-chromium-"
SECONDS = 20.0  # to start: a cold disk is slow
MOST_MEMORY = 2 << 30  # bytes that one of its processes may hold; a page at rest has 0.6 of it, most of them untouched
PATIENCE = 1.0  # to end by itself
KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "LD_LIBRARY_PATH")


class Process:
    """A running Chromium."""

    def __init__(self, path: str, way: Way) -> None:
        self.path = path
        self.way = way
        self.wire = Wire()
        self.version = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._nowhere = _refusing_port()
        self._home = _new_home(way)

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
            raise unavailable(self.path, getattr(error, "strerror", None) or str(error)) from None
        _close(to_it[0], from_it[1])
        await self.wire.open(from_it[0], to_it[1])
        try:
            async with asyncio.timeout(SECONDS):
                self.version = str((await self.wire.call("Browser.getVersion"))["product"])
        except (CdpError, TimeoutError):
            raise unavailable(self.path, self._last_words()) from None
        check_version(self.path, self.version)

    def _command(self, flags: Sequence[str], user_agent: str) -> list[str]:
        own = [f"--user-data-dir={self._home}/profile", *self.way.flags()]
        if "--proxy-bypass-list=<-loopback>" in flags:  # what is no context's has no way out at all
            own.append(f"--proxy-server=http://127.0.0.1:{self._nowhere.getsockname()[1]}")
        if user_agent:
            own.append(f"--user-agent={user_agent}")
        return [self.path, *flags, *own]

    def _spawn(self, command: list[str], read: int, write: int) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), self._home)

        import resource  # not everywhere, and Chromium is not either

        def prepare() -> None:  # Chromium reads from 3 and writes to 4; neither may be in the other's way
            high = os.dup(write), os.dup(read)
            os.dup2(high[1], 3)
            os.dup2(high[0], 4)
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))

        with open(f"{self._home}/said", "wb") as said:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=environment,
                cwd=self._home,
                pass_fds=(3, 4, read, write),
                preexec_fn=prepare,  # noqa: PLW1509
                start_new_session=True,
                **self.way.popen(),
            )

    def _last_words(self) -> str:
        with contextlib.suppress(OSError), open(f"{self._home}/said", encoding="utf-8", errors="replace") as said:
            return complaint(said.read(1 << 16))
        return "it ended without a word"

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
        await asyncio.to_thread(shutil.rmtree, self._home, ignore_errors=True)


async def launch(path: str, user_agent: str = "", flags: Sequence[str] = FLAGS, known: Way | None = None) -> Process:
    """Start Chromium in the first way that works; `known` is one that has worked before."""
    if os.name == "nt":
        raise unavailable(path, "it cannot be driven on Windows yet")
    await asyncio.to_thread(sweep)
    tried = [known] if known else ways()
    for way in tried:
        process = Process(path, way)
        try:
            await process.start(flags, user_agent)
        except BaseException as error:
            await process.kill()
            if way is tried[-1] or not isinstance(error, Exception):
                raise
        else:
            return process
    raise AssertionError("there is always a way")


def sweep() -> None:
    """Take away what Chromiums have left whose Spaniel was killed; the folder's name says whose it was."""
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        pid = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and pid.isdigit() and not _is_alive(int(pid)):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _new_home(way: Way) -> str:
    home = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
    if way.owner:
        os.chown(home, *way.owner)
    return home


def _refusing_port() -> socket.socket:
    """A port that is taken and never listened on: whoever is sent there is refused."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

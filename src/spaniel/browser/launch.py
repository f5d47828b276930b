"""Starts and ends one Chromium process, which is controlled over pipes and leaves no files behind."""

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
from spaniel.browser.home import remove_home, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

    from spaniel.browser.home import BrowserHome

UDP = "disable_non_proxied_udp"

# All traffic must use the context's egress proxy. By ablation the first two flags matter; the others are a fallback.
NETWORK_FLAGS = (
    "--proxy-bypass-list=<-loopback>",  # otherwise Chromium connects to loopback without the proxy
    f"--force-webrtc-ip-handling-policy={UDP}",  # read by the headless shell
    f"--webrtc-ip-handling-policy={UDP}",  # read by full Chromium
    "--disable-quic",
    "--block-new-web-contents",  # window.open has no effect
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # it never resolves names itself
)

QUIET = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--no-startup-window",
    "--mute-audio",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-gpu",
    "--disable-sync",
    "--password-store=basic",
    "--use-mock-keychain",
)

OFF = (
    "BackForwardCache",
    "DestroyProfileOnBrowserClose",
    "DialMediaRouteProvider",
    "HttpsUpgrades",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "SpareRendererForSitePerProcess",
    "Translate",
)

# Pages in the background are not throttled, and pages are not preloaded.
STEADY = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-ipc-flooding-protection",
    "--disable-renderer-backgrounding",
    f"--disable-features={','.join(OFF)}",
)

FLAGS = (*QUIET, *STEADY, *NETWORK_FLAGS)

SECONDS = 20.0  # to start: a cold disk is slow
MAX_MEMORY = 2 << 30  # bytes per process (ulimit -d); an idle page reserves 0.6 of it, mostly untouched
PATIENCE = 1.0  # for a regular exit
MAX_OUTPUT = 1 << 16  # bytes of its stderr that are read

# A shell sets up the descriptors (Chromium reads from 3 and writes to 4) and the memory limit, since a process with
# threads must not run code between fork and exec. It stays until Chromium has exited, however that happens, and removes
# its folder; what it cannot remove is left to `sweep`, and its errors are not part of Chromium's output.
GUARDIAN = (
    'exec 3<&0 4>&1 0</dev/null 1>/dev/null; ulimit -d "$1"; home="$2"; shift 2; "$@"; code=$?; exec 3<&- 4>&-; '
    'exec 2>/dev/null; cd /; rm -rf -- "$home"; rmdir -- "${home%/*}"; exit $code'
)


class Process:
    """A running Chromium."""

    def __init__(self, path: str, *, no_sandbox: bool = False, trust: Mapping[str, bytes] | None = None) -> None:
        self.path = path
        self._trust = trust  # the files of its trust store
        self.cdp = CdpConnection()
        self.version = ""
        self._no_sandbox = no_sandbox
        self._child: subprocess.Popen[bytes] | None = None
        self._home: BrowserHome | None = None
        self._closed_port = socket.socket()  # bound but not listening: refuses connections
        self._said: BinaryIO | None = None

    @property
    def pid(self) -> int:
        return self._child.pid if self._child else 0

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None and not self.cdp.gone.is_set()

    async def start(self, flags: Sequence[str], user_agent: str = "") -> None:
        """Raises `browser_unavailable` with Chromium's output."""
        await asyncio.to_thread(sweep)
        self._closed_port.bind(("127.0.0.1", 0))
        home = self._home = home_for(self.path, self._trust)
        said = self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `kill`
        to_it, from_it = os.pipe(), os.pipe()
        try:
            self._child = self._spawn(self._command(flags, user_agent, home), to_it[0], from_it[1], said, home)
        except (OSError, subprocess.SubprocessError) as error:
            _close(*to_it, *from_it)
            raise unavailable(self.path, why_not(error, home.owner)) from None
        _close(to_it[0], from_it[1])
        await self.cdp.open(from_it[0], to_it[1])
        try:
            async with asyncio.timeout(SECONDS):
                found = await self.cdp.call("Browser.getVersion")
        except (CdpError, TimeoutError):
            raise unavailable(self.path, why_not(_output(said), home.owner)) from None
        self.version, self.cdp.user_agent = str(found["product"]), str(found.get("userAgent", ""))
        check_version(self.path, self.version)

    def _command(self, flags: Sequence[str], user_agent: str, home: BrowserHome) -> list[str]:
        own = [f"--user-data-dir={home.path}/profile"]
        if "--proxy-bypass-list=<-loopback>" in flags:  # traffic outside of contexts is refused
            own.append(f"--proxy-server=http://127.0.0.1:{self._closed_port.getsockname()[1]}")
        if user_agent:
            own.append(f"--user-agent={user_agent}")
        if self._no_sandbox:
            own.append("--no-sandbox")
        return [self.path, *flags, *own]

    def _spawn(
        self, command: list[str], read: int, write: int, said: BinaryIO, home: BrowserHome
    ) -> subprocess.Popen[bytes]:
        guarded = ["/bin/sh", "-c", GUARDIAN, "spaniel-chromium", str(MAX_MEMORY >> 10), home.path, *command]
        return subprocess.Popen(  # noqa: S603
            guarded, stdin=read, stdout=write, stderr=said, start_new_session=True, **home.popen()
        )

    async def close(self) -> None:
        """Ask Chromium to exit, then kill it if necessary, even if this call is cancelled."""
        try:
            if self.alive:
                with contextlib.suppress(CdpError, TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        await self.cdp.call("Browser.close")
                        await self.cdp.gone.wait()
        finally:
            await asyncio.shield(self.kill())

    async def kill(self) -> None:
        """Kill it with its child processes, and remove its files. Can be called again."""
        self.cdp.close()
        self._closed_port.close()  # before the awaits, where this may be cancelled
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
        await asyncio.shield(process.kill())  # completes even if cancelled
        raise
    return process


def _output(said: BinaryIO) -> str:
    """Chromium's stderr. `pread`, since the file offset is shared with Chromium."""
    return os.pread(said.fileno(), MAX_OUTPUT, 0).decode("utf-8", "replace")


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

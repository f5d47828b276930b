"""Which Chromium there is, who runs it, and whether it sits in its sandbox."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from typing import Any, NamedTuple

from spaniel.errors import Code, SpanielError

OLDEST = 100  # FR-WF-11: the protocol is stable from here on
# The shell starts in a quarter of the time, and opens no connections of its own.
NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
SECONDS = 20.0
NO_SANDBOX = "--no-sandbox"


class Owner(NamedTuple):
    """Somebody else, for whom Chromium is run."""

    uid: int
    gid: int


class Way(NamedTuple):
    """One way to run Chromium: as whom (None: as ourselves), and in its sandbox or not."""

    owner: Owner | None
    sandbox: bool

    def popen(self) -> dict[str, Any]:
        """What `subprocess` needs to know of it."""
        return {} if self.owner is None else {"user": self.owner.uid, "group": self.owner.gid, "extra_groups": []}

    def flags(self) -> tuple[str, ...]:
        return () if self.sandbox else (NO_SANDBOX,)


class Chromium(NamedTuple):
    """A Chromium that runs here; `reason` says why its sandbox does not, where it does not."""

    path: str
    version: str
    sandbox: bool
    reason: str


def find_path(setting: str = "") -> str:
    """The binary that the settings name, or the first of the usual ones; else `browser_unavailable`."""
    if setting:
        found = shutil.which(setting)
        if found is None:
            raise unavailable(setting, "it cannot be run" if os.path.exists(setting) else "there is no such program")
        return found
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise unavailable("", f"none of {', '.join(NAMES)} is on the PATH")


def locate(setting: str = "") -> Chromium:
    """Find Chromium and try it: its version, and whether its sandbox works here. Takes about a second."""
    path = find_path(setting)
    version = _run([path, "--version"], Way(None, sandbox=True))[1]
    check_version(path, version)
    complaints: list[str] = []
    for way in ways():
        with tempfile.TemporaryDirectory(prefix="spaniel-trial-") as home:
            if way.owner:
                os.chown(home, *way.owner)
            command = [path, *way.flags(), "--headless", "--disable-gpu", f"--user-data-dir={home}", "--dump-dom"]
            ended, said = _run([*command, "about:blank"], way)
        if ended:
            return Chromium(
                path, version, way.sandbox, "" if way.sandbox else f"the system refuses it: {complaints[0]}"
            )
        complaints.append(said)
    raise unavailable(path, complaints[-1])


def check_version(path: str, version: str) -> None:
    """`version` as Chromium tells it: "Chromium 156.0.8078.79", "HeadlessChrome/156.0.0.0"."""
    found = re.search(r"(\d+)\.\d+", version)
    if found is None:
        raise unavailable(path, f"it does not tell its version but '{version[:80]}'")
    if int(found[1]) < OLDEST:
        raise unavailable(path, f"version {found[0]} is older than {OLDEST}")


def ways() -> list[Way]:
    """The ways to run Chromium, best first. Its sandbox is not for root, so root lets nobody run it."""
    nobody = _nobody()
    if nobody:
        return [Way(nobody, sandbox=True), Way(nobody, sandbox=False), Way(None, sandbox=False)]
    return [Way(None, sandbox=True), Way(None, sandbox=False)]


def unavailable(path: str, error: str) -> SpanielError:
    return SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path=path, error=error)


def complaint(text: str) -> str:
    """The line of Chromium's own words that tells most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("sandbox|FATAL|not found|denied|error", line, re.IGNORECASE)]
    found = (telling or lines or ["it ended without a word"])[0]
    return re.sub(r"^\[[^\]]*\]\s*", "", found)[:200]


def _nobody() -> Owner | None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return None
    return Owner(entry.pw_uid, entry.pw_gid)


def _run(command: list[str], way: Way) -> tuple[bool, str]:
    """Whether a command ended well, and what it said."""
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, timeout=SECONDS, check=False, cwd="/", stdin=subprocess.DEVNULL, **way.popen()
        )
    except OSError as error:
        return False, error.strerror or str(error)
    except subprocess.TimeoutExpired:
        return False, f"no answer within {SECONDS:g} s"
    ended = done.returncode == 0
    said = (done.stdout if ended else done.stderr).decode("utf-8", "replace")
    return ended, said.strip() if ended else complaint(said)

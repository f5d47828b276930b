"""Finds Chromium and decides which user runs it: never root, and never without its sandbox."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from spaniel.browser.home import BrowserHome, HomeOwner, make_home, remove_home
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_SANDBOX = (
    "It is never run without its sandbox: allow user namespaces (in Docker, by a seccomp profile). "
    "Where another wall stands around it, no_sandbox = true under [tools.webfetch.browser] does without."
)
_NO_CAPABILITIES = (
    "Chromium is never run by root: run Spaniel as an ordinary user (docker run --user 1000), "
    "or leave it the capabilities SETUID, SETGID and CHOWN."
)
_UNMAPPED = (
    "Chromium is never run by root: run Spaniel as an ordinary user, or map more than one user into the namespace."
)
_NOBODY = "Root has the user nobody run it: install it where every user may run it, or do not run Spaniel as root."


class Chromium(NamedTuple):
    """A Chromium that works here, in its sandbox."""

    path: str
    version: str


def find_path(setting: str = "") -> str:
    """The binary of the settings, or the first of the usual ones on the PATH; else `browser_unavailable`.

    The current directory is not searched: a repository could contain its own `chromium`.
    """
    if not hasattr(os, "fork"):
        raise unavailable(setting, "it cannot be driven on this system yet", "system")
    if os.path.dirname(setting):
        if not os.path.isabs(setting):
            raise unavailable(setting, "its path must be an absolute one", "path")
        if not _can_be_run(setting):
            reason = "it cannot be run" if os.path.exists(setting) else "there is no such program"
            raise unavailable(setting, reason, "path")
        return setting
    for name in (setting,) if setting else NAMES:
        for folder in filter(os.path.isabs, os.get_exec_path()):
            if _can_be_run(path := os.path.join(folder, name)):
                return path
    if setting:
        raise unavailable(setting, "there is no such program on the PATH", "path")
    raise unavailable("", f"none of {', '.join(NAMES)} is on the PATH", "missing")


def _can_be_run(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def locate(setting: str = "", *, no_sandbox: bool = False) -> Chromium:
    """Find Chromium, check its version, and try whether it works here. Takes about a second."""
    path = find_path(setting)
    home = home_for(path)
    try:
        version = _run([path, "--version"], path, home)
        check_version(path, version)
        flags = ["--headless", "--disable-gpu", f"--user-data-dir={home.path}/profile", "--dump-dom"]
        flags += ["--no-sandbox"] if no_sandbox else []
        _run([path, *flags, "about:blank"], path, home)
    finally:
        remove_home(home)
    return Chromium(path, version)


def home_for(path: str, trust: Mapping[str, bytes] | None = None) -> BrowserHome:
    """A new home folder for a Chromium, owned by the user who will run it."""
    owner = runner(path)
    try:
        return make_home(owner, trust)
    except OSError as error:
        if owner and error.strerror in [os.strerror(n) for n in (errno.EPERM, errno.EINVAL)]:
            raise unavailable(path, why_not(error, owner)) from None
        raise unavailable(path, f"no folder can be made for it: {error.strerror}") from None


def runner(path: str) -> HomeOwner | None:
    """The user who runs Chromium, None for the current one. The sandbox refuses root, so root uses `nobody`."""
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise unavailable(path, "root does not run it, and there is no user nobody to do so") from None
    return HomeOwner(entry.pw_uid, entry.pw_gid)


def why_not(error: OSError | subprocess.SubprocessError | str, owner: HomeOwner | None) -> str:
    """Why Chromium does not run (the system's error or Chromium's output), and what to do."""
    if isinstance(error, str):
        said = complaint(error)
        if owner and re.search("permission denied|cannot execute", said, re.IGNORECASE):
            return f"{said}. {_NOBODY}"
        return f"{said}. {_SANDBOX}" if re.search("sandbox|namespace", said, re.IGNORECASE) else said
    said = getattr(error, "strerror", None) or str(error)
    number = getattr(error, "errno", None)
    if owner and number == errno.EPERM:
        return f"root may not become another user here. {_NO_CAPABILITIES}"
    if owner and number == errno.EINVAL:
        return f"the user nobody ({owner.uid}) is not known in this user namespace. {_UNMAPPED}"
    return f"{said}. {_NOBODY}" if owner else said


def check_version(path: str, version: str) -> None:
    """`version` as Chromium prints it: "Chromium 156.0.8078.79", "HeadlessChrome/156.0.0.0"."""
    found = re.search(r"(\d+)\.\d+", version)
    if found is None:
        raise unavailable(path, f"it does not tell its version but '{version[:80]}'")
    if int(found[1]) < OLDEST:
        raise unavailable(path, f"version {found[0]} is older than {OLDEST}", "old")


def unavailable(path: str, error: str, cause: str | None = None) -> SpanielError:
    """`cause` selects the hint; without it, the error itself says what to do."""
    return SpanielError(Code.BROWSER_UNAVAILABLE, chromium_path=path, error=error, cause=cause)


def complaint(text: str) -> str:
    """The most useful line of Chromium's output."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search("sandbox|FATAL|not found|denied|error", line, re.IGNORECASE)]
    found = (telling or lines or ["it ended without a word"])[0]
    return re.sub(r"^\[[^\]]*\]\s*", "", found)[:200]


def _run(command: list[str], path: str, home: BrowserHome) -> str:
    """The output of a successful command; else `browser_unavailable`."""
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL, **home.popen()
        )
    except subprocess.TimeoutExpired:
        raise unavailable(path, f"no answer within {SECONDS:g} s") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise unavailable(path, why_not(error, home.owner)) from None
    if done.returncode:
        raise unavailable(path, why_not(done.stderr.decode("utf-8", "replace"), home.owner))
    said: bytes = done.stdout
    return said.decode("utf-8", "replace").strip()

"""The home folder of a Chromium: created for the user who runs it, and removed when it has exited.

When root has another user run Chromium, that user owns the folder and can put anything into it: links, pipes, deeply
nested folders. So root does nothing in it once it is handed over; its owner empties it. It lies in a folder of ours,
so that it cannot be replaced.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.browser.certificates import FOLDER
from spaniel.private_folder import open_folder, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.private_folder import OpenFolder

PREFIX = "spaniel-chromium-"
_INNER = "home"
_OTHERS_MAY_ENTER = 0o711
_SECONDS = 20.0  # for its owner to empty it; `sweep` removes what is left
# Environment variables that Chromium gets.
_TOLD = ("PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "LD_LIBRARY_PATH")


class HomeOwner(NamedTuple):
    """Another user, who runs Chromium for root."""

    uid: int
    gid: int

    def popen(self) -> dict[str, Any]:
        """Arguments for `subprocess.Popen`."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


class BrowserHome(NamedTuple):
    """`outer` is ours, `path` in it belongs to the owner (None: to us)."""

    outer: str
    owner: HomeOwner | None

    @property
    def path(self) -> str:
        return f"{self.outer}/{_INNER}"

    def popen(self) -> dict[str, Any]:
        """Arguments for `subprocess.Popen`: run as the owner, with a minimal environment."""
        environment = {name: os.environ[name] for name in _TOLD if name in os.environ}
        environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), self.path)
        return {"env": environment, "cwd": self.path, **(self.owner.popen() if self.owner else {})}


def make_home(owner: HomeOwner | None, trust: Mapping[str, bytes] | None = None) -> BrowserHome:
    """Create one with an unguessable name, and the files of the trust store in it. Raises `OSError`."""
    _judge_place(tempfile.gettempdir())
    home = BrowserHome(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"), owner)
    try:
        with open_folder(home.outer) as outer, outer.folder(_INNER, make=True) as inner:
            if trust:
                _put(inner, trust, owner)
            if owner and inner.descriptor is not None and outer.descriptor is not None:
                os.fchown(inner.descriptor, *owner)
                os.fchmod(outer.descriptor, _OTHERS_MAY_ENTER)  # last: until now other users had no access
    except BaseException:
        remove_home(home._replace(owner=None))
        raise
    return home


def _put(inner: OpenFolder, trust: Mapping[str, bytes], owner: HomeOwner | None) -> None:
    """Write the trust store, before other users have access, and give it to the owner."""
    with ExitStack() as stack:
        folder = inner
        for name in FOLDER:
            folder = stack.enter_context(folder.folder(name, make=True))
            if owner and folder.descriptor is not None:
                stack.callback(os.fchown, folder.descriptor, *owner)
        for name, data in trust.items():
            with os.fdopen(folder.create(name), "wb") as file:
                file.write(data)
                if owner:
                    os.fchown(file.fileno(), *owner)


def remove_home(home: BrowserHome) -> None:
    """Remove it with its contents. What cannot be removed stays; this is not an error."""
    if not os.path.lexists(home.outer):
        return
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603
            ["rm", "-rf", "--", home.path if home.owner else home.outer],  # noqa: S607
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=_SECONDS, check=False, **(home.popen() | {"cwd": "/"}),
        )  # fmt: skip
    if home.owner:
        _remove_empty(home)


def _remove_empty(home: BrowserHome) -> None:
    with contextlib.suppress(OSError), open_folder(home.outer) as outer:
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(outer.at(_INNER), dir_fd=outer.descriptor)
        os.rmdir(home.outer)


def sweep() -> None:
    """Remove the homes of Spaniel processes that were killed (the name contains the process id).

    Anyone can create a folder with such a name among the temporary files, so only our own folders are touched.
    """
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        pid = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and pid.isdigit() and not _is_alive(int(pid)):
            with contextlib.suppress(OSError):
                remove_home(_left(os.path.join(folder, name)))


def _left(path: str) -> BrowserHome:
    with open_folder(path) as outer:
        try:
            found = outer.status(_INNER)
        except FileNotFoundError:
            return BrowserHome(path, None)
    return BrowserHome(path, None if found.st_uid == os.geteuid() else HomeOwner(found.st_uid, found.st_gid))


def _judge_place(folder: str) -> None:
    """In a folder that everyone can write to, only the sticky bit keeps others from replacing ours."""
    mode = os.stat(folder).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        advice = "chmod +t it, or set TMPDIR to another folder"
        raise refusal(folder, f"others may exchange what is in the folder for temporary files, {folder}: {advice}")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True

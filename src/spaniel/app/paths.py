"""Where Spaniel stores its files, by the conventions of each system (D2-21), and which settings files it reads."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

FILE = "spaniel.toml"  # settings, in the user's configuration folder and in a project's

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def default_cache_dir() -> str:
    """The user's cache folder."""
    return _own_folder("XDG_CACHE_HOME", "~/Library/Caches", "~/.cache")


def default_state_dir() -> str:
    """The user's folder for state that programs write."""
    return _own_folder("XDG_STATE_HOME", "~/Library/Application Support", "~/.local/state")


def _own_folder(variable: str, on_a_mac: str, elsewhere: str) -> str:
    """The system's folder. A relative path in the variable is ignored, as its specification says."""
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        base = named
    elif sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser(on_a_mac)
    else:
        base = os.path.expanduser(elsewhere)
    return os.path.join(base, "spaniel")


def user_file(environ: Mapping[str, str] = os.environ) -> str:
    """The settings file in the user's configuration folder; a relative `XDG_CONFIG_HOME` could be any folder."""
    if os.name == "nt":
        base = environ.get("APPDATA") or os.path.expanduser("~\\AppData\\Roaming")
    else:
        named = environ.get("XDG_CONFIG_HOME", "")
        base = named if os.path.isabs(named) else os.path.expanduser("~/.config")
    return os.path.join(base, "spaniel", FILE)


class SettingsFile(NamedTuple):
    """A settings file, which may exist."""

    whose: str  # user, project, named
    path: str
    found: bool


def settings_files(named: str | None, environ: Mapping[str, str], cwd: str) -> tuple[SettingsFile, ...]:
    """The files in order, the user's first. The user's own file, or a named one, does not count as a project's."""
    user, project = user_file(environ), os.path.join(cwd, FILE)
    others = [user, *([named] if named else [])]
    places = [SettingsFile("user", user, os.path.isfile(user))]
    if not any(_is_same(project, other) for other in others):
        places.append(SettingsFile("project", project, os.path.isfile(project)))
    if named:
        places.append(SettingsFile("named", named, found=True))
    return tuple(places)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False

"""Where Spaniel keeps its own files, by the customs of each system (D2-21)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spaniel.app.settings import Settings


def cache_dir(settings: Settings) -> str:
    """Where the page cache is: as the settings say, else the user's own."""
    return str(settings["tools.webfetch.cache_dir"]) or default_cache_dir()


def default_cache_dir() -> str:
    """The user's cache folder. A relative `XDG_CACHE_HOME` is to be ignored, says its specification."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        base = named
    elif sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "spaniel")

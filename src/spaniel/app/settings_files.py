"""The settings files, in order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.paths import FILE, user_file

if TYPE_CHECKING:
    from collections.abc import Mapping


class LookedFor(NamedTuple):
    """A settings file."""

    whose: str  # user, project, named
    path: str
    found: bool


def settings_files(named: str | None, environ: Mapping[str, str], cwd: str) -> tuple[LookedFor, ...]:
    """The files in order, the user's first. The user's own file, or a named one, does not count as a project's."""
    user, project = user_file(environ), os.path.join(cwd, FILE)
    others = [user, *([named] if named else [])]
    places = [LookedFor("user", user, os.path.isfile(user))]
    if not any(_is_same(project, other) for other in others):
        places.append(LookedFor("project", project, os.path.isfile(project)))
    if named:
        places.append(LookedFor("named", named, found=True))
    return tuple(places)


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False

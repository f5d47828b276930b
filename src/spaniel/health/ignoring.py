"""Which files git would leave alone, without asking git: `.gitignore` of every folder, negations, folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.patterns import MAX_MEMORY, Allowance, glob_expression, matcher, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LARGEST = 1 << 20  # bytes of a .gitignore
MOST = 10_000  # lines
WALK_BYTES = 16 * MAX_MEMORY  # of all folders one after the other


class Rule(NamedTuple):
    """One line of a `.gitignore`."""

    matches: Callable[[str], bool]  # a path that is relative to the file's folder
    is_negated: bool
    is_for_folders: bool


class Ignored(NamedTuple):
    """The rules that hold in a folder: its own, and those of the folders above, the outermost first."""

    levels: tuple[tuple[str, tuple[Rule, ...]], ...] = ()
    left: int = MAX_MEMORY  # that the files of further folders may take
    walk: Allowance | None = None  # what all folders together may take, one after the other

    def within(self, folder: str) -> Ignored:
        """With those of this folder."""
        return self.with_file(folder, os.path.join(folder, ".gitignore"))

    def with_file(self, folder: str, path: str) -> Ignored:
        """With the lines of a file, which hold for a folder."""
        allowance = Allowance(self.left)
        rules = tuple(_rules(path, allowance))
        if self.walk is not None:
            self.walk.take(self.left - allowance.left, path)
        return Ignored((*self.levels, (folder, rules)), allowance.left, self.walk) if rules else self

    def covers(self, path: str, *, is_folder: bool) -> bool:
        """The last line that matches decides."""
        for folder, rules in reversed(self.levels):
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            for rule in reversed(rules):
                if (is_folder or not rule.is_for_folders) and rule.matches(relative):
                    return not rule.is_negated
        return False


def above(folder: str) -> Ignored:
    """The rules of the repository that a folder is in, but for its own."""
    folder = os.path.abspath(folder)
    way = [folder]
    while not os.path.exists(os.path.join(way[-1], ".git")):
        parent = os.path.dirname(way[-1])
        if parent == way[-1]:
            return Ignored(walk=Allowance(WALK_BYTES))
        way.append(parent)
    ignored = Ignored(walk=Allowance(WALK_BYTES)).with_file(way[-1], os.path.join(way[-1], ".git", "info", "exclude"))
    for one in reversed(way[1:]):
        ignored = ignored.within(one)
    return ignored


def _lines(path: str) -> Iterable[str]:
    try:
        if not os.path.isfile(path):
            return ()
        with open(path, "rb") as file:
            return file.read(LARGEST).decode("utf-8-sig", "replace").splitlines()[:MOST]
    except OSError:
        return ()


def _rules(path: str, allowance: Allowance) -> Iterable[Rule]:
    for line in _lines(path):
        pattern = _without_blanks(line)
        if not pattern or pattern.startswith("#"):
            continue
        is_negated = pattern.startswith("!")
        pattern = pattern[1:] if is_negated else pattern
        bare = pattern.rstrip("/")
        expression = glob_expression(_anchored(bare)) if bare else None
        if expression is None:
            continue
        allowance.take(weight(expression), f"{path} (--no-gitignore leaves it out)")
        try:
            yield Rule(matcher(expression, path), is_negated, pattern.endswith("/"))
        except SpanielError:
            continue  # a pattern that is none matches nothing, as in git


def _without_blanks(line: str) -> str:
    """Blanks at the end do not count, unless escaped."""
    bare = line.rstrip(" \t")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return f"{bare} " if slashes % 2 and len(bare) < len(line) else bare


def _anchored(pattern: str) -> str:
    """A pattern with a slash is for its own folder; one without is for every folder below too."""
    if pattern.startswith("/"):
        return pattern[1:]
    return pattern if "/" in pattern else f"**/{pattern}"

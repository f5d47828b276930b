"""`spaniel db fix`: records of links that moved get their new addresses; a diff, unless told to write."""

from __future__ import annotations

import sys
from difflib import unified_diff
from typing import TYPE_CHECKING

from spaniel.cli.check_fix import show_diff, tell_unfixed
from spaniel.errors import SpanielError, shown
from spaniel.health.new_addresses import successor
from spaniel.health.rewriting import Unfixed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from spaniel.health.new_addresses import Wishes
    from spaniel.health.verdict import Checked
    from spaniel.registry import Editor, Registry


class _NotWrittenError(Exception):
    """Ends an edit without writing it."""


def fix_records(registry: Registry, results: Iterable[Checked], wishes: Wishes, out: TextIO, *, write: bool) -> int:
    """Move the records of links that moved, each with all that it says; the number of those that stay."""
    unfixed: list[Unfixed] = []
    moved = 0
    try:
        with registry.editing(written=_tell if write else None) as editor:
            for checked in results:
                moved += _fix(editor, checked, wishes, unfixed)
            if not write:
                _show(editor, out)
                raise _NotWrittenError
    except _NotWrittenError:
        if moved:
            sys.stderr.write(f"spaniel: {moved} record{'' if moved == 1 else 's'} would move; --write writes them\n")
    tell_unfixed(unfixed)
    return len(unfixed)


def _fix(editor: Editor, checked: Checked, wishes: Wishes, unfixed: list[Unfixed]) -> bool:
    """Whether the record of a link moves."""
    told = successor(checked, wishes)
    if told is None or not checked.link.places:
        return False
    place, url = checked.link.places[0], checked.link.url
    if told.refusal:
        unfixed.append(Unfixed(place, url, told.refusal, told.suggestion))
        return False
    try:
        added = editor.move(url, told.url.partition("#")[0])
    except SpanielError as error:
        unfixed.append(Unfixed(place, url, error.message, told.url))
        return False
    if not added.is_new:
        reason = "only the scheme differs, which its file says for all of its records ('https: true')"
        unfixed.append(Unfixed(place, url, reason, told.url))
    return added.is_new


def _show(editor: Editor, out: TextIO) -> None:
    for file, before, after in editor.changes():
        name = file.lstrip("/")
        old, new = ("/dev/null" if not before else f"a/{name}"), ("/dev/null" if not after else f"b/{name}")
        lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, new)
        show_diff(lines, out)


def _tell(file: str) -> None:
    sys.stderr.write(f"spaniel: {shown(file)} changed\n")

"""What a rewriting changes, as a unified diff that `git apply` and `patch` take. Made of spans: nothing is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONTEXT = 3
NO_NEWLINE = "\\ No newline at end of file\n"


def unified(name: str, text: str, changes: Mapping[tuple[int, int], str]) -> Iterator[str]:
    """The lines of the diff of one file; those of the file with their own ends, LF alone counting as one."""
    lines = _lines(text)
    edits = list(_edits(text, lines, changes))
    if not edits:
        return
    yield f"--- a/{name}\n"
    yield f"+++ b/{name}\n"
    shift = 0
    for group in _groups(edits):
        first, last = max(0, group[0][0] - CONTEXT), min(len(lines), group[-1][1] + CONTEXT)
        body: list[str] = []
        at = first
        for begin, end, new in group:
            body += [f" {line}" for line in lines[at:begin]]
            body += [f"-{line}" for line in lines[begin:end]]
            body += [f"+{line}" for line in new]
            at = end
        body += [f" {line}" for line in lines[at:last]]
        grown = sum(len(new) - (end - begin) for begin, end, new in group)
        old, now = last - first, last - first + grown
        yield f"@@ -{first + 1},{old} +{first + 1 + shift},{now} @@\n"
        yield from (line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in body)
        shift += grown


def _lines(text: str) -> list[str]:
    """By LF, as diff has it: a lone CR is a character like any other."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _edits(text: str, lines: list[str], changes: Mapping[tuple[int, int], str]) -> Iterator[tuple[int, int, list[str]]]:
    """Lines from, to, and what comes in their place; changes that touch the same lines are one edit."""
    waiting = sorted(changes.items(), reverse=True)
    number = end = 0
    while waiting:
        first, start = number, end
        end += len(lines[number])
        number += 1
        if waiting[-1][0][0] >= end:
            continue
        new, at = "", start
        while waiting and waiting[-1][0][0] < end:
            (change_start, change_end), written = waiting.pop()
            new += text[at:change_start] + written
            at = change_end
            while end < change_end:
                end += len(lines[number])
                number += 1
        yield first, number, _lines(new + text[at:end])


def _groups(edits: list[tuple[int, int, list[str]]]) -> Iterator[list[tuple[int, int, list[str]]]]:
    """Edits that are near enough to stand in one hunk."""
    group = edits[:1]
    for edit in edits[1:]:
        if edit[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    yield group

"""New addresses written into the documents that mention the old ones, or shown as a diff."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import write_atomically
from spaniel.health.documents import encoding, kinds
from spaniel.health.documents.quoting import encode
from spaniel.health.files import LARGEST, read_bytes
from spaniel.health.filters import SCHEME, web_address
from spaniel.health.links import file_name
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spaniel.health.documents.encoding import Decoded
    from spaniel.health.documents.mentions import Mention
    from spaniel.health.links import Checked, Place

    Span = tuple[int, int]


def _everywhere(_host: str) -> str | None:
    return None


class Wishes(NamedTuple):
    """What may be written."""

    temporary_too: bool = False  # redirects that need not stay
    archive: bool = False  # copies in an archive, for links that are dead
    refused_host: Callable[[str], str | None] = _everywhere  # why a host is not allowed: `Allowlist.refusal`


PERMANENT_ONLY = Wishes()


class Successor(NamedTuple):
    """A new address, or why there is none."""

    url: str = ""
    why: str = ""
    refusal: str = ""
    suggestion: str = ""


def successor(checked: Checked, wishes: Wishes = PERMANENT_ONLY) -> Successor | None:
    """What is to be written in place of a link; None for one with which nothing is wrong."""
    if checked.verdict is Verdict.MOVED and checked.move is not None:
        return _moved(checked, wishes)
    if checked.verdict is Verdict.DEAD and checked.archived:
        if not wishes.archive:
            return Successor(refusal="dead; an archive has a copy (--archive writes it)", suggestion=checked.archived)
        return _allowed(checked.archived, "", wishes, "dead: an archive's copy")
    return None


def _moved(checked: Checked, wishes: Wishes) -> Successor:
    move = checked.move
    if move is None or not move.to:
        return Successor(refusal="nobody knows where it moved to")
    if move.is_suspect:
        why = move.why_suspect or "it may not be the same page"
        return Successor(refusal=f"its end is suspect: {why}", suggestion=move.to)
    if not move.is_permanent and not wishes.temporary_too:
        return Successor(refusal="moved for a time only (--temporary-too writes it)", suggestion=move.to)
    return _allowed(move.to, checked.link.url, wishes, "moved" if move.is_permanent else "moved for a time")


def _allowed(to: str, old: str, wishes: Wishes, why: str) -> Successor:
    """A page of the web, on a host that is allowed, and not one that gives encryption up."""
    from spaniel.url import parse

    try:
        url = parse(to)
    except SpanielError as error:
        return Successor(refusal=f"its new address is none: {error.message}")
    if "@" in to.partition("://")[2].partition("/")[0]:
        return Successor(refusal="its new address has a name and a password in it")
    if old.startswith("https:") and url.scheme == "http":
        return Successor(refusal="it moved from https to http", suggestion=url.href)
    if (refusal := wishes.refused_host(url.host)) is not None:
        return Successor(refusal=f"its new host {url.host} is not written: {refusal}", suggestion=url.href)
    return Successor(url.href, why)


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


ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
COMPRESSED = "its file is compressed, or cannot be read; change it by hand"
CHANGED = "the file has changed since it was checked; check it again"


class Source(NamedTuple):
    """A document as it is on the disk now."""

    path: str
    raw: bytes
    decoded: Decoded
    kind: str
    fields: tuple[str, ...]
    mentions: tuple[Mention, ...]


class Fix(NamedTuple):
    """One address that is to be replaced by another."""

    place: Place
    old: str
    new: str
    span: Span  # of the text that `written` takes the place of
    written: str
    why: str


class Unfixed(NamedTuple):
    """One that stays as it is, and why; `suggestion` is what a person may want to write there."""

    place: Place
    url: str
    reason: str
    suggestion: str = ""


class Plan(NamedTuple):
    """What would be written, file by file, and what would not."""

    fixes: list[Fix]
    unfixed: list[Unfixed]


def rewrite(text: str, changes: Mapping[Span, str]) -> str:
    """The text with other words in these spans, which do not overlap."""
    parts: list[str] = []
    at = 0
    for (start, end), new in sorted(changes.items()):
        parts += text[at:start], new
        at = end
    return "".join([*parts, text[at:]])


def read_sources(paths: Iterable[str], kind: str = "", fields: Sequence[str] = ()) -> dict[str, Source]:
    """The documents that links are to be fixed in. One that cannot be read is left out, and nothing is fixed in it."""
    sources: dict[str, Source] = {}
    for path in dict.fromkeys(paths):
        try:
            raw = read_bytes(file_name(path), LARGEST)
        except SpanielError:
            continue
        if encoding.is_compressed(raw):
            continue
        decoded = encoding.decode(raw)
        known = kind or kinds.kind_of(path, decoded.text)
        found = tuple(kinds.mentions(decoded.text, path, known, fields))
        sources[path] = Source(path, raw, decoded, known, tuple(fields), found)
    return sources


def plan_fixes(
    results: Iterable[Checked], files: Mapping[str, Source], wishes: Wishes = PERMANENT_ONLY, base: str | None = None
) -> Plan:
    """The fixes that what was found allows, each proved: read again, the new text says the new address and no less."""
    plan = Plan([], [])
    places = {(path, one.place): one for path, source in files.items() for one in source.mentions}
    for checked in results:
        told = successor(checked, wishes)
        if told is None:
            continue
        url = checked.link.url.partition("#")[0]
        for place in checked.link.places:
            if place.line == 0 or place.file == "-":
                continue  # standard input and the command line are not written to
            mention = places.get((place.file, place._replace(fragment="")))
            if told.refusal:
                plan.unfixed.append(Unfixed(place, checked.link.url, told.refusal, told.suggestion))
            elif place.file not in files:
                plan.unfixed.append(Unfixed(place, checked.link.url, COMPRESSED, told.url))
            elif mention is None or (web_address(mention, base) or ("",))[0] != url:
                plan.unfixed.append(Unfixed(place, checked.link.url, CHANGED))
            else:
                _add(plan, mention, told.url, told.why)
    return _proved(plan, files)


def _add(plan: Plan, mention: Mention, new: str, why: str) -> None:
    """The fragment is kept, unless the new address has one of its own."""
    _, hash_, fragment = mention.url.partition("#")
    if not SCHEME.match(mention.url):
        plan.unfixed.append(Unfixed(mention.place, mention.url, "it is relative; change it by hand", new))
        return
    url = new if "#" in new or not fragment else f"{new}{hash_}{fragment}"
    if url != mention.url:
        written = encode(url, mention.syntax)
        plan.fixes.append(Fix(mention.place, mention.url, url, (mention.start, mention.end), written, why))


def _proved(plan: Plan, files: Mapping[str, Source]) -> Plan:
    """Without those that would not be read as they are meant, or would change how something else is read."""
    kept: list[Fix] = []
    unfixed = list(plan.unfixed)
    by_file: dict[str, list[Fix]] = {}
    for fix in plan.fixes:
        by_file.setdefault(fix.place.file, []).append(fix)
    for file, fixes in by_file.items():
        source = files[file]
        good = fixes if holds(source, fixes) else [fix for fix in fixes if holds(source, [fix])]
        if good is not fixes and not holds(source, good):
            good = []
        kept += good
        spans = {fix.span for fix in good}
        bad = (fix for fix in fixes if fix.span not in spans)
        unfixed += [Unfixed(f.place, f.old, "it cannot be written here; change it by hand", f.new) for f in bad]
    return Plan(kept, unfixed)


def holds(source: Source, fixes: Sequence[Fix]) -> bool:
    """Whether the new text has the links that it should have, and the encoding has the characters."""
    new = {fix.span: fix.new for fix in fixes}
    wanted = [new.get((one.start, one.end), one.url) for one in source.mentions]
    text = rewritten(source, fixes)
    try:
        source.decoded.encoded(text)
    except UnicodeEncodeError:
        return False
    return [one.url for one in kinds.mentions(text, source.path, source.kind, source.fields)] == wanted


def rewritten(source: Source, fixes: Sequence[Fix]) -> str:
    return rewrite(source.decoded.text, {fix.span: fix.written for fix in fixes})


def write(source: Source, fixes: Sequence[Fix]) -> str:
    """Write the fixes of one file; "" where that is done, else why it was not.

    The file appears whole or not at all. One that is not what was read, or a symbolic link, is left alone.
    """
    new, path = source.decoded.encoded(rewritten(source, fixes)), file_name(source.path)
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return "it is a symbolic link, and links are not followed"
        if not found.st_mode & ANY_WRITE:  # a new file in its place would need leave of the folder alone
            return "it is read-only"
        if read_bytes(path, LARGEST) != source.raw:
            return CHANGED
        write_atomically(path, new, None, durable=True)
    except SpanielError as error:
        return str(error.details["reason"])
    except OSError as error:
        return f"cannot be written: {error.strerror}"
    return ""

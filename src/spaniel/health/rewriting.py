"""Replaces URLs in documents: plans the changes, shows them as a diff, writes them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import write_atomically
from spaniel.health.documents import kinds
from spaniel.health.documents.quoting import encode
from spaniel.health.files import LARGEST, decode, read_bytes
from spaniel.health.filters import SCHEME, web_address
from spaniel.health.links import file_name
from spaniel.sources.kinds import COMPRESSED
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spaniel.health.documents.mentions import Mention
    from spaniel.health.files import DecodedText
    from spaniel.health.links import Checked, Place

    Span = tuple[int, int]


class FixOptions(NamedTuple):
    """What may be written."""

    temporary_too: bool = False  # targets of temporary redirects
    archive: bool = False  # archived copies of dead links
    refuse_host: Callable[[str], str | None] = lambda _host: None  # says why a host is not allowed: `Allowlist.refusal`


PERMANENT_ONLY = FixOptions()


class Replacement(NamedTuple):
    """The new URL of a link, or why it has none."""

    url: str = ""
    why: str = ""
    refusal: str = ""
    suggestion: str = ""


def replacement_for(checked: Checked, options: FixOptions = PERMANENT_ONLY) -> Replacement | None:
    """Return what to write in place of a link; None for a link without a problem."""
    if checked.verdict is Verdict.MOVED and checked.move is not None:
        return _moved(checked, options)
    if checked.verdict is Verdict.DEAD and checked.archived:
        if not options.archive:
            refusal = "dead; an archive has a copy (--archive writes it)"
            return Replacement(refusal=refusal, suggestion=checked.archived)
        return _if_allowed(checked.archived, "", options, "dead: archived copy")
    return None


def _moved(checked: Checked, options: FixOptions) -> Replacement:
    move = checked.move
    if move is None or not move.to:
        return Replacement(refusal="its new URL is unknown")
    if move.is_suspect:
        why = move.why_suspect or "it may not be the same page"
        return Replacement(refusal=f"its redirect is suspect: {why}", suggestion=move.to)
    if not move.is_permanent and not options.temporary_too:
        return Replacement(refusal="moved temporarily (--temporary-too writes it)", suggestion=move.to)
    return _if_allowed(move.to, checked.link.url, options, "moved" if move.is_permanent else "moved temporarily")


def _if_allowed(to: str, old: str, options: FixOptions, why: str) -> Replacement:
    """Only a web URL without credentials, on a host that is allowed, and not http in place of https."""
    from spaniel.url import parse

    try:
        url = parse(to)
    except SpanielError as error:
        return Replacement(refusal=f"its new URL is invalid: {error.message}")
    if "@" in to.partition("://")[2].partition("/")[0]:
        return Replacement(refusal="its new URL contains a user name or password")
    if old.startswith("https:") and url.scheme == "http":
        return Replacement(refusal="it moved from https to http", suggestion=url.href)
    if (refusal := options.refuse_host(url.host)) is not None:
        return Replacement(refusal=f"its new host {url.host} is not written: {refusal}", suggestion=url.href)
    return Replacement(url.href, why)


# -- Diff

CONTEXT = 3  # lines around a change
NO_NEWLINE = "\\ No newline at end of file\n"


def diff_lines(name: str, text: str, changes: Mapping[Span, str]) -> Iterator[str]:
    """Yield the unified diff of one file. Only LF ends a line; line ends are kept."""
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
    """Split at LF, as `diff` does: a lone CR is an ordinary character."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _edits(text: str, lines: list[str], changes: Mapping[Span, str]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first line, the line after the last, and the new lines; changes of the same line are one edit."""
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
    """Group edits that are close enough for one hunk."""
    group = edits[:1]
    for edit in edits[1:]:
        if edit[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(edit)
    yield group


# -- Changes of documents

ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
UNREADABLE = "its file is compressed or cannot be read; change it manually"
CHANGED = "the file has changed since the check; check it again"


class SourceDocument(NamedTuple):
    """A document as it is on disk now."""

    path: str
    raw: bytes
    decoded: DecodedText
    kind: str
    fields: tuple[str, ...]
    mentions: tuple[Mention, ...]


class Fix(NamedTuple):
    """A URL to be replaced."""

    place: Place
    old: str
    new: str
    span: Span  # of the text that `written` replaces
    written: str
    why: str


class Unfixed(NamedTuple):
    """A link that is not changed, and why; `suggestion` is what the user may want to write instead."""

    place: Place
    url: str
    reason: str
    suggestion: str = ""


class FixPlan(NamedTuple):
    """The changes to write, and the links that are not changed."""

    fixes: list[Fix]
    unfixed: list[Unfixed]


def replace_spans(text: str, changes: Mapping[Span, str]) -> str:
    """Replace parts of a text, which do not overlap."""
    parts: list[str] = []
    at = 0
    for (start, end), new in sorted(changes.items()):
        parts += text[at:start], new
        at = end
    return "".join([*parts, text[at:]])


def read_sources(paths: Iterable[str], kind: str = "", fields: Sequence[str] = ()) -> dict[str, SourceDocument]:
    """Read the documents to change. One that cannot be read is left out and not changed."""
    sources: dict[str, SourceDocument] = {}
    for path in dict.fromkeys(paths):
        try:
            raw = read_bytes(file_name(path), LARGEST)
        except SpanielError:
            continue
        if raw.startswith(COMPRESSED):
            continue
        decoded = decode(raw)
        known = kind or kinds.kind_of(path, decoded.text)
        mentions = tuple(kinds.mentions(decoded.text, path, known, fields))
        sources[path] = SourceDocument(path, raw, decoded, known, tuple(fields), mentions)
    return sources


def plan_fixes(
    results: Iterable[Checked],
    files: Mapping[str, SourceDocument],
    options: FixOptions = PERMANENT_ONLY,
    base: str | None = None,
) -> FixPlan:
    """Plan the changes. Each is verified: the links of the new text are the old ones with the new URLs."""
    plan = FixPlan([], [])
    places = {(path, one.place): one for path, source in files.items() for one in source.mentions}
    for checked in results:
        new = replacement_for(checked, options)
        if new is None:
            continue
        url = checked.link.url.partition("#")[0]
        for place in checked.link.places:
            if place.line == 0 or place.file == "-":
                continue  # standard input and the command line cannot be changed
            mention = places.get((place.file, place._replace(fragment="")))
            if new.refusal:
                plan.unfixed.append(Unfixed(place, checked.link.url, new.refusal, new.suggestion))
            elif place.file not in files:
                plan.unfixed.append(Unfixed(place, checked.link.url, UNREADABLE, new.url))
            elif mention is None or (web_address(mention, base) or ("",))[0] != url:
                plan.unfixed.append(Unfixed(place, checked.link.url, CHANGED))
            else:
                _add(plan, mention, new.url, new.why)
    return _verified(plan, files)


def _add(plan: FixPlan, mention: Mention, new: str, why: str) -> None:
    """Add a fix. The fragment is kept unless the new URL has one."""
    _, hash_, fragment = mention.url.partition("#")
    if not SCHEME.match(mention.url):
        plan.unfixed.append(Unfixed(mention.place, mention.url, "it is relative; change it manually", new))
        return
    url = new if "#" in new or not fragment else f"{new}{hash_}{fragment}"
    if url != mention.url:
        written = encode(url, mention.syntax)
        plan.fixes.append(Fix(mention.place, mention.url, url, (mention.start, mention.end), written, why))


def _verified(plan: FixPlan, files: Mapping[str, SourceDocument]) -> FixPlan:
    """Drop fixes that would be read differently, or would change how another link is read."""
    kept: list[Fix] = []
    unfixed = list(plan.unfixed)
    by_file: dict[str, list[Fix]] = {}
    for fix in plan.fixes:
        by_file.setdefault(fix.place.file, []).append(fix)
    for file, fixes in by_file.items():
        source = files[file]
        good = fixes if is_correct(source, fixes) else [fix for fix in fixes if is_correct(source, [fix])]
        if good is not fixes and not is_correct(source, good):
            good = []
        kept += good
        spans = {fix.span for fix in good}
        bad = (fix for fix in fixes if fix.span not in spans)
        unfixed += [Unfixed(f.place, f.old, "it cannot be written here; change it manually", f.new) for f in bad]
    return FixPlan(kept, unfixed)


def is_correct(source: SourceDocument, fixes: Sequence[Fix]) -> bool:
    """Whether the new text can be encoded and has the expected links."""
    new = {fix.span: fix.new for fix in fixes}
    wanted = [new.get((one.start, one.end), one.url) for one in source.mentions]
    text = fixed_text(source, fixes)
    try:
        source.decoded.encoded(text)
    except UnicodeEncodeError:
        return False
    return [one.url for one in kinds.mentions(text, source.path, source.kind, source.fields)] == wanted


def fixed_text(source: SourceDocument, fixes: Sequence[Fix]) -> str:
    return replace_spans(source.decoded.text, {fix.span: fix.written for fix in fixes})


def write(source: SourceDocument, fixes: Sequence[Fix]) -> str:
    """Write the fixes of one file; return "" or why they were not written.

    The file is replaced atomically. A file that changed since it was read, or a symbolic link, is not replaced.
    """
    new, path = source.decoded.encoded(fixed_text(source, fixes)), file_name(source.path)
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return "it is a symbolic link, which is not followed"
        if not found.st_mode & ANY_WRITE:  # renaming a new file over it needs permission for the folder only
            return "it is read-only"
        if read_bytes(path, LARGEST) != source.raw:
            return CHANGED
        write_atomically(path, new, None, durable=True)
    except SpanielError as error:
        return str(error.details["reason"])
    except OSError as error:
        return f"cannot be written: {error.strerror}"
    return ""

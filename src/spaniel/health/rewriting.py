"""New addresses written in place of those that moved: planned on what is read, proved on the new text, then written."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.files import write_atomically
from spaniel.health.documents import encoding, kinds
from spaniel.health.documents.quoting import encode
from spaniel.health.files import LARGEST, read_bytes
from spaniel.health.new_addresses import PERMANENT_ONLY, successor
from spaniel.health.packing import file_name
from spaniel.health.sorting import SCHEME, web_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spaniel.health.documents.encoding import Decoded
    from spaniel.health.documents.mention import Mention
    from spaniel.health.new_addresses import Wishes
    from spaniel.health.verdict import Checked, Place

    Span = tuple[int, int]

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

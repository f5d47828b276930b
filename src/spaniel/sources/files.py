"""Local sources: files, glob patterns, standard input. The kind of a file selects its reader."""

from __future__ import annotations

import glob
import os
import stat
import sys
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.sources.json_values import read_json, read_jsonl, read_yaml
from spaniel.sources.kinds import DOCUMENTS, HEAD, FileKind, kind_by_name, kind_named, list_kind
from spaniel.sources.rows import LARGEST_VALUE, LONGEST_LINE, SourceRow
from spaniel.sources.streams import BROKEN, as_utf8, decoded, numbered_lines, uncompressed
from spaniel.sources.tables import read_csv, read_parquet, read_tsv
from spaniel.sources.xml_lists import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ChildSitemap, ListOptions, Problems, Reader, Report


def read_text(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield one URL per line. Blank lines and lines that start with `#` are skipped."""
    for number, line in numbered_lines(stream, LONGEST_LINE, report):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            text = decoded(line).strip()
        if text and text[0] != "#":
            yield SourceRow(text, {}, len(text), number)


def read_bookmarks(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """Yield the web pages of a bookmark file (Netscape format). Other schemes (javascript:, place:) are skipped."""
    from turbohtml import parse

    raw = stream.read(LARGEST_VALUE + 1)
    if len(raw) > LARGEST_VALUE:
        report("", f"has more than {LARGEST_VALUE >> 20} MB; the rest was left out")
    for number, anchor in enumerate(parse(decoded(raw[:LARGEST_VALUE])).select("a[href]"), 1):
        url = str(anchor.attrs["href"]).strip()
        if url.lower().startswith(("http://", "https://")):
            title = " ".join(anchor.text.split())
            yield SourceRow(url, {"title": title} if title else {}, len(url) + len(title), f"bookmark {number}")


WHOLE = 16 << 20  # bytes: up to this size the whole file is hashed (chosen; some 10 ms)
ENDS = 1 << 20  # bytes hashed at the start and at the end of a larger file
PIECE = 1 << 18  # bytes per read


class Fingerprint(NamedTuple):
    """Identifies the content of a file. `digest` covers all bytes, or, if `whole` is False, only its start and end."""

    size: int
    mtime_ns: int
    digest: str
    whole: bool

    def difference(self, now: Fingerprint) -> str | None:
        """Say how the content changed; None if it is the same. A `touch` is not a change."""
        if now.size != self.size:
            return f"it had {self.size} bytes and has {now.size} now"
        if now.digest != self.digest:
            return "its content has changed"
        if not self.whole and now.mtime_ns != self.mtime_ns:
            return "it was written to since"  # the middle is not hashed, so the date decides
        return None


def fingerprint(path: str) -> Fingerprint | None:
    """Return the fingerprint of a regular file; None for a pipe, which cannot be read twice. May raise `OSError`."""
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return None
        digest, whole = sha256(), found.st_size <= WHOLE
        if whole:
            while piece := file.read(PIECE):
                digest.update(piece)
        else:
            digest.update(file.read(ENDS))
            file.seek(-ENDS, os.SEEK_END)
            digest.update(file.read(ENDS))
        return Fingerprint(found.st_size, found.st_mtime_ns, digest.hexdigest(), whole)


def _without_waiting(path: str, flags: int) -> int:
    """Open without blocking: opening a pipe that has no writer would wait for one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


STANDARD_INPUT = "-"
READERS: dict[FileKind, Reader] = {  # Parquet is read from a file that can seek, a site by its sitemaps
    FileKind.TEXT: read_text,
    FileKind.CSV: read_csv,
    FileKind.TSV: read_tsv,
    FileKind.JSON: read_json,
    FileKind.JSONL: read_jsonl,
    FileKind.YAML: read_yaml,
    FileKind.SITEMAP: read_xml,
    FileKind.FEED: read_xml,
    FileKind.BOOKMARKS: read_bookmarks,
}
BUFFER = 1 << 18  # bytes; measured: a line of gigabytes is skipped three times faster than with 8 KB


class StreamInfo(NamedTuple):
    """What is known about a stream before it is read."""

    place: str  # for messages
    name: str  # its extension may give the kind
    content_type: str = ""


def local_files(source: str) -> list[str]:
    """Return the files that a source names, sorted by name. Raises `bad_args` if there are none."""
    if source == STANDARD_INPUT or os.path.lexists(source):
        found = [source]
    else:
        found = sorted(path for path in glob.iglob(source, recursive=True) if not os.path.isdir(path))
    if not found:
        reason = (
            "there is no such file (an address begins with https://)"
            if not glob.has_magic(source)
            else "no file has such a name"
        )
        raise SpanielError(Code.BAD_ARGS, field=source, reason=reason)
    if os.path.isdir(found[0]):
        reason = f"is a folder; name the files in it, for example '{os.path.join(source, '*.txt')}'"
        raise SpanielError(Code.BAD_ARGS, field=source, reason=reason)
    return found


def read_file(path: str, options: ListOptions, problems: Problems) -> Iterator[SourceRow | ChildSitemap]:
    """Yield the rows of a file. The file stays open until the iterator ends."""
    with _opened(path) as stream:
        about = StreamInfo("standard input", "") if path == STANDARD_INPUT else StreamInfo(path, path)
        yield from read_stream(stream, about, options, problems)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    own = path != STANDARD_INPUT
    if not own and sys.stdin is None:  # closed by the parent process
        raise SpanielError(Code.BAD_ARGS, field=path, reason="there is no standard input to read")
    try:
        # A second reader of standard input: at exit Python would wait for the lock of `sys.stdin`
        file = open(path if own else sys.stdin.fileno(), "rb", BUFFER, closefd=own)  # noqa: SIM115
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror or error}") from None
    with file:
        yield file


def read_stream(
    stream: BinaryIO, about: StreamInfo, options: ListOptions, problems: Problems
) -> Iterator[SourceRow | ChildSitemap]:
    """Yield the rows of a stream of any kind. A truncated stream is reported as a problem and ends the rows."""
    report = problems.at(about.place)
    given = kind_named(options.kind)
    if given in DOCUMENTS or given is FileKind.SITE:
        kinds = ", ".join([*READERS, FileKind.PARQUET])
        raise SpanielError(Code.BAD_ARGS, field="--kind", reason=f"'{given}' is not a list; lists are: {kinds}")
    kind = given or kind_by_name(about.name)
    try:
        if kind != FileKind.PARQUET:
            text = as_utf8(uncompressed(stream))
            kind = given or list_kind(about.name, about.content_type, text.peek(HEAD), about.place)
        _report_unused(kind, options, report)
        if kind == FileKind.PARQUET:
            yield from read_parquet(_rewound(stream, about.place), options, report)
        elif kind is not None:
            yield from READERS[kind](text, options, report)
    except SpanielError as error:
        raise _at(about.place, error) from None
    except BROKEN as error:
        report("", f"breaks off: {getattr(error, 'strerror', None) or error}")


def _at(place: str, error: SpanielError) -> SpanielError:
    """Add the name of the source to an error about `--column`: there may be several sources."""
    if error.code != Code.BAD_ARGS or error.details.get("field") != "--column":
        return error
    return SpanielError(Code.BAD_ARGS, field=place, reason=f"--column: {error.details.get('reason')}")


def _report_unused(kind: FileKind | None, options: ListOptions, report: Report) -> None:
    """Report options that have no effect on this kind. Not an error: another source may be of another kind."""
    if options.column is not None and kind in (FileKind.TEXT, FileKind.JSON, FileKind.JSONL, FileKind.YAML):
        more = "; --kind csv reads it as a table" if kind == FileKind.TEXT else "; --field names a field"
        report("", f"is read as {kind}, where --column means nothing{more}", lost=False)
    if options.fields and not options.whole_records and kind == FileKind.TEXT:
        report("", f"is read as {kind}, where --field means nothing; --kind jsonl reads it as JSON lines", lost=False)


def _rewound(stream: BinaryIO, place: str) -> BinaryIO:
    if not stream.seekable():
        raise SpanielError(Code.BAD_ARGS, field=place, reason="Parquet must be a file, not a pipe")
    stream.seek(0)
    return stream

"""Records in files: the form that the output's name asks for, reading records again, and writing the finished output.

In a folder of Markdown files, a file's name comes from its URL alone, a hash of it included: it is the same in every
run, and no list of the names is kept. Nothing is written outside the folder: names are made of letters, digits, `-`,
`_` and `.`, and no link is followed on the way.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

import msgspec

from spaniel.batch.outputs.parquet import records_in, write_parquet, write_parquet_folder
from spaniel.errors import Code, SpanielError
from spaniel.files import replacing, write_atomically
from spaniel.page_files import digest_of, holds, name_of, with_front_matter
from spaniel.runs.parts import packed

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence


class Form(StrEnum):
    """How records are written in the end."""

    JSONL = "jsonl"
    JSONL_ZST = "jsonl.zst"
    PARQUET = "parquet"
    PARQUET_FOLDER = "a folder of Parquet files"
    PAGES = "a folder of Markdown files"
    WARC = "warc.gz"


_ENDINGS = {
    ".jsonl": Form.JSONL,
    ".ndjson": Form.JSONL,
    ".jsonl.zst": Form.JSONL_ZST,
    ".ndjson.zst": Form.JSONL_ZST,
    ".parquet": Form.PARQUET,
    ".warc.gz": Form.WARC,
}


def form_of(path: str) -> Form:
    """`out.jsonl`, `out.jsonl.zst`, `out.parquet`, `out.parquet/`, `pages/`; `bad_args` for what is none of these."""
    name = path.rstrip("/" + os.sep)
    is_folder = name != path or os.path.isdir(path)
    found = next((form for ending, form in _ENDINGS.items() if name.lower().endswith(ending)), None)
    if name == path and is_folder and found not in (None, Form.PARQUET):
        raise SpanielError(Code.BAD_ARGS, field=path, reason="is a folder, and its name is that of a file")
    if is_folder:
        return Form.PARQUET_FOLDER if found == Form.PARQUET else Form.PAGES
    if found is None:
        reason = "the name says no form of output; use .jsonl, .jsonl.zst, .parquet, or a folder with / at its end"
        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
    return found


PIECE = 1 << 20


class _Numbered(msgspec.Struct):
    ordinal: int


_ordinal = msgspec.json.Decoder(_Numbered)


class Line(NamedTuple):
    """A record as it was written, its line feed included."""

    ordinal: int
    raw: bytes


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The lines of a part, of a whole output, compressed or not."""
    try:
        with open(path, "rb") as file:
            if form_of(path) == Form.JSONL_ZST and os.fstat(file.fileno()).st_size:
                with zstd.ZstdFile(file) as plain:
                    yield cast("BinaryIO", plain)
            else:
                yield file
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None
    except (EOFError, zstd.ZstdError):
        raise _torn(path) from None


def raw_lines(paths: Iterable[str]) -> Iterator[bytes]:
    """Every line of these files. One that is not whole is `bad_args`: the run that wrote it was interrupted."""
    for path in paths:
        with opened(path) as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    raise _torn(path)
                yield line


def lines(path: str) -> Generator[Line]:
    """Every line with its record's ordinal."""
    found = records_in(path) if form_of(path) == Form.PARQUET else raw_lines([path])
    for number, raw in enumerate(found, 1):
        try:
            yield Line(_ordinal.decode(raw).ordinal, raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            reason = f"line {number} is not a record of a batch (it has no ordinal)"
            raise SpanielError(Code.BAD_ARGS, field=path, reason=reason) from None


def _torn(path: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=path, reason="breaks off in the middle of a record; resume that run first")


PIECE = 1 << 20


def finish(parts: Sequence[str], out: str, *, again: bool = False) -> None:
    """Make `out` of parts (`.jsonl`, `.jsonl.zst`; for `.warc.gz` such parts); `again`: perhaps not for the first time.

    A file appears whole or not at all, and so does a folder of Parquet files; pages come one by one.
    """
    form = form_of(out)
    if all(form_of(part) == form for part in parts):
        write_whole(out, _pieces(parts))
    else:
        write_lines(raw_lines(parts), out, again=again)


def write_lines(lines: Iterable[bytes], out: str, *, again: bool = False) -> None:
    """Records, a line each, in the form that the output's name asks for."""
    form = form_of(out)
    if form == Form.JSONL:
        write_whole(out, lines)
    elif form == Form.JSONL_ZST:
        write_whole(out, map(packed, _together(lines)))
    elif form == Form.PARQUET:
        write_parquet(lines, out)
    elif form == Form.PARQUET_FOLDER:
        write_parquet_folder(lines, out, again=again)
    elif form == Form.PAGES:
        _write_pages(lines, out)
    else:
        raise SpanielError(Code.BAD_ARGS, field=out, reason="WARC files are made of WARC files only")


def write_whole(out: str, pieces: Iterable[bytes]) -> None:
    try:
        with replacing(out, None, durable=True) as file:
            file.writelines(pieces)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=out, reason=f"cannot be written: {error.strerror}") from None


def _pieces(paths: Iterable[str]) -> Iterator[bytes]:
    """Parts of one form, one after another, are a file of that form."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be read: {error.strerror}") from None


def _together(lines: Iterable[bytes]) -> Iterator[bytes]:
    """As much as compresses well."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _write_pages(lines: Iterable[bytes], out: str) -> None:
    folder = PageTree(out)
    for line in lines:
        folder.write(msgspec.json.decode(line))


_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_DESCRIPTOR = hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd
SUFFIX = ".md"
DIGITS = 24  # of a hash: no two URLs with the same one can be found


class PageTree:
    """Records with Markdown become files; others, which have nothing to read, do not."""

    def __init__(self, path: str) -> None:
        self._path = path
        _make(path)

    def write(self, record: Mapping[str, object]) -> str | None:
        """The path of the record's file; None where the record has no Markdown. Twice is the same as once."""
        markdown, url = record.get("markdown"), record.get("requested_url")
        if not isinstance(markdown, str) or not isinstance(url, str):
            return None
        host, name = _folder_of(url), f"{name_of(url)}-{digest_of(url, DIGITS)}{SUFFIX}"
        folder = os.path.join(self._path, host)
        path = os.path.join(folder, name)
        text = with_front_matter(facts_of(record), markdown).encode("utf-8", "backslashreplace")
        _make(folder)
        try:
            with _opened(folder) as descriptor:
                if os.path.lexists(path) and not holds(path, url):
                    reason = "already exists and is not this page; move it away"
                    raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
                write_atomically(path if descriptor is None else name, text, None, dir_fd=descriptor)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None
        return path


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=folder, reason=f"cannot be made: {error.strerror}") from None


def facts_of(record: Mapping[str, object]) -> dict[str, object]:
    """What the front matter says; the first is unique."""
    metadata = record.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    final = record.get("final_url")
    return {
        "url": record["requested_url"],
        "final_url": final if final != record["requested_url"] else None,
        "title": record.get("title"),
        "language": record.get("language"),
        "author": known.get("author"),
        "published": known.get("published"),
        "fetched_at": record.get("fetched_at"),
        "notes": record.get("caveats") or record.get("notes"),
    }


def _folder_of(url: str) -> str:
    """The host's, without what stands before and behind it."""
    authority = url.partition("://")[2] or url
    for mark in "/?#\\":
        authority = authority.partition(mark)[0]
    return name_of(authority.rpartition("@")[2].lower())


@contextmanager
def _opened(folder: str) -> Iterator[int | None]:
    """The folder itself, not what a link leads to; None where the system has no such descriptors."""
    if not _BY_DESCRIPTOR:
        yield None
        return
    descriptor = os.open(folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

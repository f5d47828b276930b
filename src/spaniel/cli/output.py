"""What commands write: files that are replaced as a whole, pages one after the other, records as JSON or CSV."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from contextlib import contextmanager, suppress

from spaniel import files
from spaniel.errors import Code, SpanielError, json_safe
from spaniel.page_files import PageFolder, with_front_matter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import BinaryIO, TextIO


# Files

_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")


@contextmanager
def replacing(path: str) -> Iterator[TextIO]:
    """A text file that replaces the one at `path` if something was written and nothing failed."""
    with _writing(path, even_empty=False) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError):  # already reported; it must not be closed here, nor flushed later
                text.detach()


def write_bytes(path: str, data: bytes) -> None:
    """The whole file or none."""
    with _writing(path) as file:
        file.write(data)


@contextmanager
def _writing(path: str, even_empty: bool = True) -> Iterator[BinaryIO]:
    """A device or a pipe is written to; anything else is replaced. A symbolic link is replaced, not its target."""
    try:
        if _is_stream(path):
            with open(path, "wb", opener=_open_existing) as file:
                yield file
        else:
            with files.replacing(path, None, even_empty=even_empty) as file:
                yield file
    except OSError as error:
        raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None


def _is_stream(path: str) -> bool:
    """Whether it is one of this process's own descriptors, or a device or pipe that no other user has put there."""
    if _DESCRIPTOR.fullmatch(path):
        return True
    try:
        found = os.lstat(path)
    except OSError:
        return False
    trusted = not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid())
    return trusted and not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode) or stat.S_ISDIR(found.st_mode))


def _open_existing(path: str, _flags: int) -> int:
    link = 0 if _DESCRIPTOR.fullmatch(path) else getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, os.O_WRONLY | link | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))


# Pages


class Output:
    """Pages one after the other. Several are separated: Markdown by front matter, JSON by lines."""

    def __init__(self, file: TextIO, name: str, *, several: bool) -> None:
        self._file = file
        self._written = 0
        self.name = name  # empty: standard output
        self.has_front_matter = several

    def page(self, _source: str, text: str) -> None:
        if self.has_front_matter and self._written and text.startswith("---\n"):
            self._file.write("\n")
        self._file.write(text)
        self._written += 1

    def error(self, line: str) -> None:
        """An error as a program reads it, in its place among the pages."""
        self._file.write(line)

    def flush(self) -> None:
        self._file.flush()


class FolderOutput(Output):
    """A file for each page. Errors have no place here: they are on standard error."""

    def __init__(self, folder: PageFolder) -> None:
        super().__init__(sys.stdout, folder.path, several=True)
        self._folder = folder
        self.last = ""  # the last file

    def page(self, source: str, text: str) -> None:
        self.last = self._folder.write(source, text)

    def error(self, line: str) -> None:
        pass


@contextmanager
def opened(path: str | None, suffix: str, *, several: bool) -> Iterator[Output]:
    """The output that `-o` names; a folder is one that ends with a slash, or exists."""
    if not path:
        yield Output(sys.stdout, "", several=several)
    elif path.endswith(("/", os.sep)) or os.path.isdir(path):
        yield FolderOutput(PageFolder(path, suffix))
    else:
        with replacing(path) as file:
            yield Output(file, path, several=several)


def as_markdown(facts: Mapping[str, object], markdown: str, output: Output) -> str:
    """A page for people; `facts` become its front matter, the title among them."""
    if output.has_front_matter:
        return with_front_matter(facts, markdown)
    title = facts.get("title")
    return under_title(markdown, title if isinstance(title, str) else None)


HEADING = re.compile(r"^# ", re.MULTILINE)
NEAR = 3000  # characters in which a page's own heading is searched
MEANINGFUL = re.compile(r"([\\`*_\[\]<>]|&(?=#?\w+;))")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
TARGET = re.compile(r"\]\([^)]*\)")


def under_title(markdown: str, title: str | None) -> str:
    """Markdown that begins with the page's title, unless it contains the title or a heading of its own."""
    if not title or not markdown or HEADING.search(markdown, 0, NEAR) or _has_title(markdown[:NEAR], title):
        return markdown
    escaped = MEANINGFUL.sub(r"\\\1", title)
    return f"# {escaped}\n\n{markdown}"


def _has_title(text: str, title: str) -> bool:
    """Whether a line of the text is the title, as a heading of any level or otherwise."""
    wanted = _letters(title)
    return bool(wanted) and any(_letters(TARGET.sub("]", IMAGE.sub("", line))) == wanted for line in text.split("\n"))


def _letters(text: str) -> str:
    """Letters and digits: what two spellings of a title have in common."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


# Records


def as_line(record: Mapping[str, object], data: str | None = None) -> str:
    """A record on one line. `data` is JSON text: a value in it, with all its digits, not a text in quotes."""
    line = json.dumps(record, ensure_ascii=False)
    if data is not None:
        from msgspec.json import format as formatted

        line = f'{line[:-1]}, "data": {formatted(data, indent=-1)}}}'
    return line + "\n"


def print_json(record: Mapping[str, object]) -> None:
    """A record on one line of standard output, without characters that control a terminal."""
    sys.stdout.write(json_safe(as_line(record)))


def print_array(records: Iterable[Mapping[str, object]]) -> None:
    """A JSON array with one record per line, written as they arrive."""
    lead = "[\n"
    for record in records:
        sys.stdout.write(lead + json.dumps(record, ensure_ascii=False))
        lead = ",\n"
    sys.stdout.write("\n]\n" if lead != "[\n" else "[]\n")


def write_csv(out: TextIO, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    import csv

    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def written_time(seconds: float | None) -> str | None:
    """A time as in JSON, in UTC; None if there is none, or if a damaged file holds a number that is no time."""
    from datetime import UTC, datetime

    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return None

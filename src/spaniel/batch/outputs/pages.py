"""A folder of Markdown files with front matter, in a folder for each host.

A file's name comes from its URL alone, a hash of it included: so it is the same whatever came before, in this run or
in another, and nothing needs to be remembered of the millions that are written. Nothing is written outside the
folder: names are made of letters, digits, `-`, `_` and `.`, and no link is followed on the way.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.files import write_atomically
from spaniel.page_files import digest_of, holds, name_of, with_front_matter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_DESCRIPTOR = hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd
SUFFIX = ".md"
DIGITS = 24  # of a hash: no two URLs with the same one can be found


class PageTree:
    """Records with Markdown become files; others, which have nothing to read, do not."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._make(path)

    def write(self, record: Mapping[str, object]) -> str | None:
        """The path of the record's file; None where the record has no Markdown. Twice is the same as once."""
        markdown, url = record.get("markdown"), record.get("requested_url")
        if not isinstance(markdown, str) or not isinstance(url, str):
            return None
        host, name = _folder_of(url), f"{name_of(url)}-{digest_of(url, DIGITS)}{SUFFIX}"
        folder = os.path.join(self._path, host)
        path = os.path.join(folder, name)
        text = with_front_matter(facts_of(record), markdown).encode("utf-8", "backslashreplace")
        self._make(folder)
        try:
            with _opened(folder) as descriptor:
                if os.path.lexists(path) and not holds(path, url):
                    reason = "already exists and is not this page; move it away"
                    raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
                write_atomically(path if descriptor is None else name, text, None, dir_fd=descriptor)
        except OSError as error:
            raise SpanielError(Code.BAD_ARGS, field=path, reason=f"cannot be written: {error.strerror}") from None
        return path

    def _make(self, folder: str) -> None:
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

"""Lists as people and browsers write them: one URL per line with `#` comments, and exported bookmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.sources.rows import LARGEST_VALUE, LONGEST_LINE, SourceRow
from spaniel.sources.streams import decoded, numbered_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report


def read_text(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow]:
    for number, line in numbered_lines(stream, LONGEST_LINE, report):
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            text = decoded(line).strip()
        if text and text[0] != "#":
            yield SourceRow(text, {}, len(text), number)


def read_bookmarks(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow]:
    """The web pages in a file of bookmarks (Netscape format). Other schemes (javascript:, place:) are passed over."""
    from turbohtml import parse

    raw = stream.read(LARGEST_VALUE + 1)
    if len(raw) > LARGEST_VALUE:
        report("", f"has more than {LARGEST_VALUE >> 20} MB; the rest was left out")
    for number, anchor in enumerate(parse(decoded(raw[:LARGEST_VALUE])).select("a[href]"), 1):
        url = str(anchor.attrs["href"]).strip()
        if url.lower().startswith(("http://", "https://")):
            title = " ".join(anchor.text.split())
            yield SourceRow(url, {"title": title} if title else {}, len(url) + len(title), f"bookmark {number}")

"""A list as people write it: one URL a line, `#` before a comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.batch.sources.lines import decoded, numbered_lines
from spaniel.batch.sources.rows import LONGEST_LINE, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.batch.sources.rows import Options, Report


def read_text(stream: BinaryIO, _options: Options, report: Report) -> Iterator[Row]:
    for _, line in numbered_lines(stream, LONGEST_LINE, report):
        text = decoded(line).strip()
        if text and not text.startswith("#"):
            yield Row(text, {}, len(text))

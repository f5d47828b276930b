"""The PDF reader: text in reading order, pages kept apart (FG-24).

The parser is written in C and reads what strangers wrote: `pipeline.readers` runs it in a process of its own.
"""

from __future__ import annotations

from spaniel.reading.formats.pdf.reader import read_pdf

__all__ = ["read_pdf"]

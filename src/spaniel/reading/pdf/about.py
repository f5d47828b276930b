"""What a PDF says about itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pypdfium2.raw as pdfium

from spaniel.reading.dates import day_of
from spaniel.reading.document import Metadata
from spaniel.reading.hygiene import one_line

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

# What programs write where nobody gave a title, an author or a subject.
NOTHING = re.compile(r"\(?(?:untitled|anonymous|unspecified|unknown|user|admin(?:istrator)?|owner)\)?", re.IGNORECASE)
FILE_NAME = re.compile(
    r"(?:microsoft )?(?:word|powerpoint) - .*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|pdf|rtf|odt)", re.IGNORECASE
)
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
ROOM = 64  # characters of a language's name


def about(document: PdfDocument) -> Metadata:
    told = document.get_metadata_dict(skip_empty=True)
    title = _told(told.get("Title"))
    return Metadata(
        title=None if title and FILE_NAME.fullmatch(title) else title,
        description=_told(told.get("Subject")),
        author=_told(told.get("Author")),
        published=_day(told.get("CreationDate")),
        modified=_day(told.get("ModDate")),
    )


def _told(text: str | None) -> str | None:
    line = one_line(text)
    return None if line and NOTHING.fullmatch(line) else line


def _day(stamp: str | None) -> str | None:
    """`D:20250208122313Z`, to the day."""
    return day_of((stamp or "").removeprefix("D:")[:8])


def language_of(document: PdfDocument) -> str | None:
    buffer = (pdfium.FPDF_WCHAR * ROOM)()
    size = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, 2 * ROOM)
    if not 2 < size <= 2 * ROOM:
        return None
    name = bytes(buffer)[: size - 2].decode("utf-16-le", "replace").strip()
    return name if LANGUAGE.fullmatch(name) else None

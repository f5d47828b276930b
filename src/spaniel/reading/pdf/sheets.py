"""The pages of a document, as far as its budgets go."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2.raw as pdfium

from spaniel.reading.pdf.lines import Line, frame_of, lines_of, seen_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pypdfium2 import PdfDocument

# A dense page has 3,000 characters and takes some 2.5 ms: this is 2,800 of them, and some 8 seconds.
MOST_TEXT = 8 << 20  # characters
MOST_PAGES = 20_000
MOST_FAILURES = 50  # pages on end that cannot be loaded: a page tree may promise a billion
DEPTH = 3  # forms in forms in which one is looked for
FEW = 4  # lines at the beginning and the end of a page's text, among which heads and feet are looked for
OBJECTS = 500  # of a page without text, among which a picture is looked for


class Sheet(NamedTuple):
    """One page: what can be read on it."""

    lines: list[Line]
    height: float
    unseen: int = 0  # lines that nobody sees
    picture: bool = False  # instead of text


class Gathered(NamedTuple):
    """The pages, and whether there are more, or some that could not be loaded."""

    sheets: list[Sheet]
    cut: bool
    missing: bool


def gather(document: PdfDocument) -> Gathered:
    """Read page after page, until there are no more or it is enough."""
    sheets: list[Sheet] = []
    total = len(document)
    text = missing = on_end = 0
    for sheet in _sheets(document, min(total, MOST_PAGES)):
        on_end = 0 if sheet else on_end + 1
        missing += sheet is None
        sheets.append(sheet or Sheet([], 0.0))
        text += sum(len(line.text) for line in sheets[-1].lines)
        if text > MOST_TEXT or on_end == MOST_FAILURES:
            break
    whole = sheets[: len(sheets) - on_end]
    return Gathered(whole, text > MOST_TEXT or (len(sheets) < total and not on_end), missing > 0)


def _sheets(document: PdfDocument, count: int) -> Iterator[Sheet | None]:
    """By pdfium's own functions: what a helper keeps of each page takes a twentieth of the time."""
    for number in range(count):
        page = pdfium.FPDF_LoadPage(document.raw, number)
        if not page:
            yield None
            continue
        try:
            yield _sheet(page)
        finally:
            pdfium.FPDF_ClosePage(page)


def _sheet(page: Any) -> Sheet | None:
    frame = frame_of(page)
    textpage = pdfium.FPDFText_LoadPage(page)
    if not textpage:
        return None
    try:
        lines = lines_of(textpage, frame)
    finally:
        pdfium.FPDFText_ClosePage(textpage)
    seen = in_order(seen_lines(lines, frame))
    return Sheet(seen, frame.height, len(lines) - len(seen), picture=not seen and _has_picture(page))


def in_order(lines: list[Line]) -> list[Line]:
    """Columns come in their order already; but a foot may have been drawn first, and a head last."""
    if len(lines) <= 2 * FEW:
        return lines
    inner = [line.y for line in lines[FEW:-FEW]]
    low, high = min(inner), max(inner)
    feet = [line for line in lines[:FEW] if line.y < low - line.size]
    heads = [line for line in lines[-FEW:] if line.y > high + line.size]
    if not feet and not heads:
        return lines
    return [*heads, *(line for line in lines if line not in feet and line not in heads), *feet]


def _has_picture(page: Any) -> bool:
    return pdfium.FPDF_PAGEOBJ_IMAGE in islice(_object_kinds(page, DEPTH), OBJECTS)


def _object_kinds(parent: Any, depth: int) -> Iterator[int]:
    """Of the objects on a page, and of those in the forms on it."""
    form = depth < DEPTH
    count = pdfium.FPDFFormObj_CountObjects(parent) if form else pdfium.FPDFPage_CountObjects(parent)
    for index in range(max(0, count)):
        found = (pdfium.FPDFFormObj_GetObject if form else pdfium.FPDFPage_GetObject)(parent, index)
        kind: int = pdfium.FPDFPageObj_GetType(found)
        yield kind
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
            yield from _object_kinds(found, depth - 1)

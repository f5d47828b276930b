"""The pages of a document, as far as its budgets go."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pypdfium2 import PdfiumError
from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

from spaniel.reading.pdf.lines import Line, frame_of, lines_of, seen_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdfium2 import PdfDocument, PdfPage

# A dense page has 3,000 characters and takes some 2.5 ms: this is 2,800 of them, and some 8 seconds.
MOST_TEXT = 8 << 20  # characters
MOST_PAGES = 20_000
MOST_FAILURES = 50  # pages on end that cannot be loaded: a page tree may promise a billion
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
    for number in range(count):
        try:
            page = document[number]
        except PdfiumError:
            yield None
            continue
        try:
            yield _sheet(page)
        finally:
            page.close()


def _sheet(page: PdfPage) -> Sheet | None:
    frame = frame_of(page)
    try:
        textpage = page.get_textpage()
    except PdfiumError:
        return None
    try:
        lines = list(lines_of(textpage, frame))
    finally:
        textpage.close()
    seen = seen_lines(lines, frame)
    return Sheet(seen, frame.height, len(lines) - len(seen), picture=not seen and _has_picture(page))


def _has_picture(page: PdfPage) -> bool:
    return any(found.type == FPDF_PAGEOBJ_IMAGE for found in islice(page.get_objects(max_depth=4), OBJECTS))

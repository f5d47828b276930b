"""The lines of one page: their text, where they stand and how large they are.

A call of pdfium costs a microsecond, a page has thousands of characters and some fifty lines: so the text is taken
whole, and only the first and the last character of each line are asked where they are.
"""

from __future__ import annotations

import re
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2.raw as pdfium

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pypdfium2 import PdfPage, PdfTextPage

HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line, and it goes on with the next line
LINE = re.compile(rf"[^\s{HYPHEN}](?:[^\r\n{HYPHEN}]*[^\s{HYPHEN}])?")
LEAST_SIZE, LEAST_SHARE = 1.0, 0.0015  # points, and share of the page's height, below which nobody reads a line
BULLET = re.compile("[•‣◦▪▫●○■□∙·⁃➢✓►▶\uf0b7\uf0a7\uf0d8\uf0fc*–-]\\s+(?=\\S)")
MAY_HEAD = re.compile(r"[\dA-Z\u00c0-\u00de\u0391-\u03ab\u0400-\u042f\u2e80-\uffff].{0,99}(?<![.,;])")
BOLD = re.compile(rb"bold|black|heavy|semib|demi|-bd|cmbx|[-,]b[,+-]|\.b$", re.IGNORECASE)
FONT_NAME = 128  # bytes


class Line(NamedTuple):
    """One line, in points from the lower left corner of the page as people see it."""

    text: str
    left: float = 0.0
    right: float = 0.0
    y: float = 0.0  # where its letters stand
    size: float = 0.0  # of its letters, to the half point
    hyphen: bool = False  # its last word goes on in the next line
    bold: bool = False  # asked only of lines that may be headings
    turned: bool = False  # written in another direction than the page


class Frame(NamedTuple):
    """What of a page is seen: its box as it is stored, how it is turned, and how wide and high it is then."""

    left: float
    bottom: float
    right: float
    top: float
    turn: int  # degrees, clockwise
    width: float
    height: float

    def seen(self, x: float, y: float) -> tuple[float, float]:
        """A point of the page as people see it."""
        if self.turn == 90:
            return y - self.bottom, self.right - x
        if self.turn == 180:
            return self.right - x, self.top - y
        if self.turn == 270:
            return self.top - y, x - self.left
        return x - self.left, y - self.bottom


def frame_of(page: PdfPage) -> Frame:
    left, bottom, right, top = page.get_bbox()
    turn = page.get_rotation()
    width, height = right - left, top - bottom
    return Frame(left, bottom, right, top, turn, *((width, height) if turn % 180 == 0 else (height, width)))


def seen_lines(lines: Iterable[Line], frame: Frame) -> list[Line]:
    """Those that somebody may see: they stand on the page, and are not too small for any eye."""
    width, height, least = frame.width, frame.height, min(LEAST_SIZE, LEAST_SHARE * frame.height)
    return [
        line
        for line in lines
        if line.size >= least and line.right > 0 and line.left < width and -line.size < line.y < height
    ]


def lines_of(textpage: PdfTextPage, frame: Frame) -> Iterator[Line]:
    """The lines in the order of the page's own text."""
    count = textpage.count_chars()
    text = _text(textpage, count)
    sounding = _Sounding(textpage, frame)
    direct = len(text) == count  # else some characters are two to pdfium, or are not told
    units = seen = 0
    for match in LINE.finditer(text):
        first, last = match.start(), match.end() - 1
        if not direct:
            units, seen = units + _units(text[seen:first]), first
            first = sounding.index_of(units)
            last = sounding.index_of(units + _units(match[0]) - 1)
        yield sounding.line(match[0], first, last, text.startswith(HYPHEN, match.end()))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(textpage: PdfTextPage, count: int) -> str:
    if count <= 0:
        return ""
    buffer = (pdfium.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(textpage.raw, 0, count, buffer)
    text = bytes(memoryview(buffer)[: max(0, written - 1)]).decode("utf-16-le", "replace")
    return text.replace("\u00a0", " ")


class _Sounding:
    """Asks pdfium about single characters, into places that are made once for a page."""

    def __init__(self, textpage: PdfTextPage, frame: Frame) -> None:
        self._page, self._frame = textpage.raw, frame
        self._box, self._matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
        self._name, self._flags = pdfium.create_string_buffer(FONT_NAME), pdfium.c_int()
        self._bold: dict[bytes, bool] = {}

    def index_of(self, unit: int) -> int:
        found: int = pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, unit)
        return max(0, found)

    def line(self, text: str, first: int, last: int, hyphen: bool) -> Line:
        page, box, matrix, frame = self._page, self._box, self._matrix, self._frame
        pdfium.FPDFText_GetMatrix(page, first, matrix)
        pdfium.FPDFText_GetLooseCharBox(page, last, box)
        across, left, y = matrix.a, matrix.e, matrix.f
        if frame.turn or across < 0 or abs(matrix.b) > 0.05 * across:
            return self._turned(text, self._size(first), hyphen)
        if not text[0].isalnum() and (bullet := BULLET.match(text)):  # which has a size of its own
            first = min(first + bullet.end(), last)
            pdfium.FPDFText_GetMatrix(page, first, matrix)
        bold = MAY_HEAD.fullmatch(text) is not None and self._is_bold(first) and self._is_bold(last)
        x = frame.left
        return Line(text, left - x, box.right - x, y - frame.bottom, self._size(first), hyphen, bold)

    def _size(self, index: int) -> float:
        """Of letters as they are seen, for the character that the matrix is of."""
        matrix = self._matrix
        stretch = abs(matrix.d) if matrix.c == 0 else hypot(matrix.c, matrix.d)
        size: float = pdfium.FPDFText_GetFontSize(self._page, index) * stretch
        return round(2 * size) / 2 if size > 0.75 else size

    def _turned(self, text: str, size: float, hyphen: bool) -> Line:
        """A line that does not run from left to right of the page as it is stored; of one that is turned it may."""
        matrix, box, frame = self._matrix, self._box, self._frame
        left, y = frame.seen(matrix.e, matrix.f)
        ends = (frame.seen(box.left, box.bottom)[0], frame.seen(box.right, box.top)[0])
        ahead_x, ahead_y = frame.seen(matrix.e + matrix.a, matrix.f + matrix.b)
        turned = ahead_x <= left or abs(ahead_y - y) > 0.05 * (ahead_x - left)
        return Line(text, left, max(ends), y, size, hyphen, turned=turned)

    def _is_bold(self, index: int) -> bool:
        length = pdfium.FPDFText_GetFontInfo(self._page, index, self._name, FONT_NAME, self._flags)
        name = self._name.value if 0 < length <= FONT_NAME else b""
        found = self._bold.get(name)
        if found is None:
            found = self._bold[name] = BOLD.search(name) is not None
        return found

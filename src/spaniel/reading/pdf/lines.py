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
    from typing import Any

HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line, and it goes on with the next line
LINE = re.compile(rf"[^\s{HYPHEN}](?:[^\r\n{HYPHEN}]*[^\s{HYPHEN}])?")
LEAST_SIZE, LEAST_SHARE = 1.0, 0.0015  # points, and share of the page's height, below which nobody reads a line
BULLET = re.compile("[•‣◦▪▫●○■□∙·⁃➢✓►▶\uf0b7\uf0a7\uf0d8\uf0fc*–-]\\s+(?=\\S)")
LONGEST_BOLD = 100  # characters of a line of which it is asked whether it is bold
USUAL_PAGE = (595.0, 842.0)  # points
BOLD = re.compile(rb"bold|black|heavy|semib|demi|-bd|cmbx|[-,]b[,+-]|\.b$", re.IGNORECASE)
FONT_NAME = 128  # bytes


def _quick(function: Any, result: Any) -> Any:
    """The same function, called without a look at what it is given, which takes longer than the call itself.

    Only for calls that stand in this file, with a page and places that were made here.
    """
    return pdfium.CFUNCTYPE(result)(pdfium.cast(function, pdfium.c_void_p).value)


get_matrix = _quick(pdfium.FPDFText_GetMatrix, pdfium.c_int)
get_box = _quick(pdfium.FPDFText_GetLooseCharBox, pdfium.c_int)
get_size = _quick(pdfium.FPDFText_GetFontSize, pdfium.c_double)
get_font = _quick(pdfium.FPDFText_GetFontInfo, pdfium.c_ulong)


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


def frame_of(page: Any) -> Frame:
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box):
        return Frame(*(0.0, 0.0, *USUAL_PAGE), 0, *USUAL_PAGE)
    turn = 90 * pdfium.FPDFPage_GetRotation(page)
    width, height = box.right - box.left, box.top - box.bottom
    seen = (width, height) if turn % 180 == 0 else (height, width)
    return Frame(box.left, box.bottom, box.right, box.top, turn, *seen)


def seen_lines(lines: list[Line], frame: Frame) -> list[Line]:
    """Those that somebody may see: they stand on the page, and are not too small for any eye."""
    width, height, least = frame.width, frame.height, min(LEAST_SIZE, LEAST_SHARE * frame.height)
    return [
        one for one in lines if one.size >= least and one.right > 0 and one.left < width and -one.size < one.y < height
    ]


def lines_of(textpage: Any, frame: Frame) -> list[Line]:
    """The lines in the order of the page's own text."""
    count = pdfium.FPDFText_CountChars(textpage)
    text = _text(textpage, count)
    sounding = _Sounding(textpage, frame)
    if len(text) != count:  # some characters are two to pdfium, or are not told
        return _lines_by_units(text, sounding)
    lines = []
    for match in LINE.finditer(text):
        first, end = match.span()
        lines.append(sounding.line(match[0], first, end - 1, text[end : end + 1] == HYPHEN))
    return lines


def _lines_by_units(text: str, sounding: _Sounding) -> list[Line]:
    """The same, where the place of a character in the text is not its place to pdfium."""
    lines = []
    units = seen = 0
    for match in LINE.finditer(text):
        start, end = match.span()
        units, seen = units + _units(text[seen:start]), start
        first = sounding.index_of(units)
        last = sounding.index_of(units + _units(match[0]) - 1)
        lines.append(sounding.line(match[0], first, max(first, last), text[end : end + 1] == HYPHEN))
    return lines


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _text(textpage: Any, count: int) -> str:
    if count <= 0:
        return ""
    buffer = (pdfium.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(textpage, 0, count, buffer)
    text = bytes(memoryview(buffer)[: max(0, written - 1)]).decode("utf-16-le", "replace")
    return text.replace("\u00a0", " ")


class _Sounding:
    """Asks pdfium about single characters, into places that are made once for a page."""

    def __init__(self, textpage: Any, frame: Frame) -> None:
        self._page, self._frame = textpage, frame
        self._box, self._matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
        self._into_box, self._into_matrix = pdfium.byref(self._box), pdfium.byref(self._matrix)
        self._name, self._flags = pdfium.create_string_buffer(FONT_NAME), pdfium.c_int()
        self._into_flags = pdfium.byref(self._flags)
        self._bold: dict[bytes, bool] = {}

    def index_of(self, unit: int) -> int:
        found: int = pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, unit)
        return max(0, found)

    def line(self, text: str, first: int, last: int, hyphen: bool) -> Line:
        page, box, matrix, frame = self._page, self._box, self._matrix, self._frame
        get_matrix(page, first, self._into_matrix)
        get_box(page, last, self._into_box)
        across, left, y = matrix.a, matrix.e, matrix.f
        if frame.turn or across < 0 or abs(matrix.b) > 0.05 * across:
            return self._turned(text, self._size(first), hyphen)
        if not text[0].isalnum() and (bullet := BULLET.match(text)):  # which has a size of its own
            first = min(first + bullet.end(), last)
            get_matrix(page, first, self._into_matrix)
        may_head = len(text) <= LONGEST_BOLD and text[-1] not in ".,;" and not text[0].islower()
        bold = may_head and self._is_bold(first) and self._is_bold(last)
        x = frame.left
        return Line(text, left - x, box.right - x, y - frame.bottom, self._size(first), hyphen, bold)

    def _size(self, index: int) -> float:
        """Of letters as they are seen, for the character that the matrix is of."""
        matrix = self._matrix
        stretch = abs(matrix.d) if matrix.c == 0 else hypot(matrix.c, matrix.d)
        size: float = get_size(self._page, index) * stretch
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
        length = get_font(self._page, index, self._name, pdfium.c_ulong(FONT_NAME), self._into_flags)
        name = self._name.value if 0 < length <= FONT_NAME else b""
        found = self._bold.get(name)
        if found is None:
            found = self._bold[name] = BOLD.search(name) is not None
        return found

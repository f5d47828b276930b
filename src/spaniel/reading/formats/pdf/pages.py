"""What pdfium reads: metadata, pages, the lines of each page with their position and size, without running heads.

A pdfium call costs a microsecond, a page has thousands of characters and some fifty lines: so the text is read as a
whole, and only the first and the last character of each line are measured. Lines that recur at the same place on
several following pages, apart from numbers, are running heads, feet or page numbers; only clear cases are dropped:
outermost on the page, apart from the text, no larger than it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from itertools import islice, takewhile
from math import hypot
from typing import TYPE_CHECKING, NamedTuple

import pypdfium2.raw as pdfium

from spaniel.reading.document import Metadata
from spaniel.reading.metadata.dates import parse_day
from spaniel.reading.text.scrub import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pypdfium2 import PdfDocument

    Key = tuple[str, int]


# Placeholders that programs write if there is no title, author or subject.
PLACEHOLDER = re.compile(
    r"\(?(?:untitled|anonymous|unspecified|unknown|user|admin(?:istrator)?|owner)\)?", re.IGNORECASE
)
FILE_NAME = re.compile(
    r"(?:microsoft )?(?:word|powerpoint) - .*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|pdf|rtf|odt)", re.IGNORECASE
)
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
MAX_LANGUAGE = 64  # characters of a language's name


def pdf_metadata(document: PdfDocument) -> Metadata:
    fields = document.get_metadata_dict(skip_empty=True)
    title = _meaningful(fields.get("Title"))
    return Metadata(
        title=None if title and FILE_NAME.fullmatch(title) else title,
        description=_meaningful(fields.get("Subject")),
        author=_meaningful(fields.get("Author")),
        published=_day(fields.get("CreationDate")),
        modified=_day(fields.get("ModDate")),
    )


def _meaningful(text: str | None) -> str | None:
    line = one_line(text)
    return None if line and PLACEHOLDER.fullmatch(line) else line


def _day(stamp: str | None) -> str | None:
    """`D:20250208122313Z`, to the day."""
    return parse_day((stamp or "").removeprefix("D:")[:8])


def pdf_language(document: PdfDocument) -> str | None:
    buffer = (pdfium.FPDF_WCHAR * MAX_LANGUAGE)()
    size = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, 2 * MAX_LANGUAGE)
    if not 2 < size <= 2 * MAX_LANGUAGE:
        return None
    name = bytes(buffer)[: size - 2].decode("utf-16-le", "replace").strip()
    return name if LANGUAGE.fullmatch(name) else None


HYPHEN = "\ufffe"  # what pdfium writes for a hyphen at the end of a line, and it goes on with the next line
LINE = re.compile(rf"[^\s{HYPHEN}](?:[^\r\n{HYPHEN}]*[^\s{HYPHEN}])?")
MIN_SIZE, MIN_HEIGHT_SHARE = (
    1.0,
    0.0015,
)  # points, and share of the page's height (chosen): unreadable
BULLET = re.compile("[•‣◦▪▫●○■□∙·⁃➢✓►▶\uf0b7\uf0a7\uf0d8\uf0fc*–-]\\s+(?=\\S)")
MAX_BOLD = 100  # characters of a line of which it is asked whether it is bold
A4 = (595.0, 842.0)  # points
BOLD = re.compile(rb"bold|black|heavy|semib|demi|-bd|cmbx|[-,]b[,+-]|\.b$", re.IGNORECASE)
FONT_NAME = 128  # bytes


def _unchecked(function: Any, result: Any) -> Any:
    """The same function, called without a look at what it is given, which takes longer than the call itself.

    Only for calls that stand in this file, with a page and places that were made here.
    """
    return pdfium.CFUNCTYPE(result)(pdfium.cast(function, pdfium.c_void_p).value)


get_matrix = _unchecked(pdfium.FPDFText_GetMatrix, pdfium.c_int)
get_box = _unchecked(pdfium.FPDFText_GetLooseCharBox, pdfium.c_int)
get_size = _unchecked(pdfium.FPDFText_GetFontSize, pdfium.c_double)
get_font = _unchecked(pdfium.FPDFText_GetFontInfo, pdfium.c_ulong)


class TextLine(NamedTuple):
    """One line, in points from the lower left corner of the page as people see it."""

    text: str
    left: float = 0.0
    right: float = 0.0
    y: float = 0.0  # where its letters stand
    size: float = 0.0  # of its letters, to the half point
    hyphen: bool = False  # its last word goes on in the next line
    bold: bool = False  # asked only of lines that may be headings
    turned: bool = False  # written in another direction than the page


class PageFrame(NamedTuple):
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


def frame_of(page: Any) -> PageFrame:
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box):
        return PageFrame(*(0.0, 0.0, *A4), 0, *A4)
    turn = 90 * pdfium.FPDFPage_GetRotation(page)
    width, height = box.right - box.left, box.top - box.bottom
    seen = (width, height) if turn % 180 == 0 else (height, width)
    return PageFrame(box.left, box.bottom, box.right, box.top, turn, *seen)


def visible_lines(lines: list[TextLine], frame: PageFrame) -> list[TextLine]:
    """Return the visible lines: on the page and not too small."""
    width, height, least = frame.width, frame.height, min(MIN_SIZE, MIN_HEIGHT_SHARE * frame.height)
    return [
        one for one in lines if one.size >= least and one.right > 0 and one.left < width and -one.size < one.y < height
    ]


def lines_of(textpage: Any, frame: PageFrame) -> list[TextLine]:
    """The lines in the order of the page's own text."""
    count = pdfium.FPDFText_CountChars(textpage)
    text = _text(textpage, count)
    sounding = _Characters(textpage, frame)
    if len(text) != count:  # pdfium counts some characters twice and omits others
        return _lines_by_units(text, sounding)
    lines = []
    for match in LINE.finditer(text):
        first, end = match.span()
        lines.append(sounding.line(match[0], first, end - 1, text[end : end + 1] == HYPHEN))
    return lines


def _lines_by_units(text: str, sounding: _Characters) -> list[TextLine]:
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


class _Characters:
    """Asks pdfium about single characters, into places that are made once for a page."""

    def __init__(self, textpage: Any, frame: PageFrame) -> None:
        self._page, self._frame = textpage, frame
        self._box, self._matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
        self._into_box, self._into_matrix = pdfium.byref(self._box), pdfium.byref(self._matrix)
        self._name, self._flags = pdfium.create_string_buffer(FONT_NAME), pdfium.c_int()
        self._into_flags = pdfium.byref(self._flags)
        self._bold: dict[bytes, bool] = {}

    def index_of(self, unit: int) -> int:
        found: int = pdfium.FPDFText_GetCharIndexFromTextIndex(self._page, unit)
        return max(0, found)

    def line(self, text: str, first: int, last: int, hyphen: bool) -> TextLine:
        page, box, matrix, frame = self._page, self._box, self._matrix, self._frame
        get_matrix(page, first, self._into_matrix)
        get_box(page, last, self._into_box)
        across, left, y = matrix.a, matrix.e, matrix.f
        if frame.turn or across < 0 or abs(matrix.b) > 0.05 * across:
            return self._turned(text, self._size(first), hyphen)
        if not text[0].isalnum() and (bullet := BULLET.match(text)):  # which has a size of its own
            first = min(first + bullet.end(), last)
            get_matrix(page, first, self._into_matrix)
        may_head = len(text) <= MAX_BOLD and text[-1] not in ".,;" and not text[0].islower()
        bold = may_head and self._is_bold(first) and self._is_bold(last)
        x = frame.left
        return TextLine(text, left - x, box.right - x, y - frame.bottom, self._size(first), hyphen, bold)

    def _size(self, index: int) -> float:
        """Of letters as they are seen, for the character that the matrix is of."""
        matrix = self._matrix
        stretch = abs(matrix.d) if matrix.c == 0 else hypot(matrix.c, matrix.d)
        size: float = get_size(self._page, index) * stretch
        return round(2 * size) / 2 if size > 0.75 else size

    def _turned(self, text: str, size: float, hyphen: bool) -> TextLine:
        """A line that does not run from left to right of the page as it is stored; of one that is turned it may."""
        matrix, box, frame = self._matrix, self._box, self._frame
        left, y = frame.seen(matrix.e, matrix.f)
        ends = (frame.seen(box.left, box.bottom)[0], frame.seen(box.right, box.top)[0])
        ahead_x, ahead_y = frame.seen(matrix.e + matrix.a, matrix.f + matrix.b)
        turned = ahead_x <= left or abs(ahead_y - y) > 0.05 * (ahead_x - left)
        return TextLine(text, left, max(ends), y, size, hyphen, turned=turned)

    def _is_bold(self, index: int) -> bool:
        length = get_font(self._page, index, self._name, pdfium.c_ulong(FONT_NAME), self._into_flags)
        name = self._name.value if 0 < length <= FONT_NAME else b""
        found = self._bold.get(name)
        if found is None:
            found = self._bold[name] = BOLD.search(name) is not None
        return found


# A dense page has 3,000 characters and takes some 2.5 ms: this is 2,800 of them, and some 8 seconds.
MAX_TEXT = 8 << 20  # characters
MAX_PAGES = 20_000
MAX_FAILURES = 50  # pages on end that cannot be loaded: a page tree may promise a billion
MAX_FORM_DEPTH = 3  # forms in forms in which one is looked for
EDGE_LINES = 4  # lines at the beginning and the end of a page's text, among which heads and feet are looked for
MAX_OBJECTS = 500  # of a page without text, among which a picture is looked for


class PdfPage(NamedTuple):
    """One page: what can be read on it."""

    lines: list[TextLine]
    height: float
    unseen: int = 0  # invisible lines
    picture: bool = False  # instead of text


class PdfPages(NamedTuple):
    """The pages, and whether there are more, or some that could not be loaded."""

    sheets: list[PdfPage]
    cut: bool
    missing: bool


def read_pages(document: PdfDocument) -> PdfPages:
    """Read page after page, until there are no more or it is enough."""
    sheets: list[PdfPage] = []
    total = len(document)
    text = missing = on_end = 0
    for sheet in _pages(document, min(total, MAX_PAGES)):
        on_end = 0 if sheet else on_end + 1
        missing += sheet is None
        sheets.append(sheet or PdfPage([], 0.0))
        text += sum(len(line.text) for line in sheets[-1].lines)
        if text > MAX_TEXT or on_end == MAX_FAILURES:
            break
    whole = sheets[: len(sheets) - on_end]
    return PdfPages(whole, text > MAX_TEXT or (len(sheets) < total and not on_end), missing > 0)


def _pages(document: PdfDocument, count: int) -> Iterator[PdfPage | None]:
    """By pdfium's own functions: what a helper keeps of each page takes a twentieth of the time."""
    for number in range(count):
        page = pdfium.FPDF_LoadPage(document.raw, number)
        if not page:
            yield None
            continue
        try:
            yield _page(page)
        finally:
            pdfium.FPDF_ClosePage(page)


def _page(page: Any) -> PdfPage | None:
    frame = frame_of(page)
    textpage = pdfium.FPDFText_LoadPage(page)
    if not textpage:
        return None
    try:
        lines = lines_of(textpage, frame)
    finally:
        pdfium.FPDFText_ClosePage(textpage)
    seen = in_reading_order(visible_lines(lines, frame))
    return PdfPage(seen, frame.height, len(lines) - len(seen), picture=not seen and _has_picture(page))


def in_reading_order(lines: list[TextLine]) -> list[TextLine]:
    """Columns come in their order already; but a foot may have been drawn first, and a head last."""
    if len(lines) <= 2 * EDGE_LINES:
        return lines
    inner = [line.y for line in lines[EDGE_LINES:-EDGE_LINES]]
    low, high = min(inner), max(inner)
    feet = [line for line in lines[:EDGE_LINES] if line.y < low - line.size]
    heads = [line for line in lines[-EDGE_LINES:] if line.y > high + line.size]
    if not feet and not heads:
        return lines
    return [*heads, *(line for line in lines if line not in feet and line not in heads), *feet]


def _has_picture(page: Any) -> bool:
    return pdfium.FPDF_PAGEOBJ_IMAGE in islice(_object_kinds(page, MAX_FORM_DEPTH), MAX_OBJECTS)


def _object_kinds(parent: Any, depth: int) -> Iterator[int]:
    """Of the objects on a page, and of those in the forms on it."""
    form = depth < MAX_FORM_DEPTH
    count = pdfium.FPDFFormObj_CountObjects(parent) if form else pdfium.FPDFPage_CountObjects(parent)
    for index in range(max(0, count)):
        found = (pdfium.FPDFFormObj_GetObject if form else pdfium.FPDFPage_GetObject)(parent, index)
        kind: int = pdfium.FPDFPageObj_GetType(found)
        yield kind
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
            yield from _object_kinds(found, depth - 1)


EDGE_SHARE = 0.12  # share of a page's height in which they stand
MAX_RUNNING_HEAD = 160  # characters
MIN_PAGES = 3
PAGE_WINDOW = 4  # pages before and after: left and right ones may have heads of their own
HEIGHT_STEP = 4.0  # points by which the height may differ
MIN_DISTANCE = 1.5  # sizes to the line that follows, at least
MIN_LINES_LEFT = 3  # that a page has besides
NUMBER = re.compile(r"\d+|\b[ivxlc]{1,7}\b")


def without_running_heads(sheets: Sequence[PdfPage]) -> list[list[TextLine]]:
    """The lines of each page that are its text."""
    if len(sheets) < MIN_PAGES:
        return [sheet.lines for sheet in sheets]
    most = _text_size(sheets) * 1.05
    seen: dict[Key, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        for key in {_key(line) for line in _at_edges(sheet, most)}:
            seen[key].append(number)
    return [_body_lines(sheet, number, most, seen) for number, sheet in enumerate(sheets)]


def _text_size(sheets: Sequence[PdfPage]) -> float:
    sizes: Counter[float] = Counter()
    for sheet in sheets:
        for line in sheet.lines:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _at_edges(sheet: PdfPage, most: float) -> Iterator[TextLine]:
    low, high = EDGE_SHARE * sheet.height, (1 - EDGE_SHARE) * sheet.height
    return (
        one
        for one in sheet.lines
        if not low <= one.y <= high and one.size <= most and len(one.text) <= MAX_RUNNING_HEAD
    )


def _key(line: TextLine) -> Key:
    return NUMBER.sub("#", line.text), round(line.y / HEIGHT_STEP)


def _body_lines(sheet: PdfPage, number: int, most: float, seen: dict[Key, list[int]]) -> list[TextLine]:
    running = {id(line) for line in _at_edges(sheet, most) if _recurs(_key(line), number, seen)}
    if not running:
        return sheet.lines
    down = sorted(sheet.lines, key=lambda line: -line.y)
    gone = {*_outermost(down, running), *_outermost(down[::-1], running)}
    if len(sheet.lines) - len(gone) < MIN_LINES_LEFT:
        return sheet.lines
    return [line for line in sheet.lines if id(line) not in gone]


def _outermost(inwards: Sequence[TextLine], running: set[int]) -> set[int]:
    """Those from an edge inwards, if there is some room between them and the text."""
    outer = list(takewhile(lambda line: id(line) in running, inwards))
    if outer and len(outer) < len(inwards):
        last, following = outer[-1], inwards[len(outer)]
        if abs(last.y - following.y) < MIN_DISTANCE * max(last.size, following.size):
            return set()
    return {id(line) for line in outer}


def _recurs(key: Key, number: int, seen: dict[Key, list[int]]) -> bool:
    """Whether the same stands on pages around; a line near the border of two steps is looked for in both."""
    text, step = key
    pages = {page for near in (step - 1, step, step + 1) for page in _near(seen.get((text, near), ()), number)}
    return len(pages) >= MIN_PAGES


def _near(pages: Sequence[int], number: int) -> Sequence[int]:
    return pages[bisect_left(pages, number - PAGE_WINDOW) : bisect_right(pages, number + PAGE_WINDOW)]

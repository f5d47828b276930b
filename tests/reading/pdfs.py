"""PDFs for tests: made by two writers, put together by a third, and written by hand where no writer would."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import reportlab
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, ListFlowable, PageTemplate, Paragraph, SimpleDocTemplate

SENTENCE = "The council met on Monday to discuss the bridge, and most members spoke in favour of it. "
FONTS = os.path.join(os.path.dirname(reportlab.__file__), "fonts")
WIDTH, HEIGHT = A4


def drawn(*pages: Iterable[tuple[float, float, str]], size: float = 11, font: str = "Helvetica") -> bytes:
    """Pages of lines at places, by reportlab's canvas."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, invariant=True)
    for lines in pages:
        canvas.setFont(font, size)
        for x, y, text in lines:
            canvas.drawString(x, y, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def set_by_reportlab(story: Sequence[tuple[str, str]], columns: int = 1, running: str = "", **about: str) -> bytes:
    """Paragraphs by their styles' names, set in one or two columns, with a running head and page numbers."""
    styles = getSampleStyleSheet()
    flow = [_flowable(name, text, styles) for name, text in story]

    def decorate(canvas: Canvas, document: BaseDocTemplate) -> None:
        if running:
            canvas.setFont("Helvetica", 8)
            canvas.drawString(72, HEIGHT - 40, running)
            canvas.drawCentredString(WIDTH / 2, 30, f"Page {document.page}")

    out = io.BytesIO()
    if columns == 1:
        SimpleDocTemplate(out, pagesize=A4, **about).build(flow, onFirstPage=decorate, onLaterPages=decorate)
        return out.getvalue()
    frames = [Frame(50, 60, 240, 720), Frame(310, 60, 240, 720)]
    document = BaseDocTemplate(out, pagesize=A4, **about)
    document.addPageTemplates([PageTemplate(frames=frames, onPage=decorate)])
    document.build(flow)
    return out.getvalue()


def _flowable(name: str, text: str, styles: dict[str, object]) -> object:
    if name == "list":
        items = [Paragraph(item, styles["BodyText"]) for item in text.split("|")]
        return ListFlowable(items, bulletType="bullet")
    return Paragraph(text, styles[name])


def set_by_fpdf(pages: Iterable[Sequence[tuple[float, str]]], font: str = "") -> bytes:
    """Paragraphs by their sizes, page by page; `font` is a file, else the built-in Times."""
    document = FPDF()
    if font:
        document.add_font("own", fname=font)
    for paragraphs in pages:
        document.add_page()
        for size, text in paragraphs:
            document.set_font("own" if font else "Times", size=size)
            document.multi_cell(0, h=size * 0.45, text=text, align="L", new_x="LMARGIN", new_y="NEXT")
            document.ln(4)
    return bytes(document.output())


def with_outline(body: bytes, entries: Iterable[tuple[str, int, int]]) -> bytes:
    """The same with bookmarks: title, page from 0, and how deep."""
    writer = PdfWriter(clone_from=io.BytesIO(body))
    above: dict[int, Any] = {}
    for title, page, level in entries:
        above[level] = writer.add_outline_item(title, page, parent=above.get(level - 1))
    return _written(writer)


def encrypted(body: bytes, user: str = "", owner: str = "owner", algorithm: str = "RC4-128") -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(body))
    writer.encrypt(user, owner, algorithm=algorithm)
    return _written(writer)


def turned(lines: Iterable[str], degrees: int) -> bytes:
    """A page that is stored on its side or its head, and says by how much it is to be turned to be read."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4)
    canvas.translate(WIDTH / 2, HEIGHT / 2)
    canvas.rotate(degrees)
    for number, text in enumerate(lines):
        canvas.drawString(-250, 250 - 14 * number, text)
    canvas.showPage()
    canvas.save()
    writer = PdfWriter(clone_from=io.BytesIO(out.getvalue()))
    writer.pages[0].rotate(degrees)
    return _written(writer)


def put_together(*bodies: bytes) -> bytes:
    writer = PdfWriter()
    for body in bodies:
        writer.append(PdfReader(io.BytesIO(body)))
    return _written(writer)


def in_language(body: bytes, language: str) -> bytes:
    from pypdf.generic import NameObject, TextStringObject

    writer = PdfWriter(clone_from=io.BytesIO(body))
    writer._root_object[NameObject("/Lang")] = TextStringObject(language)
    return _written(writer)


def _written(writer: PdfWriter) -> bytes:
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


@cache
def scanned(pages: int = 2) -> bytes:
    """Pages that are pictures, as a scanner makes them."""
    from PIL import Image

    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4)
    for _ in range(pages):
        canvas.drawImage(ImageReader(Image.new("L", (60, 85), 200)), 0, 0, WIDTH, HEIGHT)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def by_hand(*objects: bytes) -> bytes:
    """A file of these objects, the first of which is the catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))


CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%b/Length %d>>stream\n%b\nendstream" % (entries, len(data), data)


def one_page(content: bytes, resources: bytes = b"", *more: bytes) -> bytes:
    """A page with this content stream; the objects after it have the numbers from 6 on."""
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>%b>>>>"
    return by_hand(CATALOG, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page % resources, content, FONT, *more)


def renamed(shows: bytes, names: Mapping[bytes, str]) -> bytes:
    """A page in a font that says of some signs that they are other characters."""
    pairs = b"".join(b"<%b> <%b>\n" % (sign.hex().encode(), code.encode()) for sign, code in names.items())
    table = b"begincmap\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n%d beginbfchar\n%bendbfchar\nendcmap"
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R>>")
    page = one_page(stream(b"BT /F 12 Tf 72 700 Td %b ET" % shows), b"", stream(table % (len(names), pairs)))
    return page.replace(FONT, font)


@cache
def many_pages(count: int, text: str = "This is page {}.") -> bytes:
    """So many pages of one line."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(count))
    objects = [CATALOG, b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, count), FONT]
    for number in range(count):
        page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>"
        objects.append(page % (5 + 2 * number))
        objects.append(stream(b"BT /F 12 Tf 72 400 Td (%b) Tj ET" % text.format(number + 1).encode()))
    return by_hand(*objects)


# ---- harmful content


@cache
def flate_bomb(times: int = 3, megabytes: int = 1024) -> bytes:
    """A kilobyte that becomes gigabytes: compressed again and again."""
    data = _packed_blanks(megabytes)
    for _ in range(times - 1):
        data = zlib.compress(data, 9)
    return one_page(stream(data, b"/Filter[%b]" % (b"/FlateDecode" * times)))


def _packed_blanks(megabytes: int) -> bytes:
    """What zlib makes of so many megabytes of blanks, each packed by itself: the first is repeated."""
    packer, blank, count = zlib.compressobj(9, wbits=-15), b" " * (1 << 20), megabytes << 20
    one = packer.compress(blank) + packer.flush(zlib.Z_FULL_FLUSH)
    low, high = (1 + 32 * count) % 65521, (count + 32 * count * (count + 1) // 2) % 65521  # RFC 1950: Adler-32
    return b"\x78\xda" + one * megabytes + b"\x03\x00" + struct.pack(">HH", high, low)


def endless(levels: int = 12, each: int = 10) -> bytes:
    """Forms that draw forms that draw forms: ten to the power of twelve words."""
    forms = []
    for level in range(levels):
        deeper = b"/XObject<</X %d 0 R>>" % (7 + level) if level < levels - 1 else b""
        content = b"/X Do " * each if deeper else b"BT /F 9 Tf 50 50 Td (ha) Tj ET"
        about = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</Font<</F 5 0 R>>%b>>" % deeper
        forms.append(stream(content, about))
    return one_page(stream(b"/X Do " * each), b"/XObject<</X 6 0 R>>", *forms)


def greedy() -> bytes:
    """Forty kilobytes that keep three gigabytes of graphics states."""
    return one_page(stream(zlib.compress(b"q " * 20_000_000, 9), b"/Filter/FlateDecode"))


PAGES_LOOP = by_hand(CATALOG, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000000>>")
GIANT_COUNT = by_hand(
    CATALOG,
    b"<</Type/Pages/Kids[3 0 R]/Count 2147483647>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
    stream(b"BT /F 12 Tf 72 400 Td (The only page) Tj ET"),
    FONT,
)
DEEP = one_page(stream(b"[" * 1_000_000))
DEEP_DICTIONARY = by_hand(b"<</Type/Catalog/Pages 2 0 R/X %b%b>>" % (b"<</A " * 200_000, b">>" * 200_000))
GIANT_SIZE = one_page(stream(b"")).replace(b"/Size 6", b"/Size 2147483647")
OBJECT_STREAM = by_hand(CATALOG, stream(b"", b"/Type/ObjStm/N 2000000000/First 0"))


def slow(pages: int = 20_000, megabytes: int = 8) -> bytes:
    """The same page again and again, each time with millions of strokes that draw nothing: hours of work."""
    kids = b" ".join([b"3 0 R"] * pages)
    strokes = zlib.compress(b"n " * (megabytes << 19), 9)
    return by_hand(
        CATALOG,
        b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, pages),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>",
        stream(strokes, b"/Filter/FlateDecode"),
    )

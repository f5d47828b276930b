"""One PDF from bytes to Document, read from top to bottom."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from spaniel.errors import Code, SpanielError
from spaniel.reading.document import READING_CUT, Document, Hygiene
from spaniel.reading.text.scrub import scrub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pypdfium2 import PdfDocument

    from spaniel.reading.formats.pdf.headings import PdfHeading
    from spaniel.reading.formats.pdf.pages import PdfPage, TextLine


MAX_MARKDOWN = 16 << 20  # characters: escapes may double the text
SCANNED = "scanned"  # the note on a document of pictures
MISSING = "pages_missing"  # the note on one with broken pages
BROKEN = "it is no PDF, or a broken one"


def read_pdf(body: bytes | str, _url: str | None, _charset: str | None) -> Document:
    """The text of all pages; `Document.pages` says where each begins."""
    try:
        import pypdfium2  # noqa: F401 - the extra `pdf`
    except ImportError as error:
        raise SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type="application/pdf", extra="pdf") from error
    from spaniel.reading.formats.pdf.headings import find_headings, read_bookmarks
    from spaniel.reading.formats.pdf.pages import pdf_language, pdf_metadata, read_pages, without_running_heads

    with _opened(body if isinstance(body, bytes) else body.encode("latin-1", "replace")) as document:
        found = read_pages(document)
        if not found.sheets:
            raise _refused("it has no page that can be read")
        outline, metadata, language = read_bookmarks(document), pdf_metadata(document), pdf_language(document)
    sheets, invisible, controls = _scrubbed(found.sheets)
    lines = without_running_heads(sheets)
    headings = find_headings(lines, outline)
    markdown, pages, too_long = _markdown(lines, headings)
    notes = {READING_CUT: found.cut or too_long, MISSING: found.missing, SCANNED: _is_scanned(sheets)}
    return Document(
        markdown,
        title=metadata.title,
        language=language,
        kind="pdf",
        metadata=replace(metadata, title=metadata.title or _first_heading(markdown)),
        hygiene=Hygiene(sum(sheet.unseen for sheet in sheets), invisible, controls),
        notes=tuple(note for note, holds in notes.items() if holds),
        pages=pages,
    )


def _refused(reason: str) -> SpanielError:
    return SpanielError(Code.EXTRACTION_FAILED, error=reason, cause="document")


@contextmanager
def _opened(body: bytes) -> Iterator[PdfDocument]:
    """The document. One that only its owner's password protects opens with the empty one."""
    from pypdfium2 import PdfDocument, PdfiumError, raw

    try:
        document = PdfDocument(body)
    except PdfiumError as error:
        reasons = {raw.FPDF_ERR_PASSWORD: "it needs a password", raw.FPDF_ERR_SECURITY: "its encryption is not known"}
        raise _refused(reasons.get(error.err_code, BROKEN)) from error
    with document:
        yield document


def _scrubbed(sheets: list[PdfPage]) -> tuple[list[PdfPage], int, int]:
    """Scrub all text in one pass, before anything is escaped. Lines are preserved."""
    whole = "\n".join(line.text for sheet in sheets for line in sheet.lines)
    text, invisible, controls = scrub(whole)
    if not invisible and not controls:
        return sheets, 0, 0
    texts = iter(text.split("\n"))
    return [sheet._replace(lines=list(_with_texts(sheet.lines, texts))) for sheet in sheets], invisible, controls


def _with_texts(lines: Sequence[TextLine], texts: Iterator[str]) -> Iterator[TextLine]:
    for line in lines:
        if text := next(texts).strip():
            yield line._replace(text=text)


def _markdown(
    lines: Sequence[Sequence[TextLine]], headings: Sequence[dict[int, PdfHeading]]
) -> tuple[str, tuple[int, ...], bool]:
    """The Markdown, where each page begins in it, and whether it was too much."""
    from spaniel.reading.formats.pdf.paragraphs import APART, detect_typesetting, page_text

    habits = detect_typesetting(lines)
    parts: list[str] = []
    pages: list[int] = []
    length = 0
    for found, heads in zip(lines, headings, strict=True):
        pages.append(length)
        text = page_text(found, heads, habits)
        if length + len(text) > MAX_MARKDOWN:
            return "".join(parts), tuple(pages), True
        if text:
            parts += [text, APART]
            length += len(text) + len(APART)
    return "".join(parts).rstrip("\n") + "\n" if parts else "", tuple(pages), False


def _is_scanned(sheets: Sequence[PdfPage]) -> bool:
    """More pages are pictures than are not."""
    return 2 * sum(sheet.picture for sheet in sheets) > len(sheets)


def _first_heading(markdown: str) -> str | None:
    """The first heading, where the document begins with one."""
    start, _, _ = markdown.partition("\n")
    return start.lstrip("# ").replace("\\", "") if start.startswith("#") else None

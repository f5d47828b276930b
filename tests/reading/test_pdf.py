"""PDFs as Markdown: text in reading order, pages kept apart, headings and lists where they are plain."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys

import pytest
from pypdf.errors import DependencyError

from spaniel.chunking import chunk
from spaniel.errors import Code, SpanielError
from spaniel.reading import Document, read
from spaniel.reading.document import READING_CUT, page_at
from spaniel.reading.formats.pdf import pages
from spaniel.reading.formats.pdf.paragraphs import escape_paragraph
from tests.reading import pdfs
from tests.reading.pdfs import SENTENCE

pytestmark = pytest.mark.req("FG-24")
PDF = "application/pdf"


def understood(body: bytes) -> Document:
    return read(body, PDF, None)


def page_texts(document: Document) -> list[str]:
    """The Markdown of each page, cut by the offsets."""
    ends = (*document.pages[1:], len(document.markdown))
    return [document.markdown[start:end].strip() for start, end in zip(document.pages, ends, strict=True)]


def refusal(body: bytes) -> SpanielError:
    with pytest.raises(SpanielError) as caught:
        understood(body)
    return caught.value


def sentences(count: int, seed: int = 1) -> str:
    """Words in an order that does not come back."""
    words, chance = SENTENCE.replace(",", "").replace(".", "").lower().split(), random.Random(seed)
    found = (" ".join(chance.choices(words, k=chance.randint(8, 16))) for _ in range(count))
    return " ".join(f"{text.capitalize()}." for text in found)


STORY = [
    ("Title", "On Bridges"),
    ("Heading1", "1 Why bridges"),
    ("BodyText", sentences(9, 1)),
    ("BodyText", sentences(9, 2)),
    ("Heading2", "1.1 Of stone"),
    ("BodyText", sentences(7, 3)),
    ("list", f"{sentences(3, 4)}|second point|third point"),
    ("Heading2", "1.2 Of wood"),
    ("BodyText", sentences(9, 5)),
]
EXPECTED = f"""\
# On Bridges

# 1 Why bridges

{sentences(9, 1)}

{sentences(9, 2)}

## 1.1 Of stone

{sentences(7, 3)}

- {sentences(3, 4)}
- second point
- third point

## 1.2 Of wood

{sentences(9, 5)}
"""


@pytest.mark.parametrize("columns", [1, 2])
def test_paragraphs_headings_and_lists_of_reportlab_come_back_as_they_were(columns: int) -> None:
    document = understood(pdfs.set_by_reportlab(STORY, columns))
    assert document.markdown == EXPECTED
    assert document.pages == (0,)
    assert document.kind == "pdf"
    assert document.notes == ()


def test_paragraphs_and_headings_of_fpdf_come_back_as_they_were() -> None:
    pages = [
        [(20, "On Bridges"), (11, sentences(8, 1)), (11, sentences(8, 2)), (15, "Of stone"), (11, sentences(8, 3))],
        [(15, "Of wood"), (11, sentences(8, 4))],
    ]
    document = understood(pdfs.set_by_fpdf(pages))
    first = f"# On Bridges\n\n{sentences(8, 1)}\n\n{sentences(8, 2)}\n\n## Of stone\n\n{sentences(8, 3)}"
    assert page_texts(document) == [first, f"## Of wood\n\n{sentences(8, 4)}"]
    assert document.metadata.title == "On Bridges"


def test_each_page_is_found_by_its_offset_and_nothing_marks_it_in_the_text() -> None:
    document = understood(pdfs.many_pages(30, "Only page {} has this."))
    assert page_texts(document) == [f"Only page {number} has this." for number in range(1, 31)]
    assert "<!--" not in document.markdown
    assert document.markdown.count("\n\n") == 29


def test_chunks_know_their_page() -> None:
    document = understood(pdfs.set_by_fpdf([[(11, sentences(40, number))] for number in range(3)]))
    seen = [page_at(document.pages, one.start) for one in chunk(document.markdown, 128)]
    assert seen == sorted(seen, key=lambda page: page or 0)
    assert set(seen) == {1, 2, 3}
    assert page_at((), 0) is None
    assert [page_at((0, 10, 10, 20), place) for place in (0, 9, 10, 19, 20, 99)] == [1, 1, 3, 3, 4, 4]


def test_empty_pages_count() -> None:
    body = pdfs.drawn([(72, 700, "first")], [], [(72, 700, "third")])
    assert page_texts(understood(body)) == ["first", "", "third"]


def test_running_heads_and_page_numbers_go_and_what_looks_like_them_stays() -> None:
    story = [("BodyText", sentences(10, number)) for number in range(24)]
    document = understood(pdfs.set_by_reportlab(story, running="Journal of Bridges, volume 7"))
    assert len(document.pages) >= 3
    assert "Journal" not in document.markdown
    assert "Page" not in document.markdown
    two = understood(pdfs.set_by_reportlab(story[:8], running="Journal of Bridges, volume 7"))
    assert len(two.pages) < 3
    assert "Journal of Bridges" in two.markdown  # twice is not plainly again and again


def test_header_and_footer_are_ordered_by_position_not_drawing_order() -> None:
    text = [(72, 700 - 30 * number, f"line {number} of the page") for number in range(12)]
    body = pdfs.drawn([(280, 30, "the foot"), *text, (72, 810, "the head")])
    lines = re.findall(".+", understood(body).markdown)
    assert lines == ["the head", *(f"line {number} of the page" for number in range(12)), "the foot"]


def test_what_a_page_consists_of_is_no_running_head() -> None:
    body = pdfs.drawn(*([(72, 810, f"Certificate {number}")] for number in range(8)))
    assert page_texts(understood(body)) == [f"Certificate {number}" for number in range(8)]


def test_words_are_joined_at_the_end_of_a_line_but_where_a_hyphen_belongs() -> None:
    lines = [
        "This is an exam-",
        "ple of state-of-the-",
        "art and of well-",
        "known Anglo-",
        "Saxon words in 2010-",
        "2020, also well-known ones -",
        "and more.",
    ]
    body = pdfs.drawn([(72, 800 - 14 * number, text) for number, text in enumerate(lines)])
    text = understood(body).markdown.replace("\n", " ")
    assert text.strip() == (
        "This is an example of state-of-the-art and of well-known Anglo-Saxon words in 2010-2020, "
        "also well-known ones - and more."
    )


def test_ligatures_and_letters_of_an_embedded_font_are_text() -> None:
    font = os.path.join(pdfs.FONTS, "Vera.ttf")
    document = understood(pdfs.set_by_fpdf([[(11, "Größe, naïve café: ﬁrst ﬂoor.")]], font))
    assert document.markdown == "Größe, naïve café: first floor.\n"


def test_japanese_is_joined_without_blanks() -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    lines = ["日本語の文章には空白がありません。次の", "行に続きます。この文章は長いので折り返", "されています。"]
    body = pdfs.drawn([(72, 800 - 16 * n, text) for n, text in enumerate(lines)], font="HeiseiMin-W3")
    assert understood(body).markdown == "".join(lines) + "\n"


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_page_is_read_like_any(degrees: int) -> None:
    lines = [
        "A paragraph that was broken into lines is",
        "one paragraph again, however the page was",
        "put into the scanner.",
    ]
    assert understood(pdfs.turned(lines, degrees)).markdown == " ".join(lines) + "\n"


def test_the_outline_says_what_is_a_heading_and_how_deep() -> None:
    plain = [("BodyText", "Why bridges"), ("BodyText", sentences(9, 1)), ("BodyText", "2.1 Of stone"), ("BodyText", sentences(9, 2))]  # fmt: skip
    body = pdfs.set_by_reportlab(plain)
    assert "#" not in understood(body).markdown
    found = pdfs.with_outline(body, [("Why bridges", 0, 0), ("Of stone", 0, 1), ("Not there", 0, 0)])
    assert re.findall("^#.*", understood(found).markdown, re.MULTILINE) == ["# Why bridges", "## 2.1 Of stone"]


def test_what_the_document_says_about_itself_is_told() -> None:
    body = pdfs.set_by_reportlab(STORY, title="The  Bridge\x07", author="Ada Ä. Builder", subject="Of stone")
    document = understood(pdfs.in_language(body, "en-GB"))
    assert (document.title, document.metadata.title) == ("The Bridge", "The Bridge")
    assert document.metadata.author == "Ada Ä. Builder"
    assert document.metadata.description == "Of stone"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", document.metadata.published or "")
    assert document.language == "en-GB"
    unsaid = understood(pdfs.set_by_reportlab(STORY))
    assert (unsaid.title, unsaid.metadata.author, unsaid.language) == (None, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "# no heading", "## none", "> no quotation", "- - -", "***", "===", "=", "---", "--", "```sh", "~~~", "1. a 2) b",
        "[a](javascript:x)", "![x](http://a/b)", "[a]: http://b", "<script>x</script>", "&lt;b&gt;", "*a* _b_ **c** __d__",
        "`code`", "\\*a", "|---|---|", "<http://a.example>", "~~gone~~", "a <!-- b -->", "[a][b]",
    ],
)  # fmt: skip
def test_text_stays_text(text: str) -> None:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for tokens in (parser.parse(escape_paragraph(text)), parser.parse(f"x\n{escape_paragraph(text)}")):
        kinds = {child.type for token in tokens for child in (token.children or [token])}
        assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "softbreak", "entity"}
    shown = "".join(child.content for token in parser.parse(escape_paragraph(text)) for child in token.children or ())
    assert shown == text.strip()
    body = pdfs.drawn([(72, 700, "before it"), (72, 600, text)])
    if text[:2] not in ("- ", "1."):  # which make a list
        assert understood(body).markdown == f"before it\n\n{escape_paragraph(text)}\n"


def test_control_and_invisible_characters_go_and_are_counted() -> None:
    """A font may call any sign of its any character."""
    names = {b"A": "200B", b"B": "202E", b"C": "001B", b"D": "E0041"}
    document = understood(pdfs.renamed(b"(pAaBsCs) Tj 0 -300 Td (word) Tj", names))
    assert document.markdown == "pass\n\nword\n"
    assert document.hygiene.invisible_characters >= 2
    shielded = understood(pdfs.renamed(b"(A# no heading) Tj", names))
    assert shielded.markdown == "\\# no heading\n"


def test_what_nobody_sees_on_the_page_is_not_read() -> None:
    lines = [(72, 700, "seen"), (72, -60, "below"), (-400, 300, "beside"), (72, 900, "above")]
    tiny = pdfs.one_page(pdfs.stream(b"BT /F .4 Tf 72 300 Td (tiny) Tj /F 12 Tf 0 99 Td (seen) Tj ET"))
    for body, unseen in ((pdfs.drawn(lines), 3), (tiny, 1)):
        document = understood(body)
        assert document.markdown == "seen\n"
        assert document.hygiene.hidden_elements == unseen


def test_pages_that_are_pictures_are_noted() -> None:
    document = understood(pdfs.scanned())
    assert (document.markdown, document.notes) == ("", ("scanned",))
    assert len(document.pages) == 2
    mostly_text = pdfs.put_together(pdfs.drawn([(72, 700, "a")], [(72, 700, "b")]), pdfs.scanned(1))
    assert understood(mostly_text).notes == ()
    assert understood(pdfs.drawn([])).notes == ()  # empty, and no picture


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_a_password_is_needed_only_where_there_is_one(algorithm: str) -> None:
    body = pdfs.drawn([(72, 700, "secret")])
    try:
        locked, open_to_all = (pdfs.encrypted(body, user, algorithm=algorithm) for user in ("word", ""))
    except DependencyError:
        pytest.skip("pypdf writes it with a package that is not installed")
    assert understood(open_to_all).markdown == "secret\n"
    error = refusal(locked)
    assert error.code is Code.EXTRACTION_FAILED
    assert "needs a password" in error.message
    assert "report" not in error.hint


@pytest.mark.parametrize("body", [b"", b"%PDF-1.7", b"%PDF-1.7\n%%EOF", b"<html>no</html>", pdfs.by_hand(pdfs.CATALOG)])
def test_what_is_no_pdf_is_refused_with_a_reason(body: bytes) -> None:
    error = refusal(body)
    assert error.code is Code.EXTRACTION_FAILED
    assert error.details["cause"] == "document"


def test_a_file_that_breaks_off_anywhere_is_read_or_refused() -> None:
    body = pdfs.put_together(pdfs.drawn([(72, 700, "first page")]), pdfs.drawn([(72, 700, "second page")]))
    whole = 0
    for end in range(0, len(body), 7):
        try:
            document = understood(body[:end])
        except SpanielError as error:
            assert error.code is Code.EXTRACTION_FAILED
        else:
            assert set(page_texts(document)) <= {"first page", "second page", ""}
            whole += "second page" in document.markdown
    assert whole
    assert understood(body).markdown == "first page\n\nsecond page\n"


def test_a_file_with_flipped_bytes_is_read_or_refused() -> None:
    chance, body = random.Random(7), pdfs.set_by_reportlab(STORY)
    for _ in range(150):
        broken = bytearray(body)
        for _ in range(chance.randint(1, 30)):
            broken[chance.randrange(len(body))] = chance.randrange(256)
        try:
            document = understood(bytes(broken))
        except SpanielError as error:
            assert error.code is Code.EXTRACTION_FAILED
        else:
            assert len(document.markdown) < 100_000


def test_damaged_pages_are_noted_and_the_others_read() -> None:
    body = pdfs.by_hand(
        pdfs.CATALOG,
        b"<</Type/Pages/Kids[3 0 R 9 0 R 3 0 R]/Count 3>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        pdfs.stream(b"BT /F 12 Tf 72 400 Td (good page) Tj ET"),
        pdfs.FONT,
    )
    document = understood(body)
    assert page_texts(document) == ["good page", "", "good page"]
    assert document.notes == ("pages_missing",)


@pytest.mark.parametrize("body", [pdfs.PAGES_LOOP, pdfs.GIANT_COUNT, pdfs.DEEP, pdfs.DEEP_DICTIONARY, pdfs.GIANT_SIZE, pdfs.OBJECT_STREAM])  # fmt: skip
def test_what_promises_too_much_is_read_or_refused(body: bytes) -> None:
    try:
        document = understood(body)
    except SpanielError as error:
        assert error.code is Code.EXTRACTION_FAILED
    else:
        assert document.markdown in ("", "The only page\n")
        assert len(document.pages) <= 1


def test_ten_thousand_pages_are_read() -> None:
    document = understood(pdfs.many_pages(10_000))
    assert len(document.pages) == 10_000
    assert document.markdown.endswith("This is page 10000.\n")
    assert document.markdown[document.pages[4999] :].startswith("This is page 5000.\n")
    assert document.notes == ()


def test_what_is_too_much_is_cut_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pdfs.many_pages(30)
    monkeypatch.setattr(pages, "MAX_TEXT", 100)
    document = understood(body)
    assert document.notes == (READING_CUT,)
    assert page_texts(document) == [f"This is page {number}." for number in range(1, len(document.pages) + 1)]
    assert 5 <= len(document.pages) < 10
    monkeypatch.undo()
    monkeypatch.setattr(pages, "MAX_PAGES", 3)
    assert (len(understood(body).pages), understood(body).notes) == (3, (READING_CUT,))


def test_the_same_bytes_give_the_same_document() -> None:
    body = pdfs.set_by_reportlab(STORY, columns=2)
    assert understood(body) == understood(body)


WITHOUT = """
import sys
sys.modules["pypdfium2"] = None
from spaniel.errors import SpanielError
from spaniel.reading import read
try:
    read(b"%PDF-1.7", "application/pdf", None)
except SpanielError as error:
    print(error.code, error.details["content_type"], error.hint)
"""


def test_without_the_extra_the_hint_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.startswith("unsupported_content_type application/pdf ")
    assert "pip install 'pypdfium2>=5,<6'" in done.stdout

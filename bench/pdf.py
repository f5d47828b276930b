"""PDF: pages per second of the processor, and what comes out, beside bare pypdfium2 and its peers, interleaved."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from bench.harness import Case, interleave, title, wanted
from bench.pdf_maker import Made, kinds

Read = Callable[[bytes], list[str]]  # the text of each page
ROUNDS = 25  # of the two that are close
SLOW = ("markitdown", "pymupdf4llm", "pypdf")  # once is enough to see how slow
FOUND, LARGEST = 4, 2 << 20  # documents of installed packages, and how large they may be


def _spaniel() -> Read:
    from spaniel.reading import read

    def pages(body: bytes) -> list[str]:
        document = read(body, "application/pdf", None)
        ends = (*document.pages[1:], len(document.markdown))
        return [document.markdown[start:end] for start, end in zip(document.pages, ends, strict=True)]

    return pages


def _pypdfium2() -> Read:
    """Bare: the text of each page, by the quicker of its two functions."""
    import pypdfium2

    def pages(body: bytes) -> list[str]:
        texts = []
        with pypdfium2.PdfDocument(body) as document:
            for page in document:
                textpage = page.get_textpage()
                texts.append(textpage.get_text_range())
                textpage.close()
                page.close()
        return texts

    return pages


def _pypdf() -> Read:
    import io

    from pypdf import PdfReader

    return lambda body: [page.extract_text() for page in PdfReader(io.BytesIO(body)).pages]


def _pymupdf4llm() -> Read:
    import pymupdf
    import pymupdf4llm

    def pages(body: bytes) -> list[str]:
        document = pymupdf.open(stream=body, filetype="pdf")
        found: Any = pymupdf4llm.to_markdown(document, page_chunks=True, show_progress=False)
        return [page["text"] for page in found]

    return pages


def _markitdown() -> Read:
    import io

    import markitdown
    import pdfminer as _needed  # noqa: F401 - its own extra

    made = markitdown.MarkItDown()
    return lambda body: str(made.convert_stream(io.BytesIO(body), file_extension=".pdf").text_content).split("\f")


PEERS: dict[str, Callable[[], Read]] = {
    "spaniel": _spaniel,
    "bare pypdfium2": _pypdfium2,
    "pypdf": _pypdf,
    "pymupdf4llm": _pymupdf4llm,
    "markitdown": _markitdown,
}


def _installed() -> dict[str, Read]:
    found = {}
    for name, make in PEERS.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"  ({name} is not installed: {error})")
    return found


def _threes(words: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(words, words[1:], words[2:], strict=False))


def _f1(found: Counter[Any], true: Counter[Any]) -> float:
    both = (found & true).total()
    return 2 * both / ((found.total() + true.total()) or 1)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def likeness(pages: list[str], made: Made) -> float:
    """How much of each page is there, in order: runs of three words. Who has no pages is compared as a whole."""
    truth = [_words(" ".join(page)) for page in made.pages]
    found = [_words(page) for page in pages]
    if len(found) != len(truth):
        truth, found = [list(chain(*truth))], [list(chain(*found))]
    scores = [_f1(_threes(a), _threes(b)) for a, b in zip(found, truth, strict=True)]
    return sum(scores) / len(scores)


def heading_score(pages: list[str], made: Made) -> float:
    found = re.findall(r"^#{1,6} (.+)$", "\n".join(pages), re.MULTILINE)
    return _f1(Counter(" ".join(_words(one)) for one in found), Counter(" ".join(_words(one)) for one in made.headings))


def _measure(tools: dict[str, Read], body: bytes) -> tuple[dict[str, float], dict[str, list[str]]]:
    """CPU seconds of each, and what it read."""
    texts: dict[str, list[str]] = {}

    def case(name: str) -> Case:
        return lambda: texts.update({name: tools[name](body)})

    quick = interleave({name: case(name) for name in tools if name not in SLOW}, ROUNDS)
    return quick | interleave({name: case(name) for name in tools if name in SLOW}, 1), texts


def _documents_at_hand() -> dict[str, bytes]:
    """Real ones, of whatever is installed here."""
    folders = [Path(sys.prefix), Path("/usr/share/doc")]
    paths = (path for folder in folders for path in sorted(folder.rglob("*.pdf")))
    return {path.name: path.read_bytes() for path in paths if path.stat().st_size <= LARGEST and path.is_file()}


def run() -> None:
    title("PDF: Markdown by page, with headings")
    tools = _installed()
    totals = dict.fromkeys(tools, 0.0)
    for name, made in kinds().items():
        taken, texts = _measure(tools, made.body)
        print(f"\n  {name}: {len(made.pages)} pages")
        for tool, seconds in sorted(taken.items(), key=lambda item: item[1]):
            totals[tool] += seconds
            print(
                f"    {tool:16} {len(made.pages) / seconds:8.0f} pages/s  x{seconds / taken['bare pypdfium2']:6.2f}"
                f"  text {likeness(texts[tool], made):.3f}  headings {heading_score(texts[tool], made):.2f}"
            )
    for name, body in list(_documents_at_hand().items())[:FOUND]:
        taken, texts = _measure(tools, body)
        result = ", ".join(f"{tool} x{seconds / taken['bare pypdfium2']:.2f}" for tool, seconds in taken.items())
        print(f"\n  {name}: {len(texts['bare pypdfium2'])} pages: {result}")
    print()
    wanted("spaniel / bare pypdfium2", totals["spaniel"] / totals["bare pypdfium2"], most=1.8)
    for other in set(tools) - {"spaniel", "bare pypdfium2"}:
        wanted(f"{other} / spaniel", totals[other] / totals["spaniel"], least=1.0)


if __name__ == "__main__":
    run()

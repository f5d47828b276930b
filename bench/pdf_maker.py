"""PDFs whose text is known: a small typesetter, since no writer is among what the benchmarks install."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

# Helvetica, from the blank to the tilde, in thousandths of its size.
WIDTHS = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, *[556] * 10, 278, 278, 584, 584,
    584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611,
    722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
]  # fmt: skip
WORDS = (
    "the council met on monday to discuss an old bridge over the river and most members spoke in favour of repairing "
    "it because traffic grows every year while its maintenance becomes more expensive than a new construction would be"
).split()
PAGE = (595, 842)
TOP, BOTTOM = 770, 70


@dataclass
class Block:
    text: str
    size: float = 10
    heading: int = 0  # how deep; 0 is none
    item: bool = False
    bold: bool = False


@dataclass
class Made:
    """A document and what a reader should find in it."""

    body: bytes = b""
    pages: list[list[str]] = field(default_factory=list)  # the words of each
    headings: list[str] = field(default_factory=list)


def width(text: str, size: float) -> float:
    return sum(WIDTHS[ord(sign) - 32] for sign in text) * size / 1000


def wrapped(text: str, size: float, width_left: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and width(longer, size) > width_left:
            yield line
            longer = word
        line = longer
    yield line


def story(chapters: int, *, sizes: tuple[float, float, float], bold: bool = False, seed: int = 1) -> list[Block]:
    chance = random.Random(seed)

    def sentence() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(6, 18))).capitalize() + "."

    def title(words: int) -> str:
        return " ".join(chance.sample(WORDS, words)).capitalize()

    large, middle, text = sizes
    blocks = []
    for chapter in range(1, chapters + 1):
        blocks.append(Block(f"{chapter} {title(4)}", large, 1, bold=bold))
        for section in range(1, 4):
            blocks.append(Block(f"{chapter}.{section} {title(5)}", middle, 2, bold=bold))
            paragraphs = [" ".join(sentence() for _ in range(chance.randint(2, 7))) for _ in range(3)]
            blocks += [Block(paragraph, text) for paragraph in paragraphs]
            blocks += [Block(sentence(), text, item=True) for _ in range(chance.randint(0, 4))]
    return blocks


class _Press:
    """Puts lines into columns, and columns onto pages."""

    def __init__(self, columns: int, running: str) -> None:
        self.line_width = (PAGE[0] - 120 - 20 * (columns - 1)) / columns
        self.streams: list[str] = []
        self._columns, self._running = columns, running
        self._page: list[str] = []
        self._column, self.y = 0, float(TOP)

    def show(self, text: str, size: float, indent: float = 0, *, bold: bool = False) -> None:
        self._page.append(_shown(60 + self._column * (self.line_width + 20) + indent, self.y, size, text, bold=bold))

    def turn(self) -> bool:
        """The next column, and whether it is on another page."""
        self._column, self.y = (self._column + 1) % self._columns, float(TOP)
        if self._column == 0:
            self.finish()
        return self._column == 0

    def finish(self) -> None:
        if self._running:
            number = f"Page {len(self.streams) + 1}"
            self._page += [_shown(60, 810, 8, self._running), _shown(290, 30, 8, number)]
        self.streams.append("\n".join(self._page))
        self._page = []


def typeset(blocks: list[Block], *, columns: int = 1, running: str = "", outline: bool = False) -> Made:
    press, made = _Press(columns, running), Made(pages=[[]])
    marks: list[tuple[str, int]] = []
    for block in blocks:
        press.y -= block.size * (1.0 if block.heading else 0.6)
        indent = 14 if block.item else 0
        for number, line in enumerate(wrapped(block.text, block.size, press.line_width - indent)):
            if press.y < BOTTOM and press.turn():
                made.pages.append([])
            if block.item and not number:
                press.show("\\225", block.size)
            press.show(line, block.size, indent, bold=block.bold)
            made.pages[-1] += line.split()
            if block.heading and not number:
                made.headings.append(block.text)
                marks.append((block.text, len(made.pages) - 1))
            press.y -= block.size * 1.2
    press.finish()
    made.body = written(press.streams, marks if outline else [])
    return made


def _shown(x: float, y: float, size: float, text: str, *, bold: bool = False) -> str:
    return f"BT /{'B' if bold else 'F'} {size} Tf {x:.2f} {y:.2f} Td ({text}) Tj ET"


def written(streams: list[str], marks: list[tuple[str, int]]) -> bytes:
    """The file: catalog, pages, two fonts, then page and content in turn, then the outline."""
    font = "<</Type/Font/Subtype/Type1/BaseFont/%s/Encoding/WinAnsiEncoding>>"
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(streams)))
    head = 5 + 2 * len(streams)  # the outline's number
    about = f"/Outlines {head} 0 R" if marks else ""
    objects = [
        f"<</Type/Catalog/Pages 2 0 R{about}>>".encode(),
        f"<</Type/Pages/Kids[{kids}]/Count {len(streams)}>>".encode(),
        (font % "Helvetica").encode(),
        (font % "Helvetica-Bold").encode(),
    ]
    for number, text in enumerate(streams):
        data = zlib.compress(text.encode("latin-1"))
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {PAGE[0]} {PAGE[1]}]/Contents {6 + 2 * number} 0 R"
            "/Resources<</Font<</F 3 0 R/B 4 0 R>>>>>>".encode()
        )
        objects.append(b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(data), data))
    if marks:
        last = head + len(marks)
        objects.append(f"<</Type/Outlines/First {head + 1} 0 R/Last {last} 0 R/Count {len(marks)}>>".encode())
        for number, (title, page) in enumerate(marks, head + 1):
            near = f"/Next {number + 1} 0 R" if number < last else ""
            near += f"/Prev {number - 1} 0 R" if number > head + 1 else ""
            place = f"/Dest[{5 + 2 * page} 0 R /Fit]"
            objects.append(f"<</Title({title})/Parent {head} 0 R{place}{near}>>".encode())
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))


def kinds() -> dict[str, Made]:
    """Documents as people meet them."""
    return {
        "report, headings by size": typeset(story(14, sizes=(18, 14, 10)), running="Annual report of the council"),
        "article, two columns": typeset(story(14, sizes=(13, 11, 9), bold=True, seed=2), columns=2, running="Bridges"),
        "manual, bold headings": typeset(story(14, sizes=(11, 11, 11), bold=True, seed=3), running="Manual"),
        "book with an outline": typeset(story(14, sizes=(11, 11, 11), seed=4), outline=True),
    }

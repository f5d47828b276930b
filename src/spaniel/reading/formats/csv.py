"""The CSV reader: a table with a header, as wide and as long as its budget allows."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from spaniel.reading.document import READING_CUT, Document, Hygiene
from spaniel.reading.formats.plain import read_text
from spaniel.reading.markdown.writer import MIN_ALLOWANCE
from spaniel.reading.text.charset import decode_text
from spaniel.reading.text.scrub import scrub, sub
from spaniel.reading.text.words import normalize_newlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


DELIMITERS = ",;\t|"
SAMPLE_CHARACTERS = 1 << 14  # characters in which the delimiter is looked for
SAMPLE_ROWS = 50
MAX_COLUMNS = 500  # columns
MAX_CELLS, CHARACTERS_PER_CELL = 200_000, 16
# What would be a mark in Markdown, not a character.
MARKDOWN_CHARACTERS = re.compile(
    r"[|`*\[\]]|\\(?=[!-/:-@\[-`{-~])|<(?=[a-zA-Z/!?])|&(?=#?\w{1,32};)|_(?![^\W_])|(?<![^\W_])_"
)
CELL_SEPARATOR = "\0"  # cells, until the signs in them are escaped: hygiene leaves no such character
EXCEL = re.compile(r"sep=(.)\n")  # a first line that only names the delimiter


def read_csv(body: bytes | str, url: str | None, charset: str | None) -> Document:
    decoded = normalize_newlines(body if isinstance(body, str) else decode_text(body, charset))
    text, invisible, controls = scrub(decoded)
    named = EXCEL.match(text)
    text = text[named.end() :] if named else text
    delimiter = named[1] if named else detect_delimiter(text)
    if "\n" not in text.strip("\n") and delimiter not in text:  # a line of words is no table
        return read_text(text, url, None)
    markdown, cut = markdown_table(
        parse_rows(text, delimiter), 4 * len(body) + MIN_ALLOWANCE, MAX_CELLS + len(text) // CHARACTERS_PER_CELL
    )
    hygiene = Hygiene(invisible_characters=invisible, control_characters=controls)
    return Document(markdown, kind="csv", hygiene=hygiene, notes=(READING_CUT,) if cut else ())


def detect_delimiter(text: str) -> str:
    """The one by which most rows are as wide as the first, which has more than one cell; a comma if there is none."""
    sample = text[:SAMPLE_CHARACTERS]
    return max((sign for sign in DELIMITERS if sign in sample), key=lambda sign: _agreement(sample, sign), default=",")


def _agreement(sample: str, delimiter: str) -> tuple[int, int]:
    """How many rows are as wide as the first and have no quote that stays open, and how wide that is."""
    rows = list(islice(parse_rows(sample, delimiter), SAMPLE_ROWS))
    width = len(rows[0]) if rows else 0
    good = sum(len(row) == width and not any(cell.startswith('"') for cell in row) for row in rows)
    return (good, width) if width > 1 else (0, 0)


def parse_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The cells of each row that has any (RFC 4180); of a very wide one, WIDEST and the rest in one."""
    at, quotes = 0, '"' in text
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if not quotes or text.find('"', at, end) < 0:
            row, at = text[at:end].split(delimiter, MAX_COLUMNS), end + 1
        else:
            row, at = _quoted_row(text, delimiter, at)
        if any(row):
            yield row


def _quoted_row(text: str, delimiter: str, at: int) -> tuple[list[str], int]:
    """The row that begins here, in which some cells are quoted, and where the next one begins."""
    row: list[str] = []
    for found in _cell(delimiter).finditer(text, at):
        quoted, plain, end = found.groups()
        if len(row) <= MAX_COLUMNS:
            row.append(quoted.replace('""', '"').replace("\n", " ") if quoted is not None else plain)
        if end != delimiter:
            return row, found.end()
    return row, len(text)


@cache
def _cell(delimiter: str) -> re.Pattern[str]:
    """A cell in quotes, or one without, and what ends it. A quote that is not closed before an end is text."""
    end = re.escape(delimiter)
    return re.compile(rf'(?: *+"((?:[^"]|"")*+)" *+(?={end}|\n|\Z)|([^{end}\n]*+))({end}|\n|\Z)')


def markdown_table(rows: Iterable[list[str]], most: int, cells: int) -> tuple[str, bool]:
    """As many rows as fit, each as wide as the widest of them, and whether something was left out."""
    lines: list[str] = []
    widths: list[int] = []
    cut = False
    for row in rows:
        cut = cut or len(row) > MAX_COLUMNS
        widths.append(min(len(row), MAX_COLUMNS))
        cells -= widths[-1]
        if cells < 0:
            cut = True
            break
        lines.append(_line(row[:MAX_COLUMNS]))
    width = max(widths, default=0)
    return _padded(lines, widths, width, most, cut)


def _line(row: list[str]) -> str:
    cells = CELL_SEPARATOR.join(row)
    if not cells.isalnum() and MARKDOWN_CHARACTERS.search(cells):
        cells = sub(MARKDOWN_CHARACTERS, lambda sign: f"\\{sign[0]}", cells)
    return f"| {cells.replace(CELL_SEPARATOR, ' | ')} |"


def _padded(lines: list[str], widths: list[int], width: int, most: int, cut: bool) -> tuple[str, bool]:
    whole: list[str] = []
    most -= len(" --- |") * width + len(lines[0].encode()) + 10 if lines else 0
    for line, own in zip(lines, widths, strict=False):
        padded = line + "  |" * (width - own) if own < width else line
        most -= len(padded.encode()) + 1
        if most < 0 and whole:
            cut = True
            break
        whole.append(padded)
    return "\n".join((*whole[:1], "|" + " --- |" * width, *whole[1:])) + "\n", cut

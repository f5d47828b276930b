"""CSV: a table of as many rows and cells as the file has, and no cell that is anything but text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.reading import read
from spaniel.reading.document import READING_CUT, Document
from spaniel.reading.formats.csv import MAX_COLUMNS, detect_delimiter, parse_rows

# Cells whose characters stay as they are: no blanks at their ends, no line ends, nothing that hygiene takes.
CELLS = st.text(alphabet="abé9 |\\\"'`*[]<>_,;#-(){}&", min_size=1, max_size=8).map(str.strip).filter(bool)


def read_csv(text: str | bytes, content_type: str = "text/csv") -> Document:
    return read(text.encode() if isinstance(text, str) else text, content_type, None)


def cells_of(line: str) -> list[str]:
    """The cells of a row as a reader of Markdown sees them."""
    inside = line.removeprefix("|").removesuffix("|").replace("\\|", "\0")
    return [cell.strip().replace("\0", "\\|") for cell in inside.split("|")]


@pytest.mark.req("FG-15")
@pytest.mark.parametrize("content_type", ["text/csv", "application/csv", "text/csv; header=present"])
def test_a_file_is_a_table_with_a_header(content_type: str) -> None:
    assert read_csv('name,age\r\n"Doe, J.",7\r\nÉve,8\r\n', content_type).markdown == (
        "| name | age |\n| --- | --- |\n| Doe, J. | 7 |\n| Éve | 8 |\n"
    )


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\nx, y\tz\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ('"a,b";c\n"1,2";3\n', ";"),
        ("no delimiter\nat all\n", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_the_one_that_makes_rows_alike(text: str, delimiter: str) -> None:
    assert detect_delimiter(text) == delimiter


def test_a_line_for_excel_names_the_delimiter() -> None:
    assert read_csv("sep=;\na,b;c\n").markdown == "| a,b | c |\n| --- | --- |\n"


def test_tabs_of_their_own_type() -> None:
    assert read_csv("a\tb\n1\t\n", "text/tab-separated-values").markdown == "| a | b |\n| --- | --- |\n| 1 |  |\n"


def test_ragged_rows_are_filled_and_empty_ones_left_out() -> None:
    assert read_csv("a,b\n1\n\n,,\n1,2,3\n").markdown == (
        "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 |\n"
    )


def test_a_cell_of_several_lines_stays_in_its_row() -> None:
    assert read_csv('a,b\n"one\ntwo",3\n').markdown == "| a | b |\n| --- | --- |\n| one two | 3 |\n"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("a|b", r"a\|b"),
        ("[x](javascript:alert(1))", r"\[x\](javascript:alert(1))"),
        ("<script>x</script>", r"\<script>x\</script>"),
        ("a < b", "a < b"),
        ("`code`", r"\`code\`"),
        ("&lt;b&gt;", r"\&lt;b\&gt;"),
        (r"C:\dir\file", r"C:\dir\file"),
        (r"a\|b", r"a\\\|b"),
        ("snake_case", "snake_case"),
        ("a\u200b\x1b[31mb", "ab"),
    ],
)
def test_a_cell_is_text_and_nothing_else(cell: str, shown: str) -> None:
    assert read_csv(f"h\t{cell}\nx\ty\n").markdown.split("\n")[0] == f"| h | {shown} |"


@pytest.mark.parametrize("text", ['a,"unclosed\nb,2\n', 'a,5" pipe\nb,2\n', 'a,"x"y\nb,2\n'])
def test_a_quote_that_is_not_closed_is_text(text: str) -> None:
    lines = read_csv(text).markdown.split("\n")
    assert cells_of(lines[0])[0] == "a"
    assert cells_of(lines[2]) == ["b", "2"]
    assert '"' in lines[0]


@given(st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=2, max_size=6), st.sampled_from(",;\t|"))
def test_each_row_and_cell_is_there(rows: list[list[str]], delimiter: str) -> None:
    """Written by Python's writer and read here: the cells are those that were written."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    assert list(parse_rows(file.getvalue(), delimiter)) == rows


@given(st.lists(st.lists(CELLS, min_size=2, max_size=5), min_size=2, max_size=6))
def test_the_table_is_as_long_and_as_wide_as_the_file(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([["h"] * 6, *rows])
    lines = read_csv(file.getvalue()).markdown.removesuffix("\n").split("\n")
    assert len(lines) == len(rows) + 2
    assert {len(cells_of(line)) for line in lines} == {6}


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=2, max_size=5))
def test_a_reader_of_markdown_finds_the_cells_as_they_were(rows: list[list[str]]) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    file = io.StringIO()
    csv.writer(file).writerows([["h"] * 4, *rows])
    tokens = markdown_it.MarkdownIt("commonmark").enable("table").parse(read_csv(file.getvalue()).markdown)
    cells = ["".join(c.content for c in t.children) for t in tokens if t.type == "inline"]
    padded = [row + [""] * (4 - len(row)) for row in rows]
    assert cells[4:] == [cell for row in padded for cell in row]
    assert not [c for t in tokens for c in t.children or () if c.type in ("html_inline", "link_open", "code_inline")]


def test_very_wide_and_very_long_tables_are_cut_and_say_so() -> None:
    wide = read_csv(",".join(map(str, range(MAX_COLUMNS + 1))) + "\n1,2\n")
    assert wide.notes == (READING_CUT,)
    assert len(cells_of(wide.markdown.split("\n")[0])) == MAX_COLUMNS
    assert read_csv(",".join(map(str, range(MAX_COLUMNS))) + "\n1,2\n").notes == ()
    long = read_csv("a,b\n" * 250_000)
    assert long.notes == (READING_CUT,)
    assert 100_000 < long.markdown.count("\n") < 250_000
    ragged = read_csv("a" + "," * 400 + "b\n" + "1\n" * 5_000)
    assert ragged.notes == (READING_CUT,)
    assert len(ragged.markdown.encode()) <= 4 * 10_403 + (64 << 10)


@pytest.mark.parametrize("body", [b"", b"\n\n", b" ", b"one line of words"])
def test_what_is_no_table_is_text(body: bytes) -> None:
    assert read_csv(body).markdown == read(body, "text/plain", None).markdown


def test_the_encoding_is_told_by_mark_and_header() -> None:
    assert "| é |" in read_csv("é,b\n1,2\n".encode("utf-16")).markdown
    assert "| é |" in read_csv(b"\xe9,b\n1,2\n", "text/csv; charset=latin1").markdown

"""Memory use does not grow with the size of a source. Each case is measured in its own process."""

from __future__ import annotations

import asyncio
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.sources.rows import Problems
from spaniel.sources.walk import items
from tests.batch.weigh import weigh
from tests.sources.harness import no_fetch

HERE = "tests.sources.test_memory"
MB = 1 << 20


def count(path: str) -> list[object]:
    """Return the number of items, the number of problems and the first problem."""
    problems = Problems()

    async def run() -> int:
        return sum([1 async for _ in items([path], no_fetch, problems=problems)])

    try:
        found = asyncio.run(run())
    except SpanielError:
        found = 0
    return [found, problems.count, problems.first[:1]]


def hold(path: str) -> int:
    """The control: read the whole file into memory."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rb") as file:
        return len(file.read())


def one_line(path: Path) -> None:
    """A sparse file: a quarter of a gigabyte of zeros without a line feed."""
    path.write_bytes(b"https://a.example/\n")
    os.truncate(path, 256 * MB)


def one_line_packed(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"https://a.example/\n")
        for _ in range(200):
            file.write(b"x" * MB)


def open_quote(path: Path) -> None:
    with path.open("w") as file:
        file.write('url,n\nhttps://a.example/,"open\n')
        file.writelines(f"https://a.example/{'y' * 1000},1\n" for _ in range(60_000))


def cells_without_end(path: Path) -> None:
    """Each line closes one quoted cell and opens another: a reader that trusts quotes collects one endless row."""
    with path.open("w") as file:
        file.write("url,n\n")
        file.writelines(f'https://a.example/a"b{"y" * 1000},"c\n' for _ in range(60_000))


def many_lines(path: Path) -> None:
    with path.open("w") as file:
        file.writelines(f"https://a.example/{number:050}\n" for number in range(300_000))


def sitemap(path: Path) -> None:
    """49 MB with 50,000 entries, the limits of sitemaps.org."""
    entry = "<url><loc>https://a.example/{}</loc><lastmod>2026-01-02</lastmod><priority>0.5</priority></url>\n"
    with path.open("w") as file:
        file.write("<urlset>")
        file.writelines(entry.format(f"{number:0930}") for number in range(50_000))
        file.write("</urlset>")


def broken_sitemap(path: Path) -> None:
    sitemap(path)
    path.write_bytes(path.read_bytes().replace(b"<lastmod>", b"<lastmod>&", 1))


def sitemap_of_names(path: Path) -> None:
    with path.open("w") as file:
        file.write("<urlset><url><loc>https://a.example/</loc></url>")
        file.writelines(f"<n{number}/>" for number in range(4_000_000))


def sitemap_of_nesting(path: Path) -> None:
    path.write_bytes(b"<urlset><url><loc>https://a.example/</loc></url>" + b"<a>" * 12_000_000)


def deep_lines(path: Path) -> None:
    with path.open("w") as file:
        file.write('{"url": "https://a.example/"}\n')
        for _ in range(40):
            file.write('{"url": ' + "[" * 2_000_000 + "\n")


def long_lines(path: Path) -> None:
    """A text of one megabyte beside each URL: they must not be in memory at the same time."""
    with path.open("w") as file:
        for number in range(100):
            file.write(f'{{"url": "https://a.example/{number}", "text": "{"x" * MB}"}}\n')


def long_rows(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    texts = (f"{number} " * 1_000_000 for number in range(100))  # 290 MB
    with parquet.ParquetWriter(path, pa.schema([("url", pa.string()), ("text", pa.string())])) as writer:
        for text in texts:
            writer.write_table(pa.table({"url": ["https://a.example/"], "text": [text]}))


CASES: list[tuple[Callable[[Path], None], str, int, int]] = [
    (one_line, "a.txt", 1, 1),
    (one_line, "a.csv", 1, 1),
    (one_line, "a.jsonl", 0, 2),
    (one_line_packed, "a.txt.gz", 1, 1),
    (open_quote, "a.csv", 60_001, 1),
    (cells_without_end, "a.csv", 60_000, 0),
    (many_lines, "a.txt", 300_000, 0),
    (sitemap, "a.xml", 50_000, 0),
    (broken_sitemap, "a.xml", 50_000, 1),
    (sitemap_of_names, "a.xml", 1, 1),
    (sitemap_of_nesting, "a.xml", 1, 1),
    (deep_lines, "a.jsonl", 1, 40),
    (long_lines, "a.jsonl", 100, 0),
]


@pytest.mark.parametrize(("make", "name", "found", "wrong"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_memory_stays_flat(tmp_path: Path, make: Callable[[Path], None], name: str, found: int, wrong: int) -> None:
    path = tmp_path / name
    make(path)
    [count_found, count_wrong, problem], grew = weigh(f"{HERE}:count", path)
    assert (count_found, count_wrong) == (found, wrong), problem
    assert grew < 24 * MB, f"{grew / MB:.0f} MB"


def test_long_texts_in_parquet_are_not_all_in_memory(tmp_path: Path) -> None:
    long_rows(tmp_path / "a.parquet")
    [found, wrong, problem], grew = weigh(f"{HERE}:count", tmp_path / "a.parquet")
    assert (found, wrong) == (100, 0), problem
    assert grew < 160 * MB, f"{grew / MB:.0f} MB"  # 60 to 110 MB are the library itself


def test_measurement_shows_a_reader_of_the_whole_file(tmp_path: Path) -> None:
    one_line_packed(tmp_path / "a.txt.gz")
    _, grew = weigh(f"{HERE}:hold", tmp_path / "a.txt.gz")
    assert grew > 190 * MB

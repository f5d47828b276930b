"""Text lists: encodings, compression, line ends, and files that are not lists."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from spaniel.errors import Code, SpanielError
from tests import programs
from tests.batch import packing
from tests.sources.harness import read, urls


def test_comments_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# mine\nhttps://a.example/\n\n  https://b.example/x  \r\nexample.com/y\n")
    found, problems = read(tmp_path / "list.txt")
    assert [(item.ordinal, item.raw_url) for item in found] == [
        (0, "https://a.example/"),
        (1, "https://b.example/x"),
        (2, "example.com/y"),
    ]
    assert not problems.count


def test_order_of_sources_and_of_a_pattern(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text(f"url\nhttps://{name}/\n" if name == "c.csv" else f"https://{name}/\n")
    found, _ = read(tmp_path / "c.csv", tmp_path / "*.txt")
    assert [(item.ordinal, item.raw_url) for item in found] == [
        (0, "https://c.csv/"),
        (1, "https://a.txt/"),
        (2, "https://b.txt/"),
    ]


def test_existing_file_with_brackets_is_not_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "list[1].txt").write_text("https://here.example/")
    (tmp_path / "list1.txt").write_text("https://elsewhere.example/")
    assert urls(tmp_path / "list[1].txt") == ["https://here.example/"]


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"https://a.example/\n"),
        gzip.compress(b"https://a.") + gzip.compress(b"example/\n"),
        packing.compress(b"https://a.example/\n"),
        packing.compress(b"https://a.exa") + packing.compress(b"mple/\n"),
        gzip.compress(packing.compress(b"https://a.example/\n")),
    ],
    ids=["gzip", "two gzip members", "zstd", "two zstd frames", "gzip of zstd"],
)
def test_compression_is_recognized_without_the_name(tmp_path: Path, packed: bytes) -> None:
    (tmp_path / "list.txt").write_bytes(packed)
    assert urls(tmp_path / "list.txt") == ["https://a.example/"]


@pytest.mark.parametrize("pack", [gzip.compress, packing.compress])
def test_truncated_compressed_data_is_reported(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    lines = "".join(f"https://a.example/{number * 7919 % 100_003}\n" for number in range(50_000)).encode()
    (tmp_path / "list.txt.gz").write_bytes(pack(lines)[:-5000])
    found, problems = read(tmp_path / "list.txt.gz")
    assert 1000 < len(found) < 50_000
    assert problems.count == 1
    assert "breaks off" in problems.first[0]


@pytest.mark.parametrize(
    "encoded",
    [
        "https://a.example/ü\nhttps://b.example/\n".encode("utf-16"),
        "https://a.example/ü\nhttps://b.example/\n".encode("utf-16-le"),
        "https://a.example/ü\nhttps://b.example/\n".encode("utf-16-be"),
        "\ufeffhttps://a.example/ü\nhttps://b.example/\n".encode("utf-16-be"),
        "https://a.example/ü\nhttps://b.example/\n".encode("utf-32"),
        "\ufeffhttps://a.example/ü\nhttps://b.example/\n".encode(),
        "https://a.example/ü\nhttps://b.example/\n".encode("latin-1"),
        "https://a.example/ü\rhttps://b.example/\r".encode(),
        "https://a.example/ü\r\nhttps://b.example/".encode(),
    ],
    ids=["utf-16", "le without mark", "be without mark", "be", "utf-32", "mark", "latin-1", "old Mac", "Windows"],
)
def test_encodings_and_line_ends(tmp_path: Path, encoded: bytes) -> None:
    (tmp_path / "list").write_bytes(encoded)
    assert urls(tmp_path / "list") == ["https://a.example/ü", "https://b.example/"]


def test_invalid_bytes_and_nul_become_valid_text(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_bytes(
        b"https://a.example/\xff\xfe\x81\nhttps://b.example/\x00x\nhttps://c.example/\n"
    )
    found = urls(tmp_path / "list.txt")
    assert len(found) == 3
    assert all(url.encode() for url in found)
    assert found[1:] == ["https://b.example/\x00x", "https://c.example/"]


def test_line_that_is_too_long_is_reported(tmp_path: Path) -> None:
    just_fits = "https://a.example/" + "x" * ((1 << 16) - 18)
    text = f"https://first.example/\n{'y' * 200_000}\n{just_fits}\nhttps://last.example/\n"
    (tmp_path / "list.txt").write_text(text)
    found, problems = read(tmp_path / "list.txt")
    assert [item.raw_url for item in found] == ["https://first.example/", just_fits, "https://last.example/"]
    assert problems.count == 1
    assert "list.txt, line 2: is longer than 65536 bytes" in problems.first[0]


def test_many_problems_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_text('{"url": "https://a.example/"}\n' + "{\n" * 1000)
    found, problems = read(tmp_path / "list.jsonl")
    assert len(found) == 1
    assert problems.count == 1000
    assert len(problems.first) == 20


def test_standard_input_is_read() -> None:
    script = "from tests.sources.harness import urls; print(urls('-'))"
    command = [sys.executable, "-c", script]
    result = programs.run(
        command, input="https://a.example/\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.strip() == "['https://a.example/']", result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.txt", "no such file"),
        ("*.none", "no file has such a name"),
        (".", "is a folder"),
        ("empty.txt", "no URL"),
    ],
)
def test_missing_and_empty_sources_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(SpanielError, match=message) as caught:
        read(tmp_path / name)
    assert caught.value.code == Code.BAD_ARGS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"PK\x03\x04rest", "Save it as CSV"),
        ("a.pdf", b"%PDF-1.7", "is a PDF"),
        ("a.docx", b"PK\x03\x04rest", "office document"),
        ("a.html", b"<!doctype html><p>x", "is a web page"),
        ("a", b"\x89PNG\r\n\x1a\n", "is an image"),
        ("a", bytes(range(32)) * 20, "is binary data"),
        ("a.md", b"[x](https://a.example/)", "is a document"),
    ],
)
def test_files_that_are_not_lists_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SpanielError, match=message):
        read(tmp_path / name)


def test_error_without_urls_shows_the_first_problem(tmp_path: Path) -> None:
    (tmp_path / "list.jsonl").write_text("nonsense\n")
    with pytest.raises(SpanielError, match="line 1: is not JSON"):
        read(tmp_path / "list.jsonl")


def test_silent_pipe_does_not_block_the_exit() -> None:
    script = """
import asyncio
from tests.sources.harness import gather, no_fetch
async def main():
    try:
        async with asyncio.timeout(0.2):
            await gather(no_fetch, ["-"])
    except TimeoutError:
        print("left")
asyncio.run(main())
"""
    with programs.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read() == b"left\n"  # while its input is still open
        assert child.wait(timeout=60) == 0

"""`spaniel extract`: it knows its input, and takes many files and folders."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from spaniel.cli.extract import HTML, JSON, TEXT, content_type_of
from spaniel.cli.extract import MARKDOWN as MARKDOWN_TYPE
from tests import programs
from tests.programs import SPANIEL, spaniel

PAGE = "<html lang=en><head><title>{0} - Site</title></head><body><main><h1>{0}</h1><p>Words *of* it.</p></main></body>"
MARKDOWN = "# A *title*\n\n1. a < b & c_d\n\n<br>\n\n[x](/y)\n"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("a.png", PNG, "image/png"),
        ("a.html", PNG, "image/png"),
        ("a.html.gz", gzip.compress(PAGE.encode()), "application/gzip"),
    ],
)
def test_unreadable_type_is_refused_by_name(tmp_path: Path, name: str, body: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(body)
    for done in (spaniel("extract", name, cwd=tmp_path), spaniel("extract", "-", stdin=body)):
        assert (done.returncode, done.stdout) == (6, "")
        assert f"Unsupported content type '{kind}'" in done.stderr


@pytest.mark.req("FR-WF-13c")
@pytest.mark.parametrize("name", ["notes.md", "notes.markdown", "notes.txt", "README"])
def test_markdown_and_text_are_not_escaped(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(MARKDOWN, encoding="utf-8")
    assert spaniel("extract", name, cwd=tmp_path).stdout == MARKDOWN
    assert spaniel("extract", "-", stdin=MARKDOWN.encode()).stdout == MARKDOWN


@pytest.mark.parametrize(
    ("name", "body", "kind"),
    [
        ("-", b"<p>hello", HTML),
        ("-", b"\xef\xbb\xbf <!-- x --> <!DOCTYPE html><p>hello", HTML),
        ("-", b"<?xml version='1.0'?><html xmlns='x'>", HTML),
        ("-", "<html>é".encode("utf-16"), HTML),
        ("-", b"Hello <b>world</b>", HTML),
        ("-", b"a < b and b > c", TEXT),
        ("-", b"if (a <b) { return }", TEXT),
        ("page.HTM", b"plain words", HTML),
        ("notes.md", b"<p>HTML in Markdown</p>", MARKDOWN_TYPE),
        ("data.json", b"[1]", JSON),
        ("table.TSV", b"a\tb", "text/tab-separated-values"),
        ("feed.xml", b"<rss/>", "application/xml"),
        ("x.unknown", b"<title>T</title><p>x", HTML),
        ("-", b"", TEXT),
    ],
)
def test_html_is_distinguished_from_text(name: str, body: bytes, kind: str) -> None:
    assert content_type_of(name, body) == kind


@pytest.mark.parametrize("url", ["nonsense", "ftp://a.example/", "/relative", "http://"])
def test_invalid_url_option_is_an_error(url: str) -> None:
    done = spaniel("extract", "-", "--url", url, stdin=b"<a href=/b>b</a>")
    assert (done.returncode, done.stdout) == (2, "")
    assert "spaniel: invalid_" in done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with pages, notes, pictures, hidden files, and a broken page."""
    for name in ("b", "a/c", "a/d"):
        path = tmp_path / "site" / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(path.stem), encoding="utf-8")
    (tmp_path / "site" / "a" / "notes.md").write_text(MARKDOWN, encoding="utf-8")
    (tmp_path / "site" / "logo.png").write_bytes(PNG)
    (tmp_path / "site" / ".hidden.html").write_text("hidden", encoding="utf-8")
    (tmp_path / "site" / "z.html").write_bytes(PNG)
    return tmp_path


FILES = ["site/b.html", "site/z.html", "site/a/c.html", "site/a/d.html", "site/a/notes.md"]


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_files_and_folders_are_read_in_order_with_front_matter(folder: Path, jobs: str) -> None:
    done = spaniel("extract", "-j", jobs, "site", "site/b.html", cwd=folder)
    assert done.returncode == 1
    named = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("file: ")]
    assert named == [*(file for file in FILES if file != "site/z.html"), "site/b.html"]
    assert 'file: "site/b.html"\ntitle: "b"\nlanguage: "en"\n---\n\n# b\n\nWords \\*of* it.\n' in done.stdout
    assert MARKDOWN in done.stdout
    assert "site/z.html: unsupported_content_type" in done.stderr
    assert "5 of 6 files read; 1 failed (1 unsupported_content_type)" in done.stderr
    lines = spaniel("extract", "-j", jobs, "--json", "site", cwd=folder).stdout.splitlines()
    assert [json.loads(line)["file"] for line in lines] == FILES
    assert [json.loads(line).get("code") for line in lines] == [None, "unsupported_content_type", None, None, None]


def test_folder_output_has_one_file_per_page(folder: Path) -> None:
    done = spaniel("extract", "site", "-o", "out/", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == ["site_a_c.html.md", "site_a_d.html.md", "site_a_notes.md.md", "site_b.html.md"]


def test_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(PNG)
    done = spaniel("extract", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "no readable file in this folder" in done.stderr


@pytest.mark.req("D2-33")
def test_page_without_text_has_a_note() -> None:
    done = spaniel("extract", "-", stdin=b"<html><body><script>x()</script></body></html>")
    assert (done.returncode, done.stdout) == (0, "")
    assert "(no_text)" in done.stderr
    assert spaniel("extract", "-", stdin=b"<p>x").stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal here")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_second_signal_stops_and_keeps_finished_pages(folder: Path, jobs: str, number: int) -> None:
    """The last of the files is a pipe without a writer."""
    os.mkfifo(folder / "never.html")
    command = [*SPANIEL, "extract", "-j", jobs, "site/b.html", "site/a/c.html", "never.html", "-o", "out/"]
    with programs.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:
        while not (folder / "out" / "site_a_c.html.md").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        assert process.stderr
        while b"press Ctrl-C again" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        _, output = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert b"stopped: 2 files read" in output
    assert b"Traceback" not in output


@pytest.mark.req("FG-25")
def test_files_are_read_by_their_extensions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 12345678901234567890.10,\n "a": "\\u00e9"}', encoding="utf-8")
    (tmp_path / "b.csv").write_text("x;y\n1;a|b\n", encoding="utf-8")
    (tmp_path / "c.rss").write_text("<rss version='2.0'><channel><title>F</title></channel></rss>", encoding="utf-8")
    (tmp_path / "d.xml").write_text("<x>&lt;</x>", encoding="utf-8")
    (tmp_path / "e.md").write_text("---\ntitle: M\n---\n<script>x</script>Words.\n", encoding="utf-8")
    shown = {name: spaniel("extract", name, cwd=tmp_path).stdout for name in sorted(os.listdir(tmp_path))}
    assert shown["a.json"] == '```json\n{\n  "n": 12345678901234567890.10,\n  "a": "\\u00e9"\n}\n```\n'
    assert shown["b.csv"] == "| x | y |\n| --- | --- |\n| 1 | a\\|b |\n"
    assert shown["c.rss"] == "# F\n"
    assert shown["d.xml"] == "```xml\n<x>&lt;</x>\n```\n"
    assert shown["e.md"] == "# M\n\nWords.\n"
    lines = spaniel("extract", "--json", ".", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line).get("data") for line in lines] == [{"n": 1.2345678901234567e19, "a": "é"}, *[None] * 4]
    assert '"data": {"n":12345678901234567890.10,"a":"\\u00e9"}}' in lines[0]

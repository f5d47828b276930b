"""Which documents are found, and how they are read."""

from __future__ import annotations

import codecs
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.health.files import DocumentOptions, decode, documents, gather, read

LINK = "[a](https://one.org/)\n"


def make(folder: Path, *names: str, text: str = LINK) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def names(folder: Path, options: DocumentOptions | None = None) -> list[str]:
    return sorted(os.path.relpath(path, folder) for path in documents(str(folder), options or DocumentOptions()))


def test_folder_is_read_recursively_without_hidden_files(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "a.mdx", "sub/b.html", "sub/c.rst", "d.ipynb", "e.txt", "f.json", "g.py", "h.yaml")
    make(tmp_path, ".hidden/x.md", ".git/x.md", "node_modules/x.md", ".x.md")
    assert names(tmp_path) == ["a.md", "a.mdx", "d.ipynb", "e.txt", "sub/b.html", "sub/c.rst"]
    assert names(tmp_path, DocumentOptions(fields=("url",))) == ["f.json", "h.yaml"]
    assert names(tmp_path, DocumentOptions(extensions=("py", ".json"))) == ["f.json", "g.py"]
    assert ".hidden/x.md" in names(tmp_path, DocumentOptions(use_hidden=True))
    assert ".git/x.md" not in names(tmp_path, DocumentOptions(use_hidden=True))
    assert names(tmp_path, DocumentOptions(exclude_paths=("/sub/", r"\.txt$"))) == ["a.md", "a.mdx", "d.ipynb"]


IGNORE = """\
# a comment
*.tmp.md
/only-here.md
build/
docs/**/draft.md
!keep.tmp.md
a?c.md
[x-z]1.md
[!x-z]2.md
\\#sign.md
\\!bang.md
trailing\\ \x20
**/deep/any.md
logs/**
foo*bar*.md
nested/inner.md
cl[[:digit:]].md
"""
PATHS = """\
a.md x.tmp.md keep.tmp.md sub/y.tmp.md only-here.md sub/only-here.md build/a.md sub/build/b.md docs/draft.md
docs/a/b/draft.md other/draft.md abc.md abbc.md sub/abc.md x1.md w1.md w2.md x2.md #sign.md !bang.md deep/any.md
p/q/deep/any.md logs/a.md logs/b/c.md foo1bar2.md foobar.md fob.md nested/inner.md sub/nested/inner.md cl1.md cla.md
sub/again.md sub/.keepme/a.md sub/other/again.md
""".split()


def test_gitignore_excludes_the_same_files_as_git(tmp_path: Path) -> None:
    """Compared with git itself, which the code under test does not use."""
    make(tmp_path, *PATHS)
    (tmp_path / ".gitignore").write_text(IGNORE)
    (tmp_path / "sub/.gitignore").write_text("!y.tmp.md\nagain.md\n!/other/again.md\n")
    run = ["git", "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*run, "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".git/info/exclude").write_text("fob.md\n")
    listed = subprocess.run(
        [*run, "ls-files", "-z", "--others", "--exclude-standard"], cwd=tmp_path, check=True, capture_output=True
    ).stdout.decode()
    wanted = sorted(name for name in listed.split("\0") if name.endswith(".md") and "/." not in name)
    assert "keep.tmp.md" in wanted
    assert names(tmp_path) == wanted
    assert names(tmp_path / "sub") == [name[4:] for name in wanted if name.startswith("sub/")]
    assert len(names(tmp_path, DocumentOptions(use_gitignore=False))) == len(
        [name for name in PATHS if "/." not in name]
    )


def test_hostile_gitignore_pattern_is_fast(tmp_path: Path) -> None:
    make(tmp_path, "a" * 200 + ".md", "b.md")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*a" * 60 + "*b\n" + "[\n" + "**/" * 500 + "x\nb.md\n")
    assert names(tmp_path) == ["a" * 200 + ".md"]


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    make(outside, "secret.md")
    inside = tmp_path / "inside"
    make(inside, "a.md", "sub/b.md")
    (inside / "out").symlink_to(outside)
    (inside / "out.md").symlink_to(outside / "secret.md")
    (inside / "sub/loop").symlink_to(inside)
    (inside / "dangling.md").symlink_to("nowhere")
    assert names(inside) == ["a.md", "sub/b.md"]
    assert list(documents(str(inside / "out.md"))) == [str(inside / "out.md")]  # a file that is named itself is read


def test_glob_patterns_are_expanded_and_missing_files_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.md", "b.md", "sub/c.md", "x[1].md")
    monkeypatch.chdir(tmp_path)
    assert list(documents("*.md")) == ["a.md", "b.md", "x[1].md"]
    assert list(documents("**/*.md")) == ["a.md", "b.md", "sub/c.md", "x[1].md"]
    assert list(documents("x[1].md")) == ["x[1].md"]
    with pytest.raises(SpanielError, match="no such file or folder"):
        list(gather(["nothing.md"]))
    with pytest.raises(SpanielError, match="no such file or folder"):
        list(gather(["nothing*.md"]))


def test_urls_and_standard_input_are_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINK.encode())))
    found = list(gather(["https://two.org/x", "-"]))
    assert [(one.url, one.place.file, one.place.line, one.place.column) for one in found] == [
        ("https://two.org/x", "", 0, 0),
        ("https://one.org/", "-", 1, 5),
    ]


def test_too_large_document_is_reported_and_not_read(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.md")
    (tmp_path / "b.md").write_bytes(b"x" * 2000)
    os.mkfifo(tmp_path / "pipe")
    unread: list[tuple[str, str]] = []
    options = DocumentOptions(largest=1000, on_unread=lambda file, reason: unread.append((file, reason)))
    assert len(list(gather([str(tmp_path)], options))) == 1
    assert unread == [(str(tmp_path / "b.md"), "has more than 1,000 bytes, which are not read")]
    with pytest.raises(SpanielError, match="has more than 1,000 bytes"):
        list(gather([str(tmp_path / "b.md")], options))
    with pytest.raises(SpanielError, match="not a regular file"):
        list(gather([str(tmp_path / "pipe")]))


@pytest.mark.parametrize(
    ("raw", "url", "column"),
    [
        ("é [a](https://one.org/é)".encode(), "https://one.org/é", 7),
        ("\ufeffé [a](https://one.org/é)".encode(), "https://one.org/é", 7),
        ("é [a](https://one.org/é)".encode("latin-1"), "https://one.org/é", 7),
        ("\ufeffé [a](https://one.org/é)".encode("utf-16-le"), "https://one.org/é", 7),
        ("\ufeffé [a](https://one.org/é)".encode("utf-16-be"), "https://one.org/é", 7),
        ("\ufeffé [a](https://one.org/é)".encode("utf-32-le"), "https://one.org/é", 7),
        (b"\xef\xbb\xbf\xff [a](https://one.org/\xff)", "https://one.org/\udcff", 7),
        (b"a\0 [a](https://one.org/)", "https://one.org/", 8),
        ("x <!-- charset=koi8-r --> [привет](https://one.org/привет)".encode("koi8-r"), "https://one.org/привет", 36),
    ],
)
def test_every_encoding_round_trips(tmp_path: Path, raw: bytes, url: str, column: int) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(raw)
    [found] = gather([str(path)])
    assert (found.url, found.place.column) == (url, column)
    decoded = read(str(path))
    assert decoded.encoded(decoded.text) == raw


def test_random_bytes_round_trip() -> None:
    for seed in range(300):
        raw = bytes((seed * 7 + number * number * 31) % 256 for number in range(seed))
        for mark in (b"", b"\xef\xbb\xbf", b"\xff\xfe", b"charset=shift_jis "):
            decoded = decode(mark + raw)
            assert decoded.encoded(decoded.text) == mark + raw


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (codecs.BOM_UTF32_BE + "é".encode("utf-32-be"), "utf-32-be"),
        (codecs.BOM_UTF32_LE + "é".encode("utf-32-le"), "utf-32-le"),
        (codecs.BOM_UTF16_LE + "\ud800".encode("utf-16-le", "surrogatepass"), "utf-16-le"),
        (b"charset=cp932 \x87\x40", "cp932"),
        (b"charset=cp932 \x87\x90", "latin-1"),  # encodes to other bytes
        (b"charset=utf-7 \xff+AGE-", "latin-1"),
        (b"charset=utf-8 \xff", "latin-1"),
        (b"charset=nonsense \xff", "latin-1"),
    ],
)
def test_detected_encoding_round_trips(raw: bytes, name: str) -> None:
    decoded = decode(raw)
    assert (decoded.encoding, decoded.encoded(decoded.text)) == (name, raw)


def test_unencodable_character_raises() -> None:
    with pytest.raises(UnicodeEncodeError):
        decode(b"\xff").encoded("€")

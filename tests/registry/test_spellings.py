"""One page under several spellings: case where it makes no page, and paths as other programs write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.registry.files import database
from tests.registry.test_folder import message

INSENSITIVE = b"---\ncase-sensitive-paths: false\n---\n_path: /About\n---\n_path: /data/x.aspx?Name=A\n"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://example.com/about", "/About"),
        ("http://example.com/ABOUT", "/About"),
        ("http://example.com/Data/X.ASPX?Name=A", "/data/x.aspx?Name=A"),
        ("http://example.com/data/x.aspx?name=A", None),  # a query may be about anything
        ("http://example.com/New%2fPage/%C3%91", None),
    ],
)
def test_where_case_makes_no_page_a_record_is_found_whatever_its_case(tmp_path: Path, url: str, path: str) -> None:
    found = database(tmp_path, example_com=INSENSITIVE)
    record = found.find(url)
    assert (record and record.path) == path
    with found.editing() as editor:
        known = editor.find(url)
        assert (known and known.path) == path
        assert editor.add(url).is_new == (path is None)
    minding = database(tmp_path / "minding", example_com=INSENSITIVE.replace(b"false", b"true"))
    assert minding.find("http://example.com/about") is None  # the control


def test_where_case_makes_no_page_new_paths_are_in_lower_case(tmp_path: Path) -> None:
    with database(tmp_path, example_com=INSENSITIVE).editing() as editor:
        assert editor.add("http://example.com/New%2FPage/%C3%91?Q=A").record.path == "/new%2Fpage/%C3%91?Q=A"
        assert not editor.add("http://example.com/NEW%2FPAGE/%C3%91?Q=A").is_new
        assert editor.move("http://example.com/ABOUT", "http://example.com/about").record.path == "/about"
        assert editor.move("http://example.com/ABOUT", "http://example.com/About").is_new is False
        assert "already" in message(
            lambda: editor.move("http://example.com/About", "http://example.com/DATA/x.aspx?Name=A")
        )
        assert editor.remove("http://example.com/Data/x.aspx?Name=A")
        assert not editor.remove("http://example.com/Data/x.aspx?Name=A")
        assert editor.add("http://example.com/DATA/x.aspx?Name=A").record.path == "/data/x.aspx?Name=A"


@pytest.mark.req("DB-08")
@pytest.mark.parametrize("path", ["/q?s='x'", "/%7euser", "/a/%2e%2e/b", "/ñ", '/q?a=b"c'])
def test_a_url_whose_path_stands_in_a_file_is_known_however_it_is_spelt(tmp_path: Path, path: str) -> None:
    """Other programs spell paths in other ways: adding what is there must not make a second record."""
    raw = f"---\n---\n_path: {json.dumps(path, ensure_ascii=False)}\n".encode()
    found = database(tmp_path, example_com=raw)
    with found.editing() as editor:
        assert not editor.add(f"http://example.com{path}").is_new
        assert editor.add(f"http://example.com{path}x").is_new  # the control
    assert found.find(f"http://example.com{path}")


def test_two_spellings_in_a_file_are_found_and_removed_separately(tmp_path: Path) -> None:
    """As real files have them, though their host does not mind case."""
    raw = b"---\ncase-sensitive-paths: false\n---\n_path: /A\n---\n_path: /AB\n---\n_path: /aB\n"
    with database(tmp_path, example_com=raw).editing() as editor:
        found = [editor.find(f"http://example.com{path}") for path in ("/a", "/aB", "/AB", "/ab")]
        assert [record.path for record in found if record] == ["/A", "/aB", "/AB", "/AB"]
        assert editor.remove("http://example.com/ab")
        left = editor.find("http://example.com/ab")
        assert left is not None
        assert left.path == "/aB"
        assert editor.remove("http://example.com/ab")
        assert not editor.remove("http://example.com/ab")

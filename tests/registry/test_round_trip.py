"""Edits: what is not touched keeps its bytes, and a change is in the lines of its key and nowhere else."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

from spaniel.errors import SpanielError
from spaniel.private_folder import OpenFolder
from spaniel.registry import folder as files
from spaniel.registry.formatting import set_key, unset_key
from spaniel.registry.host_file import FileDraft, read_file
from spaniel.registry.outline import outline
from spaniel.registry.yaml_text import Position, scalar
from tests.registry.files import HASH, MINIMAL, ODDITIES, WILD, contents, database

HERE = Position("f")


def draft(raw: bytes) -> FileDraft:
    return FileDraft(read_file(raw.decode(), "f", "example.com"))


def changed_lines(old: str, new: str) -> list[str]:
    lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.req("DB-10", "DB-12")
@pytest.mark.parametrize("name", ODDITIES)
def test_a_file_that_nobody_changes_is_the_same_byte_for_byte(name: str) -> None:
    assert draft(ODDITIES[name]).text().encode() == ODDITIES[name]


@pytest.mark.req("DB-05")
@pytest.mark.parametrize("path", ["/", "/a;v=1/b;w?c=d&e=f;g", "/?q", "//a", "/%23", "/a?b=http://c.example/d"])
def test_a_path_may_have_parameters_and_a_query(path: str) -> None:
    [record] = read_file(f"---\n---\n_path: {path}\n", "f", "example.com").records
    assert (record.path, record.url) == (path, f"http://example.com{path}")


@pytest.mark.req("DB-05")
@pytest.mark.parametrize("path", ["a", "?q=1", ";v", "./a", "http://example.com/a", "/a#", "/#b", "/a?b#c"])
def test_a_relative_path_or_one_with_a_fragment_is_refused(path: str) -> None:
    with pytest.raises(SpanielError, match="_path"):
        read_file(f"---\n---\n_path: {path}\n", "f", "example.com")


@pytest.mark.req("DB-10")
@pytest.mark.parametrize("quoted", [False, True])
def test_unknown_keys_keep_their_names_and_values(quoted: bool) -> None:
    """Capitals, text that looks like a number or a truth, lists: as they were written; with libyaml as without."""
    keys = {
        "_path": "/a",
        "Content-Owner": "Team A",
        "checked_By": "0123",
        "X-Flag": "yes",
        "zip": "1e3",
        "Tags": ["B", "a"],
    }
    lines = [f"{key}: {value}\n" if isinstance(value, str) else f"{key}:\n- B\n- a\n" for key, value in keys.items()]
    text = "---\n---\n" + "".join(sorted(lines)).replace("Team A", '"Team A"' if quoted else "Team A")
    [record] = read_file(text, "f", "example.com").records
    assert record.keys == keys
    assert {name: record.as_dict()[name] for name in keys} == keys
    edited = draft(text.encode())
    edited.set("/a", {"content-length": 7})
    assert edited.record("/a").keys == {**keys, "content-length": "7"}


@pytest.mark.req("DB-08", "DB-10")
@pytest.mark.parametrize("name", ODDITIES)
def test_a_new_record_leaves_all_others_as_they_are(name: str) -> None:
    raw = ODDITIES[name]
    edited = draft(raw)
    paths = [record.path for record in read_file(raw.decode(), "f", "example.com").records]
    edited.add("/new", {})
    end = "\r\n" if raw.split(b"\n")[0].endswith(b"\r") else "\n"
    added = f"---{end}_path: /new{end}"
    assert edited.text().count(added) == 1
    rest = edited.text().replace(added, "")
    assert rest.removesuffix(end) == raw.decode().removesuffix(end)
    again = [record.path for record in read_file(edited.text(), "f", "example.com").records]
    assert sorted(again) == sorted([*paths, "/new"])
    edited.remove("/new")
    assert edited.text().removesuffix(end) == raw.decode().removesuffix(end)


@pytest.mark.req("DB-10")
@pytest.mark.parametrize("name", [name for name in ODDITIES if name not in ("flow", "only metadata")])
def test_a_new_key_is_one_line_and_an_unset_one_takes_it_away(name: str) -> None:
    edited = draft(ODDITIES[name])
    before = edited.text()
    path = read_file(before, "f", "example.com").records[-1].path
    edited.set(path, {"content-length": None})
    bare = edited.text()
    edited.set(path, {"content-length": 77})
    [line] = [line for line in changed_lines(bare, edited.text()) if not line.endswith(("...\n", "...\r\n"))][-1:]
    assert line.strip() == "+ content-length: 77" or line.split() == ["+", "content-length:", "77"]
    assert edited.record(path).content_length == 77
    edited.set(path, {"content-length": None})
    end = "\r\n" if "\r\n" in before else "\n"
    assert edited.text().removesuffix(end) == bare.removesuffix(end)


@pytest.mark.req("DB-10")
@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("_path: /a\nnote: x # why\nz: 1\n", "note", "w", "_path: /a\nnote: w # why\nz: 1\n"),
        ("_path: /a\nnote: 'x'\nz: 1\n", "note", "a: b", "_path: /a\nnote: 'a: b'\nz: 1\n"),
        ("_path: /a\nnote: |\n  x\n  y\nz: 1\n", "note", "w", "_path: /a\nnote: w\nz: 1\n"),
        ("_path: /a\n# c\ntags:\n- x\n- y\n# d\nz: 1\n", "tags", ["z"], "_path: /a\n# c\ntags:\n- z\n# d\nz: 1\n"),
        ("_path: /a\ntags: [x,\n  y]\nz: 1\n", "tags", ["z"], "_path: /a\ntags:\n- z\nz: 1\n"),
        ("_path: /a\n# about z\nz: 1\n", "note", "x", "_path: /a\nnote: x\n# about z\nz: 1\n"),
        ("# about a\n_path: /a\n", "X-First", "x", "X-First: x\n# about a\n_path: /a\n"),
        ("  _path: /a\n  z: 1\n", "note", "x", "  _path: /a\n  note: x\n  z: 1\n"),
        ("_path: /a\n# the end\n", "note", "x", "_path: /a\nnote: x\n# the end\n"),
        ("_path: /a\n...\n", "note", "x", "_path: /a\nnote: x\n...\n"),
        ("_path: /a", "note", "x", "_path: /a\nnote: x\n"),
        ("_path: /a\nnote: x", "note", "w", "_path: /a\nnote: w"),
        ("_path: /a\nnote:\nz: 1\n", "note", "w", "_path: /a\nnote: w\nz: 1\n"),
        ("_path: /a\r\nz: 1\r\n", "note", "w", "_path: /a\r\nnote: w\r\nz: 1\r\n"),
        ("_path: /a\nnote: |+\n  x\n\nz: 1\n", "other", "w", "_path: /a\nnote: |+\n  x\n\nother: w\nz: 1\n"),
        ("_path: /a\ntags: []\n", "tags", [], "_path: /a\ntags: []\n"),
        ("_path: /a\nnote: x\n", "note", [], "_path: /a\nnote: []\n"),
        ("_path: /a\nnote: 'x' # so\n", "note", "x", "_path: /a\nnote: 'x' # so\n"),
        ("_path: /a\ntags: [x, y]\n", "tags", ["x", "y"], "_path: /a\ntags: [x, y]\n"),
        ("  _path: /a\n  tags:\n    - x\n  z: 1\n", "tags", ["w"], "  _path: /a\n  tags:\n    - w\n  z: 1\n"),
        (
            "tags: # t\n# c\n- 'x' # x\n- z\n_path: /a\n",
            "tags",
            ["w", "x", "z"],
            "tags: # t\n- w\n# c\n- 'x' # x\n- z\n_path: /a\n",
        ),
        ("_path: /a\ntags:\n- x\n- y", "tags", ["x", "y", "z"], "_path: /a\ntags:\n- x\n- y\n- z\n"),
        ("_path: /a\ntags:\n- x\n- # odd\n  y\n", "tags", ["x"], "_path: /a\ntags:\n- x\n"),
    ],
)
def test_an_edit_changes_the_lines_of_its_key_and_no_others(
    before: str, key: str, value: str | list[str], after: str
) -> None:
    mark = "---\r\n" if "\r\n" in before else "---\n"
    assert set_key(mark + before, key, value, HERE) == mark + after
    assert set_key(mark + after, key, value, HERE) == mark + after  # once is enough


@pytest.mark.req("DB-10")
def test_a_key_is_taken_away_with_its_lines_and_its_comment_stays() -> None:
    before = "---\n_path: /a\n# why\nnote: |\n  x\n  y\nz: 1\n"
    assert unset_key(before, "note", HERE) == "---\n_path: /a\n# why\nz: 1\n"
    assert unset_key(before, "none", HERE) == before


def test_an_edit_that_would_change_another_value_is_refused() -> None:
    """Without the line between them, the comment would be a part of the text above."""
    with pytest.raises(SpanielError) as caught:
        unset_key("---\n_path: /a\na: |\n  text\nb: 1\n  # indented\nc: 2\n", "b", HERE)
    assert "edit it by hand" in caught.value.message


@pytest.mark.parametrize(
    "edit", [lambda text: set_key(text, "b", "c", HERE), lambda text: unset_key(text, "_path", HERE)]
)
def test_a_record_within_braces_is_not_edited_by_lines(edit: Callable[[str], str]) -> None:
    with pytest.raises(SpanielError) as caught:
        edit("--- {_path: /a}\n")
    assert "within braces" in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["no", "1e5", "0x1F", "12:30", "2026-11-16", "~", "null", ".inf", "-1", "1_000", "", " a", "a ", "a: b", "a #b",
     "'", "it's", '"', "[a]", "{a}", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "- a", "? a", "a:", "é", "😀",
     "a\tb", "a\nb", "\x07", "\u2028", "\\", "1" * 64, "1" * 30 + "e" + "2" * 33, HASH, "/a?b=c&d", "<<", "=",
     "text/html; charset=utf-8", "true", "yes", "on", "Y", "0o17", "0b1", "1.", "1.5", "+.5", "190:20:30",
     "2001-12-14t21:59:43.10-05:00"],
)  # fmt: skip
def test_any_text_is_written_so_that_it_is_read_again_and_by_others(text: str) -> None:
    import yaml

    written = f"---\n_path: /a\nx: {scalar(text)}\n"
    assert outline(written, HERE).keys["x"] == text
    assert yaml.safe_load(written)["x"] == text


@pytest.mark.req("DB-13")
def test_hash_is_quoted_only_if_necessary() -> None:
    assert scalar(HASH) == HASH
    assert scalar("1" * 64) == f"'{'1' * 64}'"
    assert scalar("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")[0] == "2"


@pytest.mark.req("DB-08")
def test_a_move_keeps_all_that_a_record_says(tmp_path: Path) -> None:
    found = database(
        tmp_path,
        a_example=b"---\n---\n# why\n_path: /old # here\nnote: |\n  x\n",
        b_example=b"---\r\n---\r\n_path: /z\r\n",
    )
    with found.editing() as editor:
        assert editor.move("http://a.example/old", "http://a.example/new").is_new
    assert (tmp_path / "a.example.yaml").read_bytes() == b"---\n---\n# why\n_path: /new # here\nnote: |\n  x\n"
    with found.editing() as editor:
        editor.move("http://a.example/new", "http://b.example/a?b")
    assert not (tmp_path / "a.example.yaml").exists()
    assert (tmp_path / "b.example.yaml").read_bytes() == (
        b"---\r\n---\r\n# why\r\n_path: /a?b # here\r\nnote: |\r\n  x\r\n---\r\n_path: /z\r\n"
    )


def test_a_move_onto_another_record_or_from_nowhere_changes_nothing(tmp_path: Path) -> None:
    found = database(tmp_path, a_example=b"---\n---\n_path: /a\n---\n_path: /b\n--- {_path: /c}\n")
    before = (tmp_path / "a.example.yaml").read_bytes()
    with found.editing() as editor:
        for old, new, result in (("/a", "/b", "already"), ("/x", "/y", "no record"), ("/c", "/d", "within braces")):
            with pytest.raises(SpanielError) as caught:
                editor.move(f"http://a.example{old}", f"http://a.example{new}")
            assert result in caught.value.message
        assert not editor.move("http://a.example/a", "http://a.example/a").is_new
    assert (tmp_path / "a.example.yaml").read_bytes() == before


@pytest.mark.req("DB-08")
def test_a_new_record_stands_before_the_first_that_sorts_after_it() -> None:
    edited = draft(WILD)
    edited.add("/B", {})
    paths = [record.path for record in read_file(edited.text(), "f", "example.com").records]
    assert paths == sorted([*paths])
    unsorted = draft(b"---\n---\n_path: /m\n---\n_path: /z\n---\n_path: /a\n")
    unsorted.add("/n", {})
    assert [r.path for r in read_file(unsorted.text(), "f", "e.example").records] == ["/m", "/n", "/z", "/a"]


@pytest.mark.req("DB-12")
def test_file_is_created_as_specified_and_removed_when_empty(tmp_path: Path) -> None:
    found = database(tmp_path)
    with found.editing() as editor:
        editor.add("http://example.com")
    assert (tmp_path / "example.com.yaml").read_bytes() == MINIMAL
    with found.editing() as editor:
        assert editor.remove("http://example.com/")
    assert not (tmp_path / "example.com.yaml").exists()


def test_file_with_content_and_unchanged_file_stay(tmp_path: Path) -> None:
    found = database(tmp_path, a_example=b"---\ncnames:\n- b.example\n---\n_path: /\n", bare_example=b"---\n")
    with found.editing() as editor:
        assert editor.remove("http://b.example/")
        assert not editor.remove("http://bare.example/")
    assert (tmp_path / "a.example.yaml").read_bytes() == b"---\ncnames:\n- b.example\n"
    assert (tmp_path / "bare.example.yaml").read_bytes() == b"---\n"


def test_move_writes_the_target_before_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = database(tmp_path, a_example=b"---\n---\n_path: /1\n", z_example=MINIMAL)
    order: list[str] = []
    real = files.write_text

    def watched(folder: OpenFolder, name: str, text: str, known: files.Version | None) -> None:
        order.append(name)
        real(folder, name, text, known)

    monkeypatch.setattr(files, "write_text", watched)
    with found.editing() as editor:
        editor.add("http://a.example/much-longer-than-what-goes")
        editor.move("http://a.example/1", "http://z.example/1")
        editor.move("http://z.example/", "http://m.example/")
        with pytest.raises(SpanielError) as caught:
            editor.move("http://m.example/", "http://a.example/2")
    assert "make that two edits" in caught.value.message
    assert order == ["m.example.yaml", "z.example.yaml", "a.example.yaml"]
    assert {record.url for record in found} == {
        "http://a.example/much-longer-than-what-goes", "http://m.example/", "http://z.example/1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "key", ["no", "a: b", "a b", "é", "'", "#x", "- x", "a\nb", "<<", "0x1", "\u2028", "{", "x" * 900]
)
def test_any_key_is_written_so_that_it_is_read_again(tmp_path: Path, key: str) -> None:
    found = database(tmp_path)
    with found.editing() as editor:
        editor.add("http://example.com/", {key: "1"})
        editor.add("http://example.com/b")
        editor.set("http://example.com/b", key, ["2"])
    assert [dict(record.keys) for record in found] == [{"_path": "/", key: "1"}, {"_path": "/b", key: ["2"]}]


@pytest.mark.parametrize(
    "keys", [{"content-length": "x"}, {"x" * 2_000: "1"}, {"a": "\ud800"}, {"content-sha256": "1"}]
)
def test_keys_that_cannot_stand_are_refused_and_nothing_is_written(tmp_path: Path, keys: dict[str, str]) -> None:
    found = database(tmp_path, example_com=MINIMAL)
    with found.editing() as editor:
        for url in ("http://example.com/", "http://example.com/new"):
            with pytest.raises(SpanielError):
                editor.add(url, keys)
            with pytest.raises(SpanielError):
                editor.add(url, {"a": "fine", **keys})
        with pytest.raises(SpanielError):
            editor.add("https://new.example/", keys)
        assert editor.find("http://example.com/new") is None
    assert contents(tmp_path) == {"example.com.yaml": MINIMAL}


def test_a_path_is_not_set_but_moved(tmp_path: Path) -> None:
    with database(tmp_path, example_com=MINIMAL).editing() as editor, pytest.raises(SpanielError) as caught:
        editor.set("http://example.com/", "_path", "/b")
    assert "move it" in caught.value.message


def test_a_record_that_cannot_be_edited_is_told_by_its_own_line(tmp_path: Path) -> None:
    found = database(tmp_path, example_com=b"---\n---\n_path: /\n--- {_path: /a}\n")
    with found.editing() as editor, pytest.raises(SpanielError) as caught:
        editor.set("http://example.com/a", "note", "x")
    assert f"{tmp_path}/example.com.yaml:4:1: the document stands within braces" in caught.value.message

"""What a file says: metadata and records, typed; and what breaks the format, by file, line, column and reason."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from spaniel import registry
from spaniel.errors import Code, SpanielError
from spaniel.registry.folder import stranger
from spaniel.registry.host_file import read_file
from spaniel.registry.yaml_text import LARGEST_FILE, LONGEST_DOCUMENT, MAX_DOCUMENTS, decode, read_plain, split
from tests.registry.files import HASH, MINIMAL, ODDITIES, WILD, database


def refused(raw: bytes) -> str:
    """The complaint about a file of example.com, which must be about the input and nothing worse."""
    with pytest.raises(SpanielError) as caught:
        read_file(decode(raw, "example.com.yaml"), "example.com.yaml", "example.com")
    assert caught.value.code is Code.BAD_ARGS
    return caught.value.message


def keys(record: str) -> dict[str, object]:
    return dict(read_file(f"---\n---\n{record}", "f", "example.com").records[0].keys)


@pytest.mark.req("DB-01", "DB-12")
def test_the_documents_minimal_file_has_one_record_and_says_nothing_else(tmp_path: Path) -> None:
    [record] = database(tmp_path, example_com=MINIMAL)
    assert (record.url, record.host, record.path, dict(record.keys)) == (
        "http://example.com/",
        "example.com",
        "/",
        {"_path": "/"},
    )
    assert (record.file, record.line) == (str(tmp_path / "example.com.yaml"), 2)


@pytest.mark.req("DB-01")
def test_files_have_one_host_each_and_are_sorted_by_name(tmp_path: Path) -> None:
    found = database(tmp_path, b_example=MINIMAL, a_example=b"---\n---\n_path: /x\n---\n_path: /y?z=1\n")
    assert [record.url for record in found] == [
        "http://a.example/x",
        "http://a.example/y?z=1",
        "http://b.example/",
    ]
    assert [record.line for record in found] == [2, 4, 2]


@pytest.mark.req("DB-02", "DB-06", "DB-07", "DB-10", "DB-13")
def test_files_as_they_are_found_in_the_world_are_read() -> None:
    file = read_file(WILD.decode(), "f", "example.com")
    assert file.metadata.cnames == ("cdn.example.com", "other.example", "www.example.com")
    assert (file.metadata.https, file.metadata.case_sensitive_paths) == (True, True)
    assert [record.url for record in file.records] == [
        "https://example.com/",
        "https://example.com//double//slash",
        "https://example.com/A%20b?x=1&y=%7B2%7D",
        "https://example.com/a%20b?x=1&y=%7B2%7D",
        "https://example.com/m51.txt",
    ]
    bare, _, labelled, gone, static = file.records
    assert (bare.content_length, bare.content_sha256, bare.categories) == (None, None, ())
    assert labelled.categories == ("content-type-change-ok", "redirect-ok")
    assert (gone.is_deprecated, gone.content_type, labelled.is_deprecated) == (True, "X-301-Redirect", False)
    assert (static.content_length, static.content_sha256) == (1650240, HASH)
    assert static.content_type == "text/plain; charset=utf-8"


@pytest.mark.req("DB-01")
@pytest.mark.parametrize("name", ODDITIES)
def test_every_oddity_is_read_and_its_documents_join_to_the_file(name: str) -> None:
    text = ODDITIES[name].decode()
    parts = split(text, "f")
    assert parts.preamble + "".join(document.text for document in parts.documents) == text
    file = read_file(text, "f", "example.com")
    lines = text.removeprefix("\ufeff").split("\n")
    assert all(lines[record.line - 1].startswith("---") for record in file.records)


def test_the_two_ways_to_read_a_record_say_the_same() -> None:
    """The quick one knows fewer forms; what it reads, libyaml reads alike."""
    from spaniel.registry.outline import outline
    from spaniel.registry.yaml_text import Position

    known = 0
    for raw in ODDITIES.values():
        for document in split(raw.decode(), "f").documents:
            if (quick := read_plain(document.text)) is not None:
                known += 1
                assert list(quick.items()) == list(outline(document.text, Position("f")).keys.items())
    assert known > 20


@pytest.mark.parametrize(
    "value",
    [
        "/a:",
        "/a: b",
        "/a #b",
        "- a",
        "/a :",
        "'a'b'",
        "'a b'",
        "!x",
        "&x",
        "*x",
        "|",
        ">",
        "/a  b",
        "{",
        "[a]",
        "@",
        '"x"',
    ],
)
def test_what_yaml_could_read_otherwise_is_not_read_quickly(value: str) -> None:
    assert read_plain(f"---\n_path: {value}\n") is None


@pytest.mark.req("DB-13")
@pytest.mark.parametrize("name", ["hash of digits", "hash like a float", "words that YAML guesses"])
def test_scalars_stay_the_text_that_they_are(name: str) -> None:
    [record] = read_file(ODDITIES[name].decode(), "f", "example.com").records
    text = ODDITIES[name].decode()
    assert all(f"{key}: {value}\n" in text for key, value in record.keys.items())


@pytest.mark.req("DB-13")
def test_a_hash_is_lower_case_to_whoever_asks() -> None:
    [record] = read_file(ODDITIES["hash in capitals"].decode(), "f", "example.com").records
    assert record.content_sha256 == HASH


@pytest.mark.req("DB-13")
@pytest.mark.parametrize(
    ("metadata", "folder", "scheme"),
    [
        ("", "http", "http"),
        ("", "https", "https"),
        ("https: true\n", "http", "https"),
        ("https: false\n", "https", "http"),
        ("https: True\n", "http", "https"),
    ],
)
def test_the_scheme_is_the_files_else_the_folders(metadata: str, folder: str, scheme: str) -> None:
    file = read_file(f"---\n{metadata}---\n_path: /\n", "f", "example.com", folder)
    assert file.records[0].url == f"{scheme}://example.com/"


@pytest.mark.req("DB-05", "DB-11", "DB-13")
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("note: x\n", "example.com.yaml:2:1: the record has no _path"),
        ("", "example.com.yaml:2:1: the record has no _path"),
        ("a: b\n_path: index.html\n", "example.com.yaml:4:1: _path must begin with '/'"),
        ("_path: [/a]\n", "example.com.yaml:3:1: _path must begin with '/'"),
        ("_path:\n", "example.com.yaml:3:1: _path must begin with '/'"),
        ("_path: http://example.com/\n", "example.com.yaml:3:1: _path must begin with '/'"),
        ("_path: /a#b\n", "example.com.yaml:3:1: _path has a fragment"),
        ("_path: /a\n_path: /b\n", "example.com.yaml:4:1: the key '_path' stands here twice"),
        ("_path: /a\n---\n_path: /a\n", "example.com.yaml:5:1: the _path '/a' has a record already, in line 2"),
        ("- _path: /a\n", "example.com.yaml:3:1: a document holds keys and their values"),
        ("just text\n", "example.com.yaml:3:1: a document holds keys and their values"),
        ("''\n", "example.com.yaml:3:1: a document holds keys and their values"),
        ('"~"\n', "example.com.yaml:3:1: a document holds keys and their values"),
        ("_path: /a\ncontent-length: 0x10\n", "example.com.yaml:4:1: content-length must be a whole number"),
        ("_path: /a\ncontent-length: 010\n", "example.com.yaml:4:1: content-length must be a whole number"),
        ("_path: /a\ncontent-length: -1\n", "example.com.yaml:4:1: content-length must be a whole number"),
        ("_path: /a\ncontent-length: 1_0\n", "example.com.yaml:4:1: content-length must be a whole number"),
        (f"_path: /a\ncontent-length: {'9' * 5000}\n", "example.com.yaml:4:1: content-length must be a whole number"),
        ("_path: /a\ncontent-sha256: abc\n", "example.com.yaml:4:1: content-sha256 must be 64 hexadecimal digits"),
        ("_path: /a\ncontent-type: [x]\n", "example.com.yaml:4:1: content-type must be text"),
        ("_path: /a\ncategories: x\n", "example.com.yaml:4:1: categories must be a list"),
        ("_path: /a\ncategories:\n- [x]\n", "example.com.yaml:4:1: categories must be a list"),
        ("_path: /a\nx: &y 1\n", "example.com.yaml:4:4: an anchor"),
        ("_path: /a\nx: *y\n", "example.com.yaml:4:4: an alias"),
        ("_path: !!str /a\n", "example.com.yaml:3:8: a tag"),
        ("_path: ! /a\n", "example.com.yaml:3:8: a tag"),
        ("!!map\n_path: /a\n", "example.com.yaml:3:1: a tag"),
        ("<<: {_path: /a}\n", "example.com.yaml:3:1: a merge key"),
        ("? _path\n: /a\n", "example.com.yaml:3:3: a key that begins with '?'"),
        ("? [a]\n: b\n_path: /a\n", "example.com.yaml:3:3: a key is one word"),
        ("_path: /a\nx: {y: 1, y: 2}\n", "example.com.yaml:4:11: the key 'y' stands here twice"),
        ("_path: /a\n x: 1\n", "example.com.yaml:4:"),
        ("_path: 'unclosed\n", "example.com.yaml:"),
        ("_path: /a\n...\n_path: /b\n", "example.com.yaml:5:1: this is outside of the record"),
        ("_path: /a\nx: [1, 2\n", "example.com.yaml:5:1: did not find expected ',' or ']'"),
    ],
)
def test_a_broken_record_is_refused_with_line_column_and_reason(record: str, reason: str) -> None:
    assert refused(f"---\n---\n{record}".encode()).startswith(reason)


@pytest.mark.req("DB-02", "DB-11")
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("cnames:\n- example.com\n", ":2:1: 'example.com' is the file's own host"),
        ("cnames:\n- a.example\n- a.example\n", ":2:1: 'a.example' stands here twice"),
        ("cnames: a.example\n", ":2:1: cnames must be a list of hosts"),
        ("x: 1\ncnames:\n- WWW.Example.com\n", ":3:1: 'WWW.Example.com' must be written 'www.example.com'"),
        ("cnames:\n- bücher.example\n", ":2:1: 'bücher.example' must be written 'xn--bcher-kva.example'"),
        ("cnames:\n- http://a.example/\n", ":2:1: 'http://a.example/' is not a host"),
        ("cnames:\n- ../etc\n", ":2:1: '../etc' is not a host"),
        ("cnames:\n- ''\n", ":2:1: '' is not a host"),
        ("https: no\n", ":2:1: https must be true or false"),
        ("https: 1\n", ":2:1: https must be true or false"),
        ("case-sensitive-paths: [true]\n", ":2:1: case-sensitive-paths must be true or false"),
        ("_path: /\n", ":2:1: the first document is about the host"),
        ("- a\n", ":2:1: a document holds keys"),
    ],
)
def test_broken_metadata_are_refused_likewise(metadata: str, reason: str) -> None:
    assert refused(f"---\n{metadata}---\n_path: /\n".encode()).startswith(f"example.com.yaml{reason}")


@pytest.mark.req("DB-01", "DB-11")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", ":1:1: the file has no documents"),
        (b"# only a comment\n", ":1:1: the file has no documents"),
        (b"---\n---\n_path: /\xff\n", ":3:9: the file is not UTF-8 text"),
        ("---\n---\n_path: /\n".encode("utf-16"), ":1:1: the file is not UTF-8 text"),
        (b"---\n---\n_path: /a\x00b\n", ":3:10: a NUL byte: the file is not text, or is UTF-16; save it as UTF-8"),
        ("---\n---\n_path: /\n".encode("utf-16-le"), ":1:2: a NUL byte"),
        (
            b"---\n---\n_path: /a\n<<<<<<< HEAD\n---\n_path: /b\n=======\n>>>>>>> x\n",
            ":4:1: a merge has left a conflict here",
        ),
        (b"<<<<<<< HEAD\n---\n---\n_path: /b\n=======\n>>>>>>> x\n", ":1:1: a merge has left a conflict here"),
        (b"---\n---\n_path: /a\nx:\n\t- y\n", ":5:1: a tab, "),
        (b"---\n---\n_path: /a\nnote: a: b\n", ":4:8: a ':' where no key can stand; write a value with ': '"),
        (b"---\n---\n_path: /a\nwords\n", ":4:1: this is no 'key: value'"),
        (b"---\n---\n_path: /a\nx: - y\n", ":4:4: a '-' where no list can stand"),
        (b"---\n---\n_path: /a\n  x: y\n", ":4:4: a ':' where no key can stand"),
        (b"---\n---\n  _path: /a\n x: y\n", ":4:2: "),
        (b'---\n---\n_path: /a\nx: "y\n', ":4:4: a quotation mark is opened and not closed"),
        (b"---\n---\n_path: /a\nx: 'y\n---\n_path: /b\n", ":4:4: a quotation mark is opened and not closed"),
        (b'---\n---\n_path: /a\nx: "C:\\dir"\n', ":4:7: in double quotes"),
        (b"%YAML 1.2\n---\n---\n_path: /a\n", ":2:1: this is outside of the record; remove directives"),
        (b"---\n---\n_path: /a\x1bb\n", ":3:10: the character U+001B cannot stand here"),
        ("---\n---\n_path: /a\u2028b\n".encode(), ":3:10: the character U+2028 cannot stand here"),
        ("---\n---\n_path: /a\x85b\n".encode(), ":3:10: the character U+0085 cannot stand here"),
        ("---\n---\n_path: /a\ufffeb\n".encode(), ":3:10: the character U+FFFE cannot stand here"),
        (b"---\n---\n_path: /a\rnote: x\n", ":3:10: a line ends with CR alone"),
        (b"%YAML 1.1\n---\n---\n_path: /\n", ":"),
        (b"%TAG ! tag:example.com,2000:\n---\n--- !x\n_path: /\n", ":"),
    ],
)
def test_a_file_that_is_no_such_text_is_refused(raw: bytes, reason: str) -> None:
    assert refused(raw).startswith(f"example.com.yaml{reason}")


@pytest.mark.parametrize(
    "bomb",
    [
        "x: " + "[" * 60_000,
        "x: " + "{" * 60_000,
        "x: " + "{a: " * 15_000,
        "x:\n" + "\n".join(" " * depth + "y:" for depth in range(1, 300)),
        "x:\n  " + "- " * 30_000,
        "x:\n  " + "? " * 30_000,
        "x: " + "[" * 17 + "1" + "]" * 17,
        "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "x: " + "&a " * 20_000,
        "x: " + "!t " * 20_000,
        "x" * 60_000 + ": 1",
        'x: "' + "\\x41" * 15_000,
        "x: '" + "'" * 60_000,
    ],
)
def test_bombs_are_refused_and_take_no_memory(bomb: str) -> None:
    raw = f"---\n---\n_path: /a\n{bomb}\n".encode()
    tracemalloc.start()
    try:
        assert refused(raw)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert not refused_is_needed_for(b"---\n---\n_path: /a\nx: 1\n")  # the control


def refused_is_needed_for(raw: bytes) -> bool:
    try:
        read_file(decode(raw, "f"), "f", "example.com")
    except SpanielError:
        return True
    return False


def test_sixteen_levels_are_read_and_seventeen_are_not() -> None:
    def nested(levels: int) -> bytes:
        return f"---\n---\n_path: /a\nx: {'[' * levels}1{']' * levels}\n".encode()

    assert not refused_is_needed_for(nested(15))  # the record itself is one
    assert "more than 16 levels" in refused(nested(16))


def test_a_record_may_have_so_many_characters_and_no_more() -> None:
    def long(extra: int) -> bytes:
        record = "---\n_path: /a\nnote: \n"
        return f"---\n{record[:-1]}{'x' * (LONGEST_DOCUMENT - len(record) + extra)}\n".encode()

    assert not refused_is_needed_for(long(0))
    assert refused(long(1)).startswith("example.com.yaml:2:1: the record has more than 65,536 characters")


def test_a_file_of_marks_is_refused_before_it_takes_memory() -> None:
    text = "---\n" * (MAX_DOCUMENTS + 1)
    tracemalloc.start()
    try:
        assert "more than 250,000 records" in refused(text.encode())
        assert tracemalloc.get_traced_memory()[1] < 12 * len(text)
    finally:
        tracemalloc.stop()
    assert len(split("---\n" * 1_000, "f").documents) == 1_000  # the control
    assert "more than 16 MiB" in refused(b"#" * (LARGEST_FILE + 1))


@pytest.mark.req("DB-02", "DB-11")
@pytest.mark.parametrize("other", [b"---\ncnames:\n- www.example.com\n", MINIMAL])
def test_a_host_in_two_files_is_refused(other: bytes, tmp_path: Path) -> None:
    claims = b"---\ncnames:\n- www.example.com\n---\n_path: /\n"
    found = database(
        tmp_path, example_com=claims, **({"www_example_com": other} if other == MINIMAL else {"z_example": other})
    )
    with pytest.raises(SpanielError) as caught:
        list(found)
    assert "the cname 'www.example.com' belongs to" in caught.value.message
    reason: list[SpanielError] = []
    assert len(list(found.records(refused=reason.append))) == 1  # the others are read on
    assert len(reason) == 1


def test_a_folder_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SpanielError) as caught:
        registry.open(tmp_path / "none")
    assert "spaniel db init" in caught.value.message


def test_iterating_reads_file_by_file(tmp_path: Path) -> None:
    """What comes after a file is not read before it is asked for."""
    found = database(tmp_path, a_example=MINIMAL, b_example=b"broken")
    records = iter(found)
    assert next(records).url == "http://a.example/"
    with pytest.raises(SpanielError):
        next(records)


@pytest.mark.req("DB-01")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("EXAMPLE.ORG.YAML", "its name does not end with .yaml; should it be example.org.yaml?"),
        ("example.org.yml", "its name does not end with .yaml; should it be example.org.yaml?"),
        ("example.org.yaml.txt", "its name does not end with .yaml; should it be example.org.yaml?"),
        ("Example.org.yaml", "its name is not that of a host; should it be example.org.yaml?"),
        ("example org.yaml", "its name is not that of a host"),
        (".yaml", "its name is not that of a host"),
        ("example.org.yaml.BAK", "it looks like something that an editor has left behind"),
        (".~lock.example.org.yaml#", "it looks like something that an editor has left behind"),
        ("README.md", None),
        (".gitattributes", None),
        ("yaml", None),
    ],
)
def test_a_name_that_is_nearly_right_is_told_with_the_right_one(name: str, why: str | None) -> None:
    found = stranger(name)
    assert (found and found.why) == why

"""Any sequence of add, remove, move and format keeps the laws of the format."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from spaniel import registry
from spaniel.errors import SpanielError
from spaniel.registry.database import misfits, reformat
from spaniel.registry.host_file import formatted, read_file
from tests.registry.files import ODDITIES

HOSTS = ("a.example", "b.example", "www.a.example", "a.example:8080", "c.example")
MINDS_NO_CASE = "c.example"
MAIN = {"www.a.example": "a.example"}
START = (
    b"# kept by hand\n---\ncnames:\n- www.a.example\n---\n# first\n_path: /b # here\nX-Own: 'yes'\n---\n"
    b"_path: /a\nnote: |\n  # text\n\n  more\n"
)
KEPT = (b"# kept by hand\n", b"# first\n", b"X-Own: 'yes'\n", b"note: |\n  # text\n\n  more\n")
paths = st.text("abAB/?=&;%~é'\": #-", max_size=8).map(lambda text: "/" + text.replace("#", "").replace("%", "%25"))
texts = st.text(st.characters(codec="utf-8"), max_size=12)


class Databases(RuleBasedStateMachine):
    """A folder beside a model of it: the set of (host, path)."""

    urls: Bundle[str] = Bundle("urls")

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "a.example.yaml").write_bytes(START)
        (self.folder / f"{MINDS_NO_CASE}.yaml").write_bytes(b"---\ncase-sensitive-paths: false\n")
        self.registry = registry.open(self.folder)
        self.model = {("a.example", "/a"), ("a.example", "/b")}

    def teardown(self) -> None:
        self.temporary.cleanup()

    def spot(self, url: str) -> tuple[str, str]:
        found = self.registry.rules.spot(url)
        path, mark, query = found.path.partition("?")
        if found.host == MINDS_NO_CASE:
            path = re.sub("%..|[^%]+", lambda part: part[0] if part[0][0] == "%" else part[0].lower(), path)
        return MAIN.get(found.host, found.host), path + mark + query

    @initialize(target=urls)
    def known(self) -> str:
        return "http://a.example/b"

    @rule(target=urls, host=st.sampled_from(HOSTS), path=paths)
    def add(self, host: str, path: str) -> str:
        url = f"http://{host}{path}"
        with self.registry.editing() as editor:
            added = editor.add(url)
        assert added.is_new == (self.spot(url) not in self.model)
        self.model.add(self.spot(url))
        return url

    @rule(url=urls)
    def remove(self, url: str) -> None:
        with self.registry.editing() as editor:
            assert editor.remove(url) == (self.spot(url) in self.model)
        self.model.discard(self.spot(url))

    @rule(old=urls, new=urls, path=paths)
    def move(self, old: str, new: str, path: str) -> None:
        new = f"{new}{path}"
        source, target = self.spot(old), self.spot(new)
        possible = source in self.model and (target == source or target not in self.model)
        try:
            with self.registry.editing() as editor:
                editor.move(old, new)
        except SpanielError:
            assert not possible
        else:
            assert possible
            self.model = (self.model - {source}) | {target}

    @rule(url=urls, value=texts)
    def label(self, url: str, value: str) -> None:
        with self.registry.editing() as editor:
            assert editor.set(url, "label", value) == (self.spot(url) in self.model)
        if (record := self.registry.find(url)) is not None:
            assert record.keys["label"] == value

    @rule()
    def format(self) -> None:
        list(reformat(self.registry))
        assert not list(misfits(self.registry))

    @invariant()
    def the_records_are_those_of_the_model(self) -> None:
        records = list(self.registry)
        assert {(record.host, record.path) for record in records} == self.model
        assert len(records) == len(self.model)

    @invariant()
    def what_is_unknown_stays_with_its_record(self) -> None:
        raw = b"".join(path.read_bytes() for path in self.folder.glob("*.yaml"))
        assert START.splitlines()[0] in raw  # the metadata's file stays, whatever becomes of its records
        for record in self.registry:
            if "X-Own" in record.keys:
                assert record.keys["X-Own"] == "yes"
                assert KEPT[1] in raw
                assert KEPT[2] in raw
            if "note" in record.keys:
                assert KEPT[3] in raw

    @invariant()
    def new_records_are_in_order(self) -> None:
        for file in self.registry.files():
            if file.home.host != "a.example":  # that one began in disorder
                found = [record.path for record in file.records]
                assert found == sorted(found)


Databases.TestCase.settings = settings(max_examples=25, stateful_step_count=15)
TestDatabases = pytest.mark.req("DB-03", "DB-04", "DB-08", "DB-10")(Databases.TestCase)

keys = st.text("abcXYZ_-", min_size=1, max_size=6).filter(lambda key: key != "_path")
lines = st.sampled_from(
    ["{}: x\n", "{}: 'it''s'\n", "# c\n{}: y\n", "{}:\n- b\n- a\n", "{}: |\n  t\n\n", "{}: |+\n  t\n\n\n",
     "{}: >-\n  a\n  # b\n", "{}: [b, a]\n", "{}: {{b: 1}}\n", "{}:\n", "\n{}: z # c\n", '{}: "a\n  b"\n',
     "  # in\n{}: w\n", "{}:\n  n:\n  - m: 1\n"]
)  # fmt: skip


@st.composite
def records(draw: st.DrawFn) -> str:
    own = draw(st.lists(st.tuples(keys, lines), max_size=4, unique_by=lambda pair: pair[0]))
    path = f"_path: {draw(st.sampled_from(['/a', '/b', '/c', '/B', '/a?x']))}\n"
    parts = [form.format(key) for key, form in own]
    parts.insert(draw(st.integers(0, len(parts))), path)
    return "---\n" + "".join(parts) + draw(st.sampled_from(["", "# end\n", "\n", "...\n"]))


@pytest.mark.req("DB-03", "DB-10", "DB-11")
@settings(max_examples=150)
@given(st.lists(records(), max_size=4), st.booleans())
def test_formatting_keeps_every_value_and_every_line_and_is_a_fixed_point(found: list[str], crlf: bool) -> None:
    text = "---\n" + "".join(found)
    text = text.replace("\n", "\r\n") if crlf else text
    try:
        file = read_file(text, "f", "example.com")
    except SpanielError:
        return  # two of one path
    once = formatted(file)
    again = read_file(once, "f", "example.com")
    assert formatted(again) == once
    assert sorted(once.splitlines()) == sorted(text.splitlines())
    assert {record.path: dict(record.keys) for record in again.records} == {
        record.path: dict(record.keys) for record in file.records
    }


words = st.sampled_from(["a", "b c", "'it''s'", '"x, \\" ["', "Z", "'1'", '"no"', "ñ", "a-b", "~", "x:y", "'[b]'"])
between = st.sampled_from([",", ", ", " ,", ",\n  ", " ,\t"])


@pytest.mark.req("DB-03", "DB-10", "DB-11")
@settings(max_examples=150)
@given(st.lists(st.tuples(words, between), max_size=6), st.sampled_from(["", " ", "\n  "]), st.booleans())
def test_a_list_in_brackets_is_sorted_and_no_sign_of_it_is_lost(
    items: list[tuple[str, str]], space: str, comma: bool
) -> None:
    inside = "".join(word + sign for word, sign in items)
    inside = inside if comma else inside[: -len(items[-1][1])] if items else ""
    text = f"---\n---\n_path: /\ncategories: [{space}{inside}{space}] # why\nz: 1\n"
    file = read_file(text, "f", "example.com")
    once = formatted(file)
    again = read_file(once, "f", "example.com")
    assert formatted(again) == once
    assert sorted(once) == sorted(text)
    assert list(again.records[0].categories) == sorted(file.records[0].categories)
    assert once.endswith("] # why\nz: 1\n")


@pytest.mark.req("DB-10")
@settings(max_examples=60)
@given(st.sampled_from(sorted(ODDITIES)), st.lists(paths, max_size=3, unique=True))
def test_what_is_added_and_removed_again_leaves_no_trace(name: str, new: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "example.com.yaml"
        file.write_bytes(ODDITIES[name])
        found = registry.open(temporary)
        had = {record.path for record in found}
        spots = {found.rules.spot(f"http://example.com{path}").path for path in new} - had
        with found.editing() as editor:
            for path in sorted(spots):
                assert editor.add(f"http://example.com{path}").is_new
        assert {record.path for record in found} == had | spots
        with found.editing() as editor:
            for path in sorted(spots):
                assert editor.remove(f"http://example.com{path}")
        end = b"\r\n" if b"\r\n" in ODDITIES[name] else b"\n"
        assert file.read_bytes().removesuffix(end) == ODDITIES[name].removesuffix(end)

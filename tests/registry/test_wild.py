"""Databases as a plain YAML dumper writes them, some hundred records of every sort: read, listed, edited, kept."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from spaniel import registry
from spaniel.registry.database import Registry, Selection, misfits, reformat
from tests.registry.files import contents

TYPES = ("text/html; charset=utf-8", "text/plain", "X-301-Redirect", "X-302-Redirect", "application/x-javascript")
WORDS = (
    *("frontend", "deprecated", "redirect-ok", "content-type-change-ok", "v5 client", "a:b", "no", "null", "2019"),
    *("~", "a#b", "- x", "ñu", "1e5", "http://x/", "it's", ""),
)
PATHS = (
    *(
        "/",
        "//double//slash",
        "/A",
        "/a",
        "/a%20b",
        "/a%20B?x=1&y=%7B2%7D",
        "/x;p=1;q=2?z",
        "/foo?a=b:c",
        "/foo:",
        "/foo?",
    ),
    *(
        "/it's",
        "/q?s='x'",
        '/q?s="x"',
        "/a?b=[1]&c={2}",
        "/w?x=a,b;c|d",
        "/e?x=!&y=*&z=@",
        "/100%25",
        "/%E3%81%82",
        "/~u/",
    ),
    *(
        "/a/%2e%2e/b",
        "/x?y=`z`",
        "/-",
        "/?",
        "/?q",
        "/x?\\y",
        "/a|b",
        "/ñ",
        "/long?" + "&".join(f"k{i}=v" for i in range(300)),
    ),
    *("/get.aspx?f=Sample%20Tour.xml&to=http://x.org/docs/a.wtt", "/x?k=null", "/x?k=~", "/&", "/x?=", "/a^b"),
    *(f"/img/{name}{number:03}.png" for name in ("Earth", "moon", "GAL_", "gal_") for number in range(60)),
)
Docs = list[dict[str, Any]]


def documents(dice: random.Random, count: int) -> Docs:
    found = []
    for path in sorted(dice.sample(PATHS, count)):
        record: dict[str, Any] = {"_path": path, "content-type": dice.choice(TYPES)}
        if dice.random() < 0.5:
            record["categories"] = sorted(dice.sample(WORDS, dice.randint(1, 3)))
        if dice.random() < 0.4:
            digest = hashlib.sha256(path.encode()).hexdigest()
            digits = f"{int(digest, 16):078}"[:64]  # which YAML may take for a number
            record |= {"content-length": dice.randrange(10**9), "content-sha256": dice.choice((digest, digits))}
        found.append(record)
    return found


def dumped(documents: Docs) -> bytes:
    return yaml.dump_all(documents, explicit_start=True, sort_keys=True, encoding="utf-8")


@pytest.fixture(scope="module")
def model() -> dict[str, Docs]:
    dice = random.Random(11)
    first = {"case-sensitive-paths": False, "cnames": ["cdn.world.example", "open.example", "www.world.example"]}
    return {
        "forum.world.example": [{"https": True}, *documents(dice, 60)],
        "files.example": [{"https": False}, *documents(dice, 80)],
        "world.example": [first, *documents(dice, len(PATHS))],
        "world.example.au": [{}, *documents(dice, 30)],
        "empty.example": [{}],
    }


@pytest.fixture(scope="module")
def files(model: dict[str, Docs]) -> dict[str, bytes]:
    return {f"{host}.yaml": dumped(documents) for host, documents in model.items()}


@pytest.fixture
def wild(tmp_path: Path, files: dict[str, bytes]) -> Registry:
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    return registry.open(tmp_path)


def urls(model: dict[str, Docs], *hosts: str) -> list[tuple[str, dict[str, Any]]]:
    """Every URL with its record: by host, in the order of the file."""
    return [
        (f"{'https' if metadata.get('https') else 'http'}://{host}{record['_path']}", record)
        for host, (metadata, *records) in sorted(model.items())
        for record in records
        if not hosts or host in hosts
    ]


@pytest.mark.req("DB-13")
@pytest.mark.parametrize("word", [None, *WORDS])
def test_what_is_listed_is_what_the_files_say(wild: Registry, model: dict[str, Docs], word: str | None) -> None:
    only = Selection() if word is None else Selection(categories=(word,))
    wanted = [url for url, record in urls(model) if word is None or word in record.get("categories", ())]
    assert [record.url for record in wild.records(only)] == wanted
    kept = [url for url, record in urls(model) if "deprecated" not in record.get("categories", ()) and url in {*wanted}]
    assert [record.url for record in wild.records(only._replace(deprecated=False))] == kept
    assert wanted or word is None


def test_hosts_are_asked_for_by_any_name_and_paths_by_their_beginning(wild: Registry, model: dict[str, Docs]) -> None:
    found = wild.records(Selection(hosts=("open.example",), prefix="/img/G"))
    wanted = [url for url, record in urls(model, "world.example") if record["_path"].startswith("/img/G")]
    assert [record.url for record in found] == wanted
    assert len(wanted) == 60


@pytest.mark.req("DB-07", "DB-10")
def test_every_value_is_read_as_the_text_that_it_is(wild: Registry, model: dict[str, Docs]) -> None:
    for found, (_, record) in zip(wild, urls(model), strict=True):
        assert found.keys == {key: value if isinstance(value, list) else str(value) for key, value in record.items()}


@pytest.mark.req("DB-03", "DB-11")
def test_what_a_dumper_writes_is_in_form(wild: Registry) -> None:
    before = contents(Path(wild.folder))
    assert not list(misfits(wild))
    assert not list(reformat(wild))
    assert contents(Path(wild.folder)) == before


@pytest.mark.req("DB-08", "DB-10")
def test_what_is_there_is_known_and_an_edit_taken_back_leaves_every_byte(
    wild: Registry, model: dict[str, Docs]
) -> None:
    before = contents(Path(wild.folder))
    with wild.editing() as editor:
        for url, _ in urls(model):
            assert not editor.add(url).is_new
            assert editor.find(url)
    assert contents(Path(wild.folder)) == before
    plain = [url for url, _ in urls(model, "forum.world.example", "files.example") if wild.rules.spot(url).url == url]
    assert len(plain) > 100
    with wild.editing() as editor:
        for url in plain:
            editor.move(url, f"{url}&moved")
            editor.add(f"{url}&new", categories=["x"])
    assert contents(Path(wild.folder)) != before
    with wild.editing() as editor:
        for url in plain:
            editor.move(f"{url}&moved", url)
            assert editor.remove(f"{url}&new")
    assert contents(Path(wild.folder)) == before


@pytest.mark.req("DB-08", "DB-12")
def test_what_is_added_reads_for_a_plain_loader_as_it_was_meant(
    wild: Registry, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("copy")
    with registry.open(folder).editing() as editor:
        for record in wild:
            editor.add(
                record.url,
                {key: _written(value) for key, value in record.keys.items() if key != "_path"},
                canonical=True,
            )
    for name, raw in contents(folder).items():
        first, *records = yaml.safe_load_all(raw)
        host = name.removesuffix(".yaml")
        assert (first or {}) == ({"https": True} if host == "forum.world.example" else {})
        for loaded, record in zip(records, (record for record in wild if record.host == host), strict=True):
            assert {key: value for key, value in loaded.items() if key != "content-length"} == {
                key: value for key, value in record.keys.items() if key != "content-length"
            }
            assert loaded.get("content-length") == record.content_length


def _written(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 12 else value

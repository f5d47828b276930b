"""An entry on disk: the SRD's JSON, and no byte of it may change unnoticed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.cache import Validators, key_for
from spaniel.cache.entry import compose, decode, encode
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.testing import FakeClock
from tests.cache.harness import PAGE, content, file_of, quick

THEN = datetime(2026, 1, 10, 12, tzinfo=UTC)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def entry_bytes(value: object) -> bytes:
    return encode(compose(PAGE, value, THEN, timedelta(days=7), Validators()))


LARGE = entry_bytes({"markdown": '# Title\n\nSome "text" with é and 漢字.\n' * 1_500})


@pytest.mark.req("FR-WF-16c")
def test_the_file_is_the_json_that_the_srd_shows(folder: Path) -> None:
    with quick(folder) as cache:
        assert cache.put(PAGE, {"title": "A page"}, THEN) is None
    stored = json.loads(file_of(folder, PAGE).read_bytes())
    assert stored.pop("checksum")
    assert stored.pop("ttl_hours") == 168
    assert stored == {
        "version": 1,
        "canonical_url": "https://example.com/page",
        "rendering_method": "http",
        "fetched_at": "2026-01-10T12:00:00Z",
        "expires_at": "2026-01-17T12:00:00Z",
        "content": {"title": "A page"},
    }


@pytest.mark.req("FG-37")
def test_it_has_room_for_what_a_conditional_request_needs(folder: Path, clock: FakeClock) -> None:
    asked = Validators(etag='W/"x"', last_modified="Sat, 10 Jan 2026 12:00:00 GMT", content_hash="ab" * 32)
    with quick(folder, clock) as cache:
        cache.put(PAGE, {}, ttl=timedelta(hours=6), validators=asked)
        entry = cache.get(PAGE)
    assert entry is not None
    assert (entry.etag, entry.last_modified, entry.content_hash) == asked
    assert entry.ttl_hours == 6
    assert entry.expires_at - entry.fetched_at == timedelta(hours=6)


@pytest.mark.req("FG-37", "FR-WF-16h")
@pytest.mark.parametrize("etag", ['"\udcff"', '"' + "x" * 40_000 + '"'], ids=["half a surrogate pair", "too long"])
def test_a_page_is_kept_without_a_validator_that_cannot_be(folder: Path, etag: str) -> None:
    with quick(folder) as cache:
        assert cache.put(PAGE, 1, validators=Validators(etag=etag, last_modified="then")) is None
        entry = cache.get(PAGE)
    assert entry is not None
    assert (content(entry), entry.etag, entry.last_modified) == (1, None, "then")
    for path in folder.glob("index.sqlite3*"):
        path.unlink()
    with CacheMaintenance(str(folder)) as upkeep:
        assert [row.url for row in upkeep.entries()] == [PAGE.canonical_url], "what leads the file is short enough"


@given(JSON_VALUES, st.text())
def test_what_was_put_comes_back_whatever_it_is(value: object, etag: str) -> None:
    key = key_for('https://example.com/?q=,"content":{}', "browser", "ingest", 2)
    raw = encode(compose(key, value, THEN, timedelta(days=1), Validators(etag=etag)))
    entry = decode(raw)
    assert content(entry) == value == json.loads(raw)["content"]
    assert (entry.etag, entry.is_for(key), entry.is_for(PAGE)) == (etag, True, False)


def test_any_flipped_bit_of_an_entry_is_detected() -> None:
    raw = entry_bytes({"a": "content", "b": [1, 2]})
    decode(raw)  # the control
    for place in range(len(raw)):
        for bit in range(8):
            with pytest.raises(ValueError, match="checksum"):
                decode(raw[:place] + bytes([raw[place] ^ 1 << bit]) + raw[place + 1 :])


def test_without_the_checksum_a_flipped_byte_is_not_detected() -> None:
    raw = entry_bytes({"price": 1}).replace(b'"price":1', b'"price":9')
    assert json.loads(raw)["content"] == {"price": 9}
    with pytest.raises(ValueError, match="checksum"):
        decode(raw)


@given(st.integers(0, len(LARGE) - 1), st.integers(1, 255))
def test_a_changed_byte_of_a_large_entry_is_detected(place: int, change: int) -> None:
    with pytest.raises(ValueError, match="checksum"):
        decode(LARGE[:place] + bytes([LARGE[place] ^ change]) + LARGE[place + 1 :])


@given(st.integers(0, len(LARGE) - 1), st.binary(max_size=9))
def test_a_cut_or_spliced_entry_is_detected(place: int, added: bytes) -> None:
    for changed in (LARGE[:place], LARGE + added + b"\n", LARGE[:place] + b"\0" * (len(LARGE) - place)):
        with pytest.raises(ValueError, match="checksum"):
            decode(changed)


def test_every_flipped_byte_of_a_file_is_a_miss_and_a_warning(folder: Path, warnings: list[str]) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, {"a": 1})
        path = file_of(folder, PAGE)
        raw = path.read_bytes()
        for place in range(len(raw)):
            path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x20]) + raw[place + 1 :])
            assert cache.get(PAGE) is None
        assert len(warnings) == len(raw)
        assert set(warnings) == {"cache_read_failed: the checksum does not match: the file is damaged"}
        path.write_bytes(raw)
        assert content(cache.get(PAGE)) == {"a": 1}


def test_an_entry_of_another_version_is_a_miss(folder: Path, warnings: list[str]) -> None:
    from zlib import crc32

    with quick(folder) as cache:
        cache.put(PAGE, {})
        path = file_of(folder, PAGE)
        rest = path.read_bytes()[22:].replace(b'"version":1', b'"version":2')
        path.write_bytes(b'{"checksum":"%08x"' % crc32(rest) + rest)
        assert cache.get(PAGE) is None
        assert "version 2" in warnings[0]
        assert cache.put(PAGE, {"new": 1}) is None
        assert content(cache.get(PAGE)) == {"new": 1}


def test_a_file_under_another_entrys_name_is_a_miss(folder: Path, warnings: list[str]) -> None:
    other = key_for("https://example.com/other")
    with quick(folder) as cache:
        cache.put(PAGE, {"secret": 1})
        cache.put(other, {})
        file_of(folder, PAGE).replace(file_of(folder, other))
        assert cache.get(other) is None
        assert warnings == ["cache_read_failed: it holds another page than its name says"]

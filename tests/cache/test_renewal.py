"""An entry that proved to be still right: new times where it lies, and whole at every moment."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spaniel.cache import CacheEntry, PageCache, Validators, key_for
from spaniel.cache.folder import PAGE as HEAD_PAGE
from spaniel.testing import FakeClock
from tests.cache.harness import PAGE, content, file_of, problems, quick, run_sql, temporaries
from tests.cache.test_processes import finish, start

DAY = timedelta(days=1)


def put(cache: PageCache, clock: FakeClock, body: object = "words") -> CacheEntry:
    assert cache.put(PAGE, body, clock.now(), DAY, Validators('"v1"', "Mon", "hash")) is None
    entry = cache.peek(PAGE)
    assert entry is not None
    return entry


@pytest.mark.req("FG-40")
def test_a_renewed_entry_has_new_times_and_its_old_content(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        entry = put(cache, clock)
        inode = os.stat(file_of(folder, PAGE)).st_ino
        clock.advance(2 * DAY.total_seconds())
        assert cache.get(PAGE) is None
        assert cache.renew(PAGE, entry, clock.now(), DAY, Validators('"v2"', "Mon", "hash")) is None
        found = cache.get(PAGE)
        assert found is not None
        assert (found.fetched_at, found.expires_at) == (clock.now(), clock.now() + DAY)
        assert (found.etag, found.last_modified, found.content_hash, content(found)) == ('"v2"', "Mon", "hash", "words")
        assert os.stat(file_of(folder, PAGE)).st_ino == inode  # where it lies
    times = run_sql(folder, "SELECT fetched, expires FROM entries")
    assert times == [(int(clock.time()), int(clock.time() + DAY.total_seconds()))]
    assert not problems(folder)


@pytest.mark.req("FG-40")
@pytest.mark.parametrize("case", ["tag", "life", "content", "long"])
def test_what_does_not_fit_into_the_old_head_is_written_anew(folder: Path, clock: FakeClock, case: str) -> None:
    key = key_for("https://example.com/" + "x" * HEAD_PAGE) if case == "long" else PAGE
    with quick(folder, clock) as cache:
        cache.put(key, "words", clock.now(), DAY, Validators('"v1"'))
        entry = cache.peek(key)
        assert entry is not None
        inode = os.stat(file_of(folder, key)).st_ino
        clock.advance(1)
        tag = '"version 2"' if case == "tag" else '"v2"'
        life, new = DAY * (10 if case == "life" else 1), "other" if case == "content" else None
        assert cache.renew(key, entry, clock.now(), life, Validators(tag), new) is None
        found = cache.get(key)
    assert os.stat(file_of(folder, key)).st_ino != inode
    assert found is not None
    assert (found.fetched_at, found.expires_at) == (clock.now(), clock.now() + life)
    assert (found.etag, content(found)) == (tag, new or "words")
    assert not problems(folder)
    assert not temporaries(folder)


def test_what_somebody_else_has_put_there_meanwhile_stays(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        entry = put(cache, clock, "words")
        for newer in ("sword", "a longer one"):  # as long as the old one, and not
            put(cache, clock, newer)
            clock.advance(1)
            assert cache.renew(PAGE, entry, clock.now(), DAY, Validators('"v1"', "Mon", "hash")) is None
            found = cache.peek(PAGE)
            assert content(found) == newer
            assert found is not None
            assert found.fetched_at < clock.now()


def test_what_was_evicted_meanwhile_is_there_again(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        entry = put(cache, clock)
        cache.drop(PAGE)
        assert cache.peek(PAGE) is None
        assert cache.renew(PAGE, entry, clock.now(), DAY, Validators('"v1"')) is None
        assert content(cache.get(PAGE)) == "words"
    assert not problems(folder)


def test_what_is_dropped_is_gone_from_files_and_index(folder: Path, clock: FakeClock) -> None:
    with quick(folder, clock) as cache:
        cache.drop(PAGE)  # of nothing: no folder is made for it
        assert not folder.exists()
        put(cache, clock)
        cache.drop(PAGE)
        assert cache.peek(PAGE) is None
    assert run_sql(folder, "SELECT entries, bytes FROM totals") == [(0, 0)]
    assert not problems(folder)


def test_an_entry_that_is_no_longer_this_users_alone_is_not_written_to(
    folder: Path, clock: FakeClock, warnings: list[str]
) -> None:
    with quick(folder, clock) as cache:
        entry = put(cache, clock)
        file = file_of(folder, PAGE)
        victim = folder.parent / "victim"
        file.rename(victim)
        before = victim.read_bytes()
        file.symlink_to(victim)
        assert cache.renew(PAGE, entry, clock.now(), DAY, Validators('"v9"')) == "cache_write_failed"
        file.unlink()
        os.mkfifo(file)
        assert cache.renew(PAGE, entry, clock.now(), DAY, Validators('"v9"')) == "cache_write_failed"
    assert victim.read_bytes() == before
    assert any("link" in said for said in warnings)


def test_a_head_that_was_being_overwritten_is_read_once_more(
    folder: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quick(folder, clock) as cache:
        put(cache, clock)
        raw = file_of(folder, PAGE).read_bytes()
        torn = [raw.replace(b"2027", b"2028", 1), raw]
        monkeypatch.setattr(cache._folder, "_bytes", lambda _: torn.pop(0))
        assert content(cache.peek(PAGE)) == "words"
        torn += [b"x", b"x"]
        assert cache.peek(PAGE) is None


@pytest.mark.req("FG-40", "FR-WF-16g")
def test_a_renewal_that_is_killed_leaves_the_old_entry_or_the_new_one(folder: Path) -> None:
    result = finish(start("renew", folder, 25, 7))
    assert result["kills"] == 25
    assert result["renewals"] > 25  # the control: there was something to kill
    assert result["reads"] > 25
    assert {result[name] for name in ("lost", "torn", "left", "problems")} == {0}


def test_times_are_whole_seconds_and_no_life_is_longer_than_the_longest(folder: Path, clock: FakeClock) -> None:
    at = datetime(2027, 1, 15, 8, 0, 1, 999_999, tzinfo=UTC)
    with quick(folder, clock) as cache:
        entry = put(cache, clock)
        cache.renew(PAGE, entry, at, timedelta(days=10**6), Validators())
        found = cache.peek(PAGE)
    assert found is not None
    assert found.fetched_at == at.replace(microsecond=0)
    assert found.expires_at - found.fetched_at == timedelta(days=3650)
    assert (found.etag, found.content_hash) == (None, None)

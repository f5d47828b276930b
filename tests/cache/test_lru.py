"""Eviction: what was used longest ago goes first, by number and by size, across processes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spaniel.cache import WRITE_FAILED
from spaniel.cache.maintenance import CacheMaintenance
from tests.cache.harness import PAGE, content, file_of, numbered, problems, quick
from tests.cache.test_processes import run


def present(folder: Path, numbers: range) -> list[int]:
    return [number for number in numbers if file_of(folder, numbered(number)).exists()]


@pytest.mark.req("FR-WF-16e", "T-WF-CCH-06")
def test_the_limit_of_entries_evicts_the_least_recently_used(folder: Path) -> None:
    with quick(folder, max_entries=3) as cache:
        for number in range(3):
            cache.put(numbered(number), number)
        assert cache.get(numbered(0))
        cache.put(numbered(3), 3)
        assert present(folder, range(4)) == [0, 2, 3]
        cache.put(numbered(2), "again")
        cache.put(numbered(4), 4)
        assert present(folder, range(5)) == [2, 3, 4]
    assert not problems(folder)


@pytest.mark.req("FR-WF-16f")
def test_the_limit_of_bytes_evicts_until_the_new_entry_fits(folder: Path) -> None:
    with quick(folder, max_bytes=10_000) as cache:
        for number in range(5):
            cache.put(numbered(number), "x" * 1_500)
        cache.get(numbered(0))
        cache.put(numbered(5), "x" * 4_000)
        assert present(folder, range(6)) == [0, 3, 4, 5]
        total = sum(path.stat().st_size for path in folder.rglob("*.json"))
        assert total <= 10_000
        cache.put(numbered(5), "x" * 6_500)  # what it replaces counts no more
        assert present(folder, range(6)) == [0, 5]
    assert not problems(folder)


@pytest.mark.req("FR-WF-16f")
def test_no_limit_of_bytes_is_no_limit(folder: Path) -> None:
    with quick(folder, max_bytes=None) as cache:
        assert [cache.put(numbered(number), "x" * 10_000) for number in range(5)] == [None] * 5
        assert len(present(folder, range(5))) == 5


@pytest.mark.req("FR-WF-16f")
def test_an_entry_that_could_never_fit_evicts_nobody(folder: Path, warnings: list[str]) -> None:
    with quick(folder, max_bytes=10_000) as cache:
        cache.put(PAGE, "old")
        assert cache.put(numbered(1), "x" * 10_000) == WRITE_FAILED
        assert content(cache.get(PAGE)) == "old"
    assert "there is room for 10000" in warnings[0]


@pytest.mark.req("FR-WF-16e", "FR-WF-16f", "T-WF-CCH-06")
def test_two_processes_share_one_limit_and_one_order(folder: Path) -> None:
    assert run("fill", folder, 0, 6, 8, 1 << 20) == {"failed": 0}
    assert run("use", folder, 0, 1) == {"hits": 2}
    assert run("fill", folder, 6, 4, 8, 1 << 20) == {"failed": 0}
    assert present(folder, range(10)) == [0, 1, 4, 5, 6, 7, 8, 9]
    size = file_of(folder, numbered(9)).stat().st_size
    assert run("fill", folder, 10, 1, 8, 4 * size + 20) == {"failed": 0}
    assert present(folder, range(11)) == [7, 8, 9, 10]
    assert not problems(folder)


@pytest.mark.req("FR-WF-16e")
def test_a_limit_that_was_lowered_holds_after_the_next_put(folder: Path) -> None:
    with quick(folder) as cache:
        for number in range(600):
            cache.put(numbered(number), number)
    with quick(folder, max_entries=5) as cache:
        cache.put(PAGE, 1)
        assert present(folder, range(600)) == [596, 597, 598, 599]
    assert not problems(folder)


def test_a_reader_of_an_entry_that_is_just_evicted_has_it_or_misses_it(folder: Path) -> None:
    """Nothing is locked for reading: the open file outlives its name."""
    with quick(folder, max_entries=1) as cache:
        cache.put(PAGE, 1)
        with file_of(folder, PAGE).open("rb") as held:
            cache.put(numbered(1), 1)
            assert not file_of(folder, PAGE).exists()
            assert b'"canonical_url"' in held.read()
        assert cache.get(PAGE) is None


def test_uses_are_told_in_batches_and_at_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def order() -> list[str]:
        with sqlite3.connect(folder / "index.sqlite3") as db:
            found = [url for (url,) in db.execute("SELECT url FROM entries ORDER BY used")]
        db.close()
        return [url.rpartition("/")[2] for url in found]

    monkeypatch.setattr("spaniel.cache.store.TOUCHES", 128)
    with quick(folder) as cache:
        for number in range(200):
            cache.put(numbered(number), 0)
        cache.get(numbered(3))
        assert order()[-1] == "199"
        for number in range(4, 131):
            cache.get(numbered(number))
        assert order()[-128:] == [str(number) for number in range(3, 131)]
        cache.get(numbered(0))
        assert order()[-1] == "130"
    assert order()[-1] == "0"


class Model(RuleBasedStateMachine):
    """The cache beside the plainest model of it: a list in order of use."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.temp = tempfile.TemporaryDirectory()
        self.folder = Path(self.temp.name) / "cache"
        self.open()
        self.order: list[tuple[int, int]] = []  # key, value; the last used last

    def open(self) -> None:
        self.cache = quick(self.folder, max_entries=4, max_bytes=3_000)

    def size(self, key: int) -> int:
        return file_of(self.folder, numbered(key)).stat().st_size

    @rule(key=st.integers(0, 7), length=st.integers(0, 1_400))
    def put(self, key: int, length: int) -> None:
        sizes = {k: self.size(k) for k, _ in self.order}
        assert self.cache.put(numbered(key), "x" * length) is None
        self.order = [(k, v) for k, v in self.order if k != key]
        sizes[key] = self.size(key)
        self.order.append((key, length))
        while len(self.order) > 4 or sum(sizes[k] for k, _ in self.order) > 3_000:
            self.order.pop(0)

    @rule(key=st.integers(0, 7))
    def get(self, key: int) -> None:
        known = dict(self.order)
        found = content(self.cache.get(numbered(key)))
        assert found == ("x" * known[key] if key in known else None)
        if key in known:
            self.order = [(k, v) for k, v in self.order if k != key] + [(key, known[key])]

    @rule()
    def reopen(self) -> None:
        self.cache.close()
        self.open()

    @precondition(lambda self: self.folder.exists())
    @rule()
    def lose_one_by_hand(self) -> None:
        if self.order:
            key, _ = self.order.pop(0)
            file_of(self.folder, numbered(key)).unlink()
            with CacheMaintenance(str(self.folder)) as upkeep:
                assert [problem.kind for problem in upkeep.verify(repair=True)] == ["missing"]

    @invariant()
    def keeps_what_the_model_keeps(self) -> None:
        names = {path.name[:64] for path in self.folder.rglob("*.json")}
        assert names == {numbered(key).hex for key, _ in self.order}

    def teardown(self) -> None:
        self.cache.close()
        if self.folder.exists():
            assert not problems(self.folder)
        self.temp.cleanup()


Model.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestAgainstTheModel = pytest.mark.req("FR-WF-16e", "FR-WF-16f")(Model.TestCase)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
@settings(max_examples=20)
def test_the_totals_are_those_of_the_files(numbers: list[int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with quick(folder, max_entries=3) as cache:
            for number in numbers:
                cache.put(numbered(number), "x" * number)
        with CacheMaintenance(name) as upkeep:
            found = upkeep.stats()
        sizes = [path.stat().st_size for path in folder.rglob("*.json")]
        assert (found.entries, found.bytes) == (len(sizes), sum(sizes))

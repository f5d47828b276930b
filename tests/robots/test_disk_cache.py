"""robots.txt on disk: shared between processes, and never a danger to a fetch."""

from __future__ import annotations

import os
import secrets
import stat
import threading
import time
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path
from queue import Queue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel import Spaniel
from spaniel.net.deadline import Deadline
from spaniel.robots import disk_cache
from spaniel.robots import gate as gate_module
from spaniel.robots.disk_cache import LARGE, DiskCache, StoredFile, _DiskFile
from spaniel.robots.gate import RobotsGate
from spaniel.robots.rules import LIMIT
from spaniel.testing import FakeClock, Site, spaniel_for, text
from spaniel.url import parse
from tests.cache.harness import PAGE, quick
from tests.loopback import rooms_for

DAY = 24 * 3600.0
ORIGIN = "https://example.com"


@pytest.fixture
def disk(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "robots", DAY)


def only_file(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "robots").iterdir()
    return path


@pytest.mark.req("FR-WF-08", "FG-28", "NFR-WF-PERF-04")
async def test_a_second_process_does_not_ask_again(disk: DiskCache) -> None:
    async with Site({"/robots.txt": text("User-agent: *\nDisallow: /no")}) as site, rooms_for(site) as services:
        url = parse(site.url("/no"))
        for _ in range(2):
            gate = RobotsGate(services.http, services.guard, disk=disk)
            decision = (await gate.ask(url, await services.guard.vet(url, Deadline(5)), Deadline(5))).decision
            assert decision is not None
            assert not decision.allowed
        assert site.requests["/robots.txt"] == 1


@pytest.mark.req("FR-WF-08f")
async def test_a_file_from_disk_is_not_kept_in_memory_longer_than_its_time(
    disk: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time began when it was fetched, not when this process has read it."""
    clock = FakeClock()
    monkeypatch.setattr(gate_module, "time", clock)
    async with Site({"/robots.txt": text("")}) as site, rooms_for(site) as services:
        url = parse(site.url("/a"))
        disk.write(url.origin, StoredFile(b"", clock.time() - DAY + 100))
        gate = RobotsGate(services.http, services.guard, disk=disk, clock=clock.monotonic)
        for seconds, requests in [(0, 0), (99, 0), (1, 1), (DAY - 1, 1), (1, 2)]:
            clock.advance(seconds)
            await gate.ask(url, await services.guard.vet(url, Deadline(5)), Deadline(5))
            assert site.requests["/robots.txt"] == requests
            for path in (tmp_path / "robots").iterdir():
                path.unlink()  # it is in memory by now


@pytest.mark.req("FR-WF-09", "D2-06")
async def test_that_there_is_no_file_is_stored_as_an_empty_one(disk: DiskCache) -> None:
    async with Site({"/robots.txt": text("User-agent: *\nDisallow: /", 404)}) as site, rooms_for(site) as services:
        url = parse(site.url("/a"))
        gate = RobotsGate(services.http, services.guard, disk=disk)
        await gate.require(url, await services.guard.vet(url, Deadline(5)), Deadline(5))
        stored = disk.read(url.origin, time.time())
        assert stored is not None
        assert stored.body == b""


@pytest.mark.req("FR-WF-08f")
@pytest.mark.parametrize(("age", "there"), [(0.0, True), (DAY - 1, True), (DAY, False), (-5.0, False)])
def test_a_file_is_read_within_its_time_only(disk: DiskCache, age: float, there: bool) -> None:
    disk.write(ORIGIN, StoredFile(b"x", 1_000_000.0))
    assert (disk.read(ORIGIN, 1_000_000.0 + age) is not None) is there


@given(st.floats(0, 1000))
def test_a_file_can_be_read_at_the_very_moment_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, ago: float
) -> None:
    now = time.time() - ago
    disk = DiskCache(tmp_path_factory.mktemp("disk"), DAY)
    disk.write(ORIGIN, StoredFile(b"x", now))
    assert disk.read(ORIGIN, now) == StoredFile(b"x", now)


def test_another_origin_has_another_file(disk: DiskCache) -> None:
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    assert disk.read("https://example.com:8443", 1000.0) is None


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_flipped_byte_is_as_if_nothing_were_there(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    folder = tmp_path_factory.mktemp("disk")
    disk = DiskCache(folder, DAY)
    disk.write(ORIGIN, StoredFile(b"User-agent: *\nDisallow: /\n", 1000.0))
    (path,) = folder.iterdir()
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= flip
    path.write_bytes(data)
    found = disk.read(ORIGIN, 1000.0)
    assert found is None or found.body == b"User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize("when", [b"1.2.3", b"1000.0.", b"", b"nan", b"inf", b"-1000.0", b"1e3", b"9" * 5_000])
def test_file_without_a_fetch_time_is_a_miss(disk: DiskCache, tmp_path: Path, when: bytes) -> None:
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes().replace(b" 1000.0\n", b" %b\n" % when))
    assert disk.read(ORIGIN, 1000.0) is None


def test_files_are_for_the_user_alone_and_links_are_not_followed(disk: DiskCache, tmp_path: Path) -> None:
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    path = only_file(tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert disk.read(ORIGIN, 1000.0) is None
    path.unlink()
    os.mkfifo(path)
    assert disk.read(ORIGIN, 1000.0) is None


@pytest.mark.parametrize(("over", "there"), [(0, True), (1, False)])
def test_a_file_that_is_larger_than_any_of_ours_is_not_read(disk: DiskCache, over: int, there: bool) -> None:
    """The longest robots.txt that is fetched, and 64 KB for its head."""
    head = len(f"spaniel robots 1\n{ORIGIN} {'0' * 64} 1000.0\n")
    disk.write(ORIGIN, StoredFile(bytes(LIMIT + 65_536 - head + over), 1000.0))
    assert (disk.read(ORIGIN, 1000.0) is not None) is there


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    disk = DiskCache(tmp_path / "file" / "robots", DAY)
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    assert disk.read(ORIGIN, 1000.0) is None


def planted(folder: Path) -> list[Path]:
    """What a user may have in a folder: older than any robots.txt, some of it with a name like ours."""
    folder.mkdir(mode=0o700, exist_ok=True)
    treasure = folder.parent / "treasure"
    treasure.write_bytes(b"precious")
    link, inner = folder / ("a" * 64), folder / ("b" * 64)
    link.symlink_to(treasure)
    inner.mkdir()
    files = [folder / name for name in ("thesis.odt", "A" * 64, "a" * 63, "a" * 64 + ".bak", ".spaniel-x.tmp")]
    files.append(inner / ("c" * 64))
    for file in files:
        file.write_bytes(b"precious")
    for path in (treasure, *files):
        os.utime(path, (0, 0))
    os.utime(link, (0, 0), follow_symlinks=False)
    os.utime(inner, (0, 0))
    return [treasure, link, inner, *files]


def old_file(folder: Path) -> Path:
    """A file that a sweep removes."""
    DiskCache(folder, DAY).write(ORIGIN, StoredFile(b"x", 1000.0))
    path = folder / sha256(ORIGIN.encode()).hexdigest()
    os.utime(path, (0, 0))
    return path


def test_what_is_too_old_is_swept_and_nothing_that_is_not_ours(disk: DiskCache, tmp_path: Path) -> None:
    old = old_file(tmp_path / "robots")
    abandoned = [old.with_name(name) for name in (f"{old.name}.01234567.tmp", ".spaniel-0123456789abcdef.tmp")]
    for path in abandoned:
        path.write_bytes(b"half")
        os.utime(path, (0, 0))
    theirs = planted(tmp_path / "robots")
    disk.write("https://new.example", StoredFile(b"y", DAY * 10_000))
    disk.sweep(time.time())
    assert not any(path.exists() for path in (old, *abandoned))  # the control
    assert all(os.path.lexists(path) for path in theirs)
    assert disk.read("https://new.example", DAY * 10_000)


@pytest.mark.parametrize("where", ["robots", "root"])
def test_a_folder_that_is_a_link_is_neither_read_nor_written_nor_swept(tmp_path: Path, where: str) -> None:
    root, documents = tmp_path / "root", tmp_path / "documents"
    target = documents if where == "robots" else documents / "robots"
    documents.mkdir(mode=0o700)
    old = old_file(target)
    theirs = [old, *planted(target)]
    if where == "robots":
        root.mkdir(mode=0o700)
        (root / "robots").symlink_to(documents)
    else:
        root.symlink_to(documents)
    disk = DiskCache(root / "robots", DAY)
    assert disk.read(ORIGIN, 1000.0) is None
    assert DiskCache(target, DAY).read(ORIGIN, 1000.0)  # the control: it is there
    disk.write("https://new.example", StoredFile(b"y", 1000.0))
    disk.sweep(time.time())
    assert all(os.path.lexists(path) for path in theirs)
    assert not (target / sha256(b"https://new.example").hexdigest()).exists()
    os.utime(old, (0, 0))  # it was read by now
    DiskCache(target, DAY).sweep(time.time())
    assert not old.exists()  # the control: without the link it goes


@pytest.mark.parametrize("how", ["foreign", "0777"])
@pytest.mark.parametrize("where", ["robots", "root"])
def test_a_folder_that_others_own_or_write_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, how: str
) -> None:
    folder = tmp_path / "root" / "robots"
    old = old_file(folder)
    path = folder if where == "robots" else folder.parent
    if how == "foreign":
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(path, 12_345, 12_345)
    else:
        path.chmod(0o777)
    disk = DiskCache(folder, DAY)
    warned: list[str] = []
    monkeypatch.setattr(disk_cache.log, "warning", lambda form, *args: warned.append(form % args))
    assert disk.read(ORIGIN, 1000.0) is None
    disk.write("https://new.example", StoredFile(b"y", 1000.0))
    disk.sweep(time.time())
    assert [entry.name for entry in folder.iterdir()] == [old.name]
    assert [line.partition(":")[0] for line in warned] == ["robots_cache_failed"]  # once
    assert disk_cache.log.name.startswith("spaniel.")  # where the others are


@pytest.mark.parametrize("bits", [0o000, 0o002, 0o022])
def test_whoever_makes_the_root_makes_it_so_that_the_page_cache_takes_it(tmp_path: Path, bits: int) -> None:
    old = os.umask(bits)
    try:
        DiskCache(tmp_path / "root" / "robots", DAY).write(ORIGIN, StoredFile(b"x", 1000.0))
        with quick(tmp_path / "root") as cache:
            assert cache.put(PAGE, 1) is None
            assert cache.get(PAGE)
    finally:
        os.umask(old)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "root", tmp_path / "root" / "robots")} == {0o700}


def test_group_writable_root_is_closed_and_shared_with_the_page_cache(tmp_path: Path) -> None:
    """As earlier versions left it under a umask of 002."""
    root = tmp_path / "root"
    disk = DiskCache(root / "robots", DAY)
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    root.chmod(0o775)
    (root / "robots").chmod(0o775)
    with quick(root) as cache:
        assert cache.put(PAGE, 1) is None
    assert disk.read(ORIGIN, 1000.0)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (root, root / "robots")} == {0o700}


def test_one_sweep_looks_at_some_files_and_all_get_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "SWEPT_AT_ONCE", 10)
    disk = DiskCache(tmp_path / "robots", DAY)
    for number in range(35):
        disk.write(f"https://{number}.example", StoredFile(b"x", 1000.0))
    left = []
    for _ in range(4):
        disk.sweep(time.time() + 2 * DAY)
        left.append(len(list((tmp_path / "robots").iterdir())))
    assert left == [25, 15, 5, 0]


def stocked(folder: Path, count: int, size: int = 1) -> list[Path]:
    """Files of different age, the oldest first; all can still be read."""
    folder.mkdir(mode=0o700)
    paths = [folder / sha256(b"%d" % number).hexdigest() for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(bytes(size))
        os.utime(path, (0, time.time() - count + number))
    return paths


@pytest.mark.req("FR-WF-08g")
@pytest.mark.parametrize("restarted", [False, True])
async def test_the_setting_bounds_the_files_on_disk_too(restarted: bool, tmp_path: Path) -> None:
    """In one process, and in one after another: the least recently used is asked for again."""
    async with Site({"/robots.txt": text(""), "/a": text("hello")}) as site, AsyncExitStack() as stack:

        async def client() -> Spaniel:
            opened = spaniel_for(site, cache=tmp_path, robots_cache_entries=2)
            return await stack.enter_async_context(opened)

        asking = await client()

        async def asked_again(host: str) -> bool:
            nonlocal asking
            if restarted:
                await stack.aclose()
                asking = await client()
            before = site.requests["/robots.txt"]
            await asking.fetch(site.url("/a", host=host), no_cache=True)
            return site.requests["/robots.txt"] > before

        assert [await asked_again(host) for host in ("a.example", "b.example", "a.example")] == [True, True, False]
        assert await asked_again("c.example")  # b was the least recently used
        assert not await asked_again("a.example")
        assert await asked_again("b.example")
        assert len(list((tmp_path / "robots").iterdir())) == 2


@pytest.mark.req("FR-WF-08g")
@pytest.mark.parametrize(("most", "left"), [(1, 1), (0, 1), (50, 50), (64, 63)])
def test_a_folder_that_held_more_is_brought_down_by_the_first_write(tmp_path: Path, most: int, left: int) -> None:
    paths = stocked(tmp_path / "robots", 80)
    theirs = planted(tmp_path / "robots")
    disk = DiskCache(tmp_path / "robots", DAY, most)
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    assert disk.read(ORIGIN, 1000.0)  # the newest
    assert [path for path in paths if path.exists()] == paths[80 - left + 1 :]
    assert all(os.path.lexists(path) for path in theirs)


@pytest.mark.req("FR-WF-08g")
@pytest.mark.parametrize(("most", "fewest"), [(3, 3), (64, 63), (200, 197), (2048, 2016)])
def test_the_bound_holds_after_each_write(tmp_path: Path, most: int, fewest: int) -> None:
    """Where there are many, some go at once, so that not every write looks at all of them."""
    stocked(tmp_path / "robots", most)
    disk, counts = DiskCache(tmp_path / "robots", DAY, most), set()
    for number in range(80):
        disk.write(f"https://{number}.example", StoredFile(b"x", 1000.0))
        counts.add(len(os.listdir(tmp_path / "robots")))
    assert max(counts) <= most
    assert min(counts) >= fewest - 1
    assert all(disk.read(f"https://{number}.example", 1000.0) for number in range(80 - min(3, most), 80))


@pytest.mark.req("FR-WF-08g")
def test_the_folder_keeps_so_many_files_and_the_oldest_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "MAX_FILES", 20)
    paths = stocked(tmp_path / "robots", 25)
    theirs = planted(tmp_path / "robots")
    disk = DiskCache(tmp_path / "robots", DAY)
    disk.sweep(time.time())
    assert [path for path in paths if path.exists()] == paths[5:]
    assert all(os.path.lexists(path) for path in theirs)
    disk.sweep(time.time())
    assert [path for path in paths if path.exists()] == paths[5:]  # that was enough


@pytest.mark.req("FR-WF-08g")
def test_the_folder_keeps_so_many_bytes_and_the_oldest_go_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = stocked(tmp_path / "robots", 8, 1000)
    size = paths[0].stat().st_size
    for most, left in [(8 * size, 8), (8 * size - 1, 7), (3 * size, 3)]:  # as many as fit, and no more
        monkeypatch.setattr(disk_cache, "MAX_BYTES", most)
        DiskCache(tmp_path / "robots", DAY).sweep(time.time())
        assert [path for path in paths if path.exists()] == paths[8 - left :]


def test_a_sweep_leaves_twenty_thousand_files_and_256_megabytes(disk: DiskCache) -> None:
    megabyte = 1_048_576
    for count, size in [(20_000, 0), (256, megabyte)]:
        kept = [_DiskFile(1000.0 - number, str(number), size) for number in range(count + 2)]
        assert disk._doomed(kept[:count], 1.0, 1000.0) == []
        assert disk._doomed(kept, 1.0, 1000.0) == [str(count + 1), str(count)]


@pytest.mark.parametrize(("bound", "most"), [("MAX_FILES", 10), ("MAX_BYTES", 1000)])
def test_a_folder_of_far_too_much_comes_down_sweep_by_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    """One sweep looks at some of them only, and takes of those the share by which all are too much."""
    monkeypatch.setattr(disk_cache, bound, most)
    monkeypatch.setattr(disk_cache, "SWEPT_AT_ONCE", 20)
    paths = stocked(tmp_path / "robots", 40, 100)
    left = []
    for _ in range(4):
        DiskCache(tmp_path / "robots", DAY).sweep(time.time())
        left.append(sum(path.exists() for path in paths))
    assert left == [25, 13, 10, 10]  # 15 of 20, 12 of 20, 3 of 13, none


def test_sweep_runs_periodically_in_another_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "SWEEP_EVERY", 5)
    swept: Queue[threading.Thread] = Queue()
    monkeypatch.setattr(DiskCache, "sweep", lambda *_: swept.put(threading.current_thread()))
    disk = DiskCache(tmp_path / "robots", DAY)
    for number in range(10):
        disk.write(f"https://{number}.example", StoredFile(b"x", 1000.0))
    sweepers = {swept.get(timeout=60), swept.get(timeout=60)}
    assert threading.current_thread() not in sweepers
    assert all(thread.daemon for thread in sweepers)  # not awaited when the process ends
    assert swept.empty()


@pytest.mark.parametrize(("short", "swept"), [(0, True), (1, False)])
def test_a_thousand_writes_or_sixteen_megabytes_are_enough_for_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int, swept: bool
) -> None:
    monkeypatch.setattr(secrets, "randbelow", lambda bound: bound - 1)
    sweeps: list[object] = []
    monkeypatch.setattr(DiskCache, "sweep", lambda *_: sweeps.append(True))
    DiskCache(tmp_path / "robots", DAY).write(ORIGIN, StoredFile(bytes(999 * 16_384 - short), 1000.0))
    for thread in threading.enumerate():
        if thread.name == "spaniel robots sweep":
            thread.join(60)
    assert bool(sweeps) is swept


@pytest.mark.parametrize(("size", "writes"), [(LARGE - 1, 12), (LARGE, 6), (5 * LARGE, 2)])
def test_large_files_bring_the_next_sweep_nearer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, writes: int
) -> None:
    monkeypatch.setattr(disk_cache, "SWEEP_EVERY", 12)
    monkeypatch.setattr(secrets, "randbelow", lambda bound: bound - 1)
    swept: Queue[bool] = Queue()
    monkeypatch.setattr(DiskCache, "sweep", lambda *_: swept.put(True))
    disk = DiskCache(tmp_path / "robots", DAY)
    for number in range(writes - 1):
        disk.write(f"https://{number}.example", StoredFile(bytes(size), 1000.0))
    assert swept.empty()
    disk.write("https://last.example", StoredFile(bytes(size), 1000.0))
    assert swept.get(timeout=60)

"""robots.txt on disk: shared between processes, and never a danger to a fetch."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.net.deadline import Deadline
from spaniel.robots.disk_cache import DiskCache, StoredFile
from spaniel.robots.gate import RobotsGate
from spaniel.testing import Site, text
from spaniel.url import parse
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
    async with Site({"/robots.txt": text("User-agent: *\nDisallow: /no")}) as site, rooms_for(site) as rooms:
        url = parse(site.url("/no"))
        for _ in range(2):
            gate = RobotsGate(rooms.http, rooms.guard, disk=disk)
            decision = (await gate.ask(url, await rooms.guard.vet(url, Deadline(5)), Deadline(5))).decision
            assert decision is not None
            assert not decision.allowed
        assert site.requests["/robots.txt"] == 1


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


def test_a_shelf_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    disk = DiskCache(tmp_path / "file" / "robots", DAY)
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    assert disk.read(ORIGIN, 1000.0) is None


def test_what_is_too_old_is_swept(disk: DiskCache, tmp_path: Path) -> None:
    disk.write(ORIGIN, StoredFile(b"x", 1000.0))
    old = only_file(tmp_path)
    os.utime(old, (0, 0))
    again = DiskCache(tmp_path / "robots", DAY)
    again.write("https://other.example", StoredFile(b"y", DAY * 10_000))
    assert not old.exists()

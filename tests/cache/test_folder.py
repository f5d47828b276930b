"""The folder: private, and nothing in it is followed or trusted that is not ours."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from spaniel.cache import WRITE_FAILED, PageCache
from spaniel.cache.folder import CacheFolder
from spaniel.cache.maintenance import CacheMaintenance
from spaniel.errors import SpanielError
from tests.cache.harness import PAGE, content, file_of, numbered, quick

STRANGER = 12_345


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refused(cache: PageCache) -> bool:
    """Neither read from nor written to."""
    return cache.get(PAGE) is None and cache.put(PAGE, "new") == WRITE_FAILED


def chown(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, STRANGER, STRANGER)


def test_folders_are_0700_and_files_0600_whatever_the_umask(folder: Path) -> None:
    old = os.umask(0)
    try:
        with quick(folder) as cache:
            cache.put(PAGE, 1)
            everything = [folder, *folder.rglob("*")]
            assert len(everything) >= 5
            for path in everything:
                assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    finally:
        os.umask(old)


def test_a_folder_that_others_could_read_is_closed_to_them(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with quick(folder) as cache:
        assert cache.put(PAGE, 1) is None
    assert mode(folder) == 0o700


@pytest.mark.parametrize("where", ["root", "shard"])
@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o702])
def test_a_folder_that_others_may_write_is_refused(folder: Path, warnings: list[str], where: str, bits: int) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, "old")
        path = folder if where == "root" else file_of(folder, PAGE).parent
        path.chmod(bits)
        assert refused(cache)
        assert f"others may write to the folder (mode {bits:04o})" in warnings[0]
        assert warnings[1].startswith("cache_write_failed: others may write")
        path.chmod(0o700)
        assert content(cache.get(PAGE)) == "old"


@pytest.mark.parametrize("where", ["root", "shard"])
@pytest.mark.parametrize("bits", [0o770, 0o775])
def test_a_folder_that_a_umask_of_002_made_is_closed_and_used(
    folder: Path, warnings: list[str], where: str, bits: int
) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, "old")
        (folder / "robots").mkdir(mode=0o700)
        path = folder if where == "root" else file_of(folder, PAGE).parent
        path.chmod(bits)
        assert content(cache.get(PAGE)) == "old"
        assert mode(path) == 0o700
        path.chmod(bits)
        assert cache.put(PAGE, "new") is None
        assert mode(path) == 0o700
    assert not warnings


def test_a_folder_that_is_shared_on_purpose_is_refused_and_stays_shared(folder: Path, warnings: list[str]) -> None:
    folder.mkdir()
    (folder / "minutes of the meeting.txt").write_text("ours, all of us")
    folder.chmod(0o775)
    with quick(folder) as cache:
        assert refused(cache)
    assert mode(folder) == 0o775
    assert "chmod 700" in warnings[0]
    assert "name a folder of your own" in warnings[0]


def test_a_folder_with_other_things_in_it_keeps_its_mode_and_they_stay(folder: Path) -> None:
    """Somebody may name a folder that has other uses; that it can be read is no danger."""
    folder.mkdir()
    other = folder / "index.html"
    other.write_text("not ours")
    folder.chmod(0o755)
    with quick(folder, max_entries=1) as cache:
        for number in range(3):
            assert cache.put(numbered(number), number) is None
    with CacheMaintenance(str(folder)) as upkeep:
        assert upkeep.clear().entries == 1
    assert (mode(folder), other.read_text()) == (0o755, "not ours")


@pytest.mark.parametrize("where", ["root", "shard"])
def test_a_folder_of_another_user_is_refused(folder: Path, warnings: list[str], where: str) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, "old")
        chown(folder if where == "root" else file_of(folder, PAGE).parent)
        assert refused(cache)
    assert f"belongs to another user (uid {STRANGER})" in warnings[0]


@pytest.mark.parametrize("where", ["root", "shard"])
def test_a_folder_that_is_a_link_is_refused_and_what_it_leads_to_untouched(
    folder: Path, tmp_path: Path, warnings: list[str], where: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    with quick(elsewhere) as cache:
        cache.put(PAGE, "planted")
    before = {path: path.read_bytes() for path in elsewhere.rglob("*.json")}
    if where == "root":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir(mode=0o700)
        file_of(folder, PAGE).parent.symlink_to(file_of(elsewhere, PAGE).parent)
    with quick(folder) as cache:
        assert refused(cache)
    assert "symbolic link" in warnings[0]
    assert {path: path.read_bytes() for path in elsewhere.rglob("*.json")} == before


@pytest.mark.parametrize("what", ["link", "dangling link", "fifo", "folder", "foreign", "0666", "0620"])
def test_what_stands_in_an_entrys_place_is_not_read(
    folder: Path, tmp_path: Path, warnings: list[str], what: str
) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, "old")
        path = file_of(folder, PAGE)
        good = tmp_path / "good.json"
        path.rename(good)
        match what:
            case "link":
                path.symlink_to(good)
            case "dangling link":
                path.symlink_to(tmp_path / "nothing")
            case "fifo":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case "foreign":
                path.write_bytes(good.read_bytes())
                chown(path)
            case _:
                path.write_bytes(good.read_bytes())
                path.chmod(int(what, 8))
        assert cache.get(PAGE) is None
        assert len(warnings) == 1
        if what == "folder":
            assert cache.put(PAGE, "new") == WRITE_FAILED
        else:  # a new entry takes the place of the thing, and nothing is written through it
            assert cache.put(PAGE, "new") is None
            assert content(cache.get(PAGE)) == "new"
            assert path.is_file()
            assert not path.is_symlink()
        assert b'"old"' in good.read_bytes()


@pytest.mark.parametrize("name", ["index.sqlite3", "index.sqlite3-wal", "index.sqlite3-shm", "index.lock"])
def test_an_index_that_is_a_link_is_not_written_through(folder: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    with quick(folder) as cache:
        cache.put(PAGE, "old")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(victim)
    if name == "index.lock":
        (folder / "index.sqlite3").unlink()
    with quick(folder) as cache:
        assert cache.put(PAGE, "new") == WRITE_FAILED
        assert content(cache.get(PAGE)) == "old"
    assert victim.read_bytes() == b"precious"


def test_one_bad_shard_does_not_spoil_the_others(folder: Path, tmp_path: Path) -> None:
    with quick(folder, max_entries=3) as cache:
        cache.put(PAGE, 1)
        bad = file_of(folder, PAGE).parent
        bad.rename(tmp_path / "moved")
        bad.symlink_to(tmp_path / "moved")
        others = [key for key in map(numbered, range(30)) if key.hex[:2] != PAGE.hex[:2]]
        assert all(cache.put(key, 1) is None for key in others)
        assert cache.get(others[-1])


def test_a_file_larger_than_any_entry_is_not_read_into_memory(folder: Path, warnings: list[str]) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, 1)
        os.truncate(file_of(folder, PAGE), 1 << 40)  # sparse
        assert cache.get(PAGE) is None
    assert "bytes are too many" in warnings[0]


@pytest.mark.req("D2-22")
def test_upkeep_says_what_is_wrong_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "file").touch()
    for name, why in [
        ("link", "symbolic link"),
        ("open", "others may write"),
        ("file", "not a folder"),
        ("no", "No such"),
    ]:
        with pytest.raises(SpanielError, match=why) as caught, CacheMaintenance(str(tmp_path / name)):
            pass
        assert caught.value.code == "cache_read_failed"
        assert caught.value.details["path"] == str(tmp_path / name)


@pytest.mark.req("D2-22")
def test_upkeep_names_the_file_that_it_does_not_trust(folder: Path) -> None:
    with quick(folder) as cache:
        cache.put(PAGE, 1)
    file_of(folder, PAGE).chmod(0o666)
    with CacheMaintenance(str(folder)) as upkeep:
        with pytest.raises(SpanielError, match="others may write to the file") as caught:
            list(upkeep.find({PAGE.canonical_url}))
        assert caught.value.details["path"] == str(file_of(folder, PAGE))
        assert [problem.path for problem in upkeep.verify()] == [str(file_of(folder, PAGE))]


@pytest.mark.req("FR-WF-16a")
def test_the_layout_is_the_srds(folder: Path) -> None:
    key = numbered(1)
    with quick(folder) as cache:
        cache.put(key, 1)
    assert Path(CacheFolder(str(folder)).path(key.hex)).is_file()
    assert list(folder.rglob("*.json")) == [folder / key.hex[:2] / f"{key.hex}.json"]

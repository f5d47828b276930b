"""The one atomic writer: whole or not at all, through no link, with no trace left."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from spaniel.files import TEMPORARY_NAME, replacing, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_appears_with_its_content_and_nothing_beside_it(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "page"
    write_atomically(str(path), b"old", durable=durable)
    write_atomically(str(path), b"new", durable=durable)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["page"]


def test_a_name_without_a_folder_is_in_the_current_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("page", b"x", durable=True)
    assert names(tmp_path) == ["page"]


def test_the_longest_name_that_a_folder_can_hold_can_be_written(tmp_path: Path) -> None:
    longest = "n" * os.pathconf(tmp_path, "PC_NAME_MAX")
    write_atomically(str(tmp_path / longest), b"x")
    assert names(tmp_path) == [longest]


def test_readers_see_the_old_file_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"old")
    with replacing(str(path)) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        assert [bool(TEMPORARY_NAME.fullmatch(name)) for name in names(tmp_path)] == [True, False]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("trouble", [RuntimeError, KeyboardInterrupt, OSError])
def test_whatever_goes_wrong_leaves_the_old_file_and_no_other(tmp_path: Path, trouble: type[BaseException]) -> None:
    def fail_halfway() -> None:
        with replacing(str(path)) as file:
            file.write(b"half")
            raise trouble

    path = tmp_path / "page"
    path.write_bytes(b"old")
    with pytest.raises(trouble):
        fail_halfway()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["page"]


def test_a_link_is_replaced_and_what_it_leads_to_is_not_touched(tmp_path: Path) -> None:
    treasure, path = tmp_path / "treasure", tmp_path / "page"
    treasure.write_bytes(b"mine")
    path.symlink_to(treasure)
    write_atomically(str(path), b"new")
    assert (treasure.read_bytes(), path.read_bytes(), path.is_symlink()) == (b"mine", b"new", False)


@pytest.mark.parametrize("planted", ["link", "file"])
def test_a_temporary_name_that_is_taken_is_never_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    treasure, trap = tmp_path / "treasure", tmp_path / f".spaniel-{bytes(8).hex()}.tmp"
    treasure.write_bytes(b"mine")
    if planted == "link":
        trap.symlink_to(treasure)
    else:
        trap.write_bytes(b"theirs")
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(FileExistsError):
        write_atomically(str(tmp_path / "page"), b"new")
    assert treasure.read_bytes() == b"mine"
    assert names(tmp_path) == sorted([trap.name, "treasure"])
    monkeypatch.undo()
    write_atomically(str(tmp_path / "page"), b"new")  # with a fresh name it goes
    assert (tmp_path / "page").read_bytes() == b"new"


def test_a_file_that_is_replaced_keeps_its_mode_where_that_is_asked_for(tmp_path: Path) -> None:
    path, fresh = tmp_path / "page", tmp_path / "fresh"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(str(path), b"new", None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    umask = os.umask(0o027)
    try:
        write_atomically(str(fresh), b"new", None)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o640


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_root_does_not_take_a_file_away_from_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"old")
    os.chown(path, 65534, 65533)
    path.chmod(0o640)
    write_atomically(str(path), b"new", None)
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (65534, 65533, 0o640)
    write_atomically(str(path), b"newer")  # positive control: a mode of its own asks for nothing else
    assert path.stat().st_uid == 0


@pytest.mark.skipif(not hasattr(os, "getgroups"), reason="there are no groups here")
def test_a_file_that_cannot_be_given_to_its_owner_is_written_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    path = tmp_path / "page"
    path.write_bytes(b"old")
    path.chmod(0o604)
    monkeypatch.setattr(os, "fchown", refuse)
    write_atomically(str(path), b"new", None)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o604)


def test_nothing_written_can_leave_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"old")
    with replacing(str(path), even_empty=False):
        pass
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["page"]
    with replacing(str(path)):
        pass
    assert path.read_bytes() == b""


def test_what_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(str(tmp_path / "none" / "page"), b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_atomically(str(tmp_path / "folder"), b"x")
    assert names(tmp_path) == ["folder"]


def test_a_system_without_posix_names_writes_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("O_DIRECTORY", "fchmod"):
        monkeypatch.delattr(os, name)
    path = tmp_path / "page"
    write_atomically(str(path), b"x", None, durable=True)
    write_atomically(str(path), b"y", None, durable=True)
    assert path.read_bytes() == b"y"

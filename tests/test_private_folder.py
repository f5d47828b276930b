"""Folders of the user's own: private whatever the umask, judged as what was opened, and nothing planted is followed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spaniel.private_folder import OpenFolder, open_folder

OURS = re.compile(r"[a-z]+\.ours")
STRANGER = 12_345
ONLY_ROOT = "only root can give a file away"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def give_away(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip(ONLY_ROOT)
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@contextmanager
def umask(bits: int) -> Iterator[None]:
    old = os.umask(bits)
    try:
        yield
    finally:
        os.umask(old)


def refused(path: Path, *, make: bool = True) -> str:
    """Why a folder is refused."""
    with pytest.raises(PermissionError) as caught, open_folder(str(path), OURS, make=make):
        pass
    assert caught.value.filename == str(path)
    return str(caught.value.strerror)


@pytest.mark.parametrize("bits", [0o000, 0o002, 0o022, 0o077])
def test_folders_are_0700_and_files_0600_with_any_umask(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "above" / "between" / "folder"
    with umask(bits), open_folder(str(path), make=True) as folder, folder.folder("inner", make=True) as inner:
        inner.write("written", b"x")
        os.close(inner.create("created"))
    for made in (tmp_path / "above", tmp_path / "above" / "between", path, path / "inner"):
        assert mode(made) == 0o700, made
    assert {mode(path / "inner" / name) for name in ("written", "created")} == {0o600}


def test_nothing_is_made_unless_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_folder(str(tmp_path / "no")):
        pass
    with open_folder(str(tmp_path)) as folder, pytest.raises(FileNotFoundError), folder.folder("no"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bits", [0o770, 0o775, 0o730])
@pytest.mark.parametrize("make", [True, False])
def test_group_writable_folder_is_closed_if_its_content_is_ours(tmp_path: Path, bits: int, make: bool) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "a.ours").touch(0o600)
    path.chmod(bits)
    with open_folder(str(path), OURS, make=make) as folder:
        assert mode(path) == 0o700
        assert folder.read("a.ours", 10) == b""


@pytest.mark.parametrize("ours", [OURS, None], ids=["with a file of others", "without names of ours"])
def test_a_shared_folder_is_refused_and_its_mode_left_alone(tmp_path: Path, ours: re.Pattern[str] | None) -> None:
    path = tmp_path / "shared"
    path.mkdir()
    (path / ("a.ours" if ours is None else "report.odt")).touch()
    path.chmod(0o2775)
    with pytest.raises(PermissionError, match=r"mode 2775\); close it with chmod 700, or name a folder of your own"):
        open_folder(str(path), ours, make=True)
    assert mode(path) == 0o2775


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o702, 0o757])
def test_a_folder_that_everybody_may_write_is_refused_whatever_it_holds(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    path.chmod(bits)
    for make in (True, False):
        assert f"others may write to the folder (mode {bits:04o})" in refused(path, make=make)
    assert mode(path) == bits


def test_readable_folder_of_ours_is_closed_by_its_creator(tmp_path: Path) -> None:
    ours, mixed = tmp_path / "ours", tmp_path / "mixed"
    for path in (ours, mixed):
        path.mkdir()
        path.chmod(0o755)
    (mixed / "index.html").touch()
    for path in (ours, mixed):
        with open_folder(str(path), OURS):
            assert mode(path) == 0o755
        with open_folder(str(path), OURS, make=True) as folder:
            folder.write("a.ours", b"x")
    assert (mode(ours), mode(mixed)) == (0o700, 0o755)


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir(mode=0o700)
    with open_folder(str(path), OURS):
        pass  # the control
    give_away(path)
    assert refused(path) == f"the folder belongs to another user (uid {STRANGER})"


def test_a_link_is_refused_and_what_it_leads_to_untouched(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(elsewhere)
    assert "symbolic link" in refused(tmp_path / "link")
    with open_folder(str(tmp_path)) as folder:
        for call in (folder.folder, folder.judge_folder):
            with pytest.raises(PermissionError, match="symbolic link"):
                call("link")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    assert "symbolic link" in refused(tmp_path / "nowhere")
    assert mode(elsewhere) == 0o755
    assert not list(elsewhere.iterdir())
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("what", ["file", "fifo"])
def test_what_is_no_folder_is_refused_at_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "thing"
    if what == "file":
        path.touch()
    else:
        os.mkfifo(path)
    assert refused(path) == "it is not a folder"
    with pytest.raises(NotADirectoryError):
        open_folder(str(path / "inner"), make=True)


def test_folder_replaced_after_the_check_is_not_used(tmp_path: Path) -> None:
    path, away, trap = tmp_path / "folder", tmp_path / "away", tmp_path / "trap"
    trap.mkdir()
    (trap / "b.ours").write_bytes(b"planted")
    with open_folder(str(path), OURS, make=True) as folder:
        os.close(folder.create("b.ours"))
        path.rename(away)
        path.symlink_to(trap)
        folder.write("a.ours", b"secret")
        assert folder.read("b.ours", 10) == b""
        folder.rename("a.ours", "c.ours")
        folder.remove("b.ours")
        assert [entry.name for entry in folder.entries()] == ["c.ours"]
    assert (path / "b.ours").read_bytes() == b"planted"  # the control: by the path one is led elsewhere
    assert [entry.name for entry in trap.iterdir()] == ["b.ours"]
    assert (away / "c.ours").read_bytes() == b"secret"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("link", "symbolic link"),
        ("dangling link", "symbolic link"),
        ("fifo", "not a regular file"),
        ("folder", "not a regular file"),
        ("foreign", "belongs to another user"),
        ("0620", "others may write to the file"),
        ("0602", "others may write to the file"),
        ("large", "bytes are too many"),
    ],
)
def test_what_stands_in_a_files_place_is_not_read(tmp_path: Path, what: str, why: str) -> None:
    path, good = tmp_path / "name", tmp_path / "good"
    good.write_bytes(b"content")
    good.chmod(0o600)
    with open_folder(str(tmp_path)) as folder:
        assert folder.read("good", 7) == b"content"  # the control
        assert folder.read("good", 7, first=3) == b"con"
        match what:
            case "link":
                path.symlink_to(good)
            case "dangling link":
                path.symlink_to(tmp_path / "nothing")
            case "fifo":
                os.mkfifo(path)
            case "folder":
                path.mkdir()
            case _:
                path.write_bytes(b"content, larger")
                path.chmod(int(what, 8) if what.isdigit() else 0o600)
                if what == "foreign":
                    give_away(path)
        with pytest.raises(PermissionError, match=why):
            folder.read("name", 7 if what == "large" else 100)


def test_nothing_is_created_where_something_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    with open_folder(str(tmp_path)) as folder, pytest.raises(FileExistsError):
        folder.create("link")
    assert not (tmp_path / "victim").exists()


def test_no_descriptor_is_left_open_however_it_ends(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    before = descriptors()
    for name in ("open", "link", "new"):
        try:
            with open_folder(str(tmp_path / name), make=True) as folder:
                folder.read("missing", 1)
        except OSError:
            pass
    with open_folder(str(tmp_path)) as folder:
        for name in ("open", "link"):
            with pytest.raises(PermissionError):
                folder.judge_folder(name)
    assert descriptors() == before
    assert isinstance(folder, OpenFolder)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="of Linux")
def test_where_no_folder_can_be_made_that_is_an_error_of_the_system() -> None:
    """In /proc, mkdir fails with ENOENT although the parent exists: it must not be tried forever."""
    with pytest.raises(FileNotFoundError):
        open_folder("/proc/home/state", make=True)

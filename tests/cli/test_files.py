"""Files that a command writes: whole or not at all, and never through what somebody has put in the way."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spaniel.cli.output import replacing, write_bytes
from spaniel.errors import Code, SpanielError
from spaniel.files import TEMPORARY_NAME
from tests import programs

ROOT = Path(__file__).resolve().parents[2]
STRANGER = 12_345


def write_text(path: str, data: bytes) -> None:
    with replacing(path) as file:
        file.write(data.decode())


both = pytest.mark.parametrize("write", [write_text, write_bytes])
Write = Callable[[str, bytes], None]


@both
def test_link_at_a_guessable_name_is_not_followed(tmp_path: Path, write: Write) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out.md"
    victim.write_bytes(b"precious")
    guesses = [tmp_path / f"out.md{end}" for end in (f".{os.getpid()}.tmp", ".tmp", ".new", "~")]
    for guess in guesses:
        guess.symlink_to(victim)
    write(str(out), b"page")
    assert (out.read_bytes(), victim.read_bytes()) == (b"page", b"precious")
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "out.md", *(guess.name for guess in guesses)}


@both
@pytest.mark.parametrize("leads", ["to a file", "nowhere", "to a pipe"])
def test_link_at_the_path_is_replaced_and_its_target_kept(tmp_path: Path, write: Write, leads: str) -> None:
    target, out = tmp_path / "target", tmp_path / "out.md"
    if leads == "to a file":
        target.write_bytes(b"precious")
    elif leads == "to a pipe":
        os.mkfifo(target)  # to open it would wait for ever
    out.symlink_to(target)
    write(str(out), b"page")
    assert not out.is_symlink()
    assert out.read_bytes() == b"page"
    if leads == "to a file":
        assert target.read_bytes() == b"precious"
    assert target.exists() is (leads != "nowhere")


@both
def test_own_pipe_is_written_to(tmp_path: Path, write: Write) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(str(pipe), b"page")
    reader.join()
    assert read == [b"page"]
    write(os.devnull, b"page")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@both
def test_pipe_of_another_user_is_replaced(tmp_path: Path, write: Write) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a pipe away")
    pipe = tmp_path / "out.md"
    os.mkfifo(pipe)
    os.chown(pipe, STRANGER, STRANGER)
    write(str(pipe), b"page")
    assert pipe.is_file()
    assert pipe.read_bytes() == b"page"


STANDARD = """
import os, sys
from spaniel.cli.output import replacing
import encodings.utf_8
if os.geteuid() == 0:  # so that no mistake can cost a machine its /dev/stdout
    os.setgroups([]); os.setgid(12345); os.setuid(12345)
for name in sys.argv[1:]:
    with replacing(name) as file:
        file.write(name + "\\n")
"""


def test_own_descriptors_are_written_to(tmp_path: Path) -> None:
    names = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
    for name in names:
        out = tmp_path / "out"
        out.write_bytes(b"")
        if os.geteuid() == 0:
            os.chown(out, STRANGER, STRANGER)
        with out.open("wb") as file:
            programs.run([sys.executable, "-c", STANDARD, name], cwd=ROOT, stdout=file, check=True)
        assert out.read_text() == f"{name}\n"
    assert os.path.islink("/dev/stdout")


@pytest.mark.parametrize("trouble", [SpanielError(Code.NETWORK, error="x"), KeyboardInterrupt(), OSError(28, "full")])
def test_failed_run_leaves_the_old_file_and_nothing_else(tmp_path: Path, trouble: BaseException) -> None:
    out = tmp_path / "out.md"

    def fail_halfway() -> None:
        with replacing(str(out)) as file:
            file.write("half a page")
            file.flush()
            raise trouble

    for there in ([], ["out.md"]):
        with pytest.raises((SpanielError, KeyboardInterrupt)):
            fail_halfway()
        assert [path.name for path in tmp_path.iterdir()] == there
        out.write_bytes(b"mine")
    assert out.read_bytes() == b"mine"


KILLED = """
import os, signal, sys
from spaniel.cli.output import replacing
with replacing(sys.argv[1]) as file:
    file.write("half"); file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_run_leaves_the_old_file_and_one_hidden_file(tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    out.write_bytes(b"mine")
    done = programs.run([sys.executable, "-c", KILLED, str(out)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert out.read_bytes() == b"mine"
    (left,) = (path.name for path in tmp_path.iterdir() if path != out)
    assert TEMPORARY_NAME.fullmatch(left)


def test_nothing_written_replaces_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    out.write_bytes(b"mine")
    write_text(str(out), b"")
    assert out.read_bytes() == b"mine"


@both
def test_file_mode_is_kept_or_the_shells_default(tmp_path: Path, write: Write) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch()
    old.chmod(0o640)
    umask = os.umask(0o022)
    try:
        for path in (new, old):
            write(str(path), b"x")
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (new, old)] == [0o644, 0o640]


@both
def test_write_failure_is_reported(tmp_path: Path, write: Write) -> None:
    for path, why in ((tmp_path / "no" / "out.md", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(SpanielError, match=f"cannot be written: {why}") as caught:
            write(str(path), b"x")
        assert caught.value.code is Code.BAD_ARGS
    assert not list(tmp_path.iterdir())

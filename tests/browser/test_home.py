"""Chromium's folder and who runs it: what another user could do there, against root and against anybody's files."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.browser.find import find_path, locate
from spaniel.browser.home import PREFIX, HomeOwner, make_home, remove_home, sweep
from spaniel.browser.launch import launch
from spaniel.errors import Code, SpanielError

ROOT = Path(__file__).parents[2]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has another user run Chromium")


class Stage(NamedTuple):
    """Folders that anybody may enter: `tmp` for temporary files, `loot` for anybody to write, `programs`."""

    tmp: Path
    loot: Path
    programs: Path

    def chromium(self, deeds: str, name: str = "chromium") -> str:
        """A fake Chromium that records its user and arguments, and runs given commands."""
        path = self.programs / name
        log_call = f'echo "$(id -u) $*" >>{self.loot}/calls'
        path.write_text(f"#!/bin/sh\n{log_call}\n[ $1 = --version ] && echo Chromium 120.0.1 && exit\n{deeds}\n")
        path.chmod(0o755)
        return str(path)

    def calls(self) -> list[str]:
        path = self.loot / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def homes(self) -> list[Path]:
        return list(self.tmp.glob(f"{PREFIX}*"))


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:  # pytest makes its own folder first
    with tempfile.TemporaryDirectory(prefix="spaniel-stage-") as folder:
        made = Stage(*(Path(folder) / name for name in Stage._fields))
        os.chmod(folder, 0o755)  # noqa: S103
        for path, mode in ((made.tmp, 0o1777), (made.loot, 0o777), (made.programs, 0o755)):
            path.mkdir()
            path.chmod(mode)
        monkeypatch.setattr(tempfile, "tempdir", str(made.tmp))
        yield made


async def refusal(path: str) -> str:
    """What is said when Chromium does not start."""
    with pytest.raises(SpanielError) as caught:
        await launch(path)
    assert caught.value.code is Code.BROWSER_UNAVAILABLE
    return caught.value.message


PLANT = "for name in said profile log; do ln -sfn {target} $HOME/$name; readlink $HOME/$name; done >{loot}/planted"


@needs_root
async def test_a_link_that_chromium_plants_is_neither_read_nor_written_by_root(stage: Stage, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"precious error")
    fake = stage.chromium(PLANT.format(target=secret, loot=stage.loot) + "\necho some error >&2; exit 1")
    assert "some error" in await refusal(fake)
    assert (stage.loot / "planted").read_text().split() == [str(secret)] * 3  # the control: they stood there
    assert secret.read_bytes() == b"precious error"
    assert not stage.homes()


RACER = """
import os, sys
tmp, loot, prefix = sys.argv[1:]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print("ready", flush=True)
while True:
    for name in os.listdir(tmp):
        if name.startswith(prefix):
            for folder in (f"{tmp}/{name}", f"{tmp}/{name}/home"):
                for planted in ("said", "home", "profile"):
                    try:
                        os.symlink(f"{loot}/{name}-{planted}", f"{folder}/{planted}")
                    except OSError:
                        pass
"""


@pytest.fixture
def racer(stage: Stage) -> Iterator[None]:
    """Another process of the user nobody, which creates links in every folder of ours that it can write to."""
    command = [sys.executable, "-c", RACER, str(stage.tmp), str(stage.loot), PREFIX]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stdout.readline() == b"ready\n"
        yield
        running.kill()


def roots_files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.lstat().st_uid == 0]


@needs_root
async def test_a_racer_never_gets_root_to_make_a_file_for_it(stage: Stage, racer: None) -> None:
    fake = stage.chromium("exit 1")
    for _ in range(10):
        await refusal(fake)
    assert stage.calls()
    assert not roots_files(stage.loot)
    careless = await asyncio.to_thread(use_what_is_given_away)  # the control
    assert roots_files(stage.loot) == [f"{careless}-said"]


def use_what_is_given_away() -> str:
    folder = tempfile.mkdtemp(prefix=PREFIX)
    os.chown(folder, NOBODY, NOBODY)
    while not os.path.lexists(f"{folder}/said"):
        time.sleep(0.01)
    with open(f"{folder}/said", "wb"):
        return Path(folder).name


AUDITED = """
import asyncio, sys, tempfile
from spaniel.browser.launch import launch
from spaniel.errors import SpanielError
fake, tempfile.tempdir = sys.argv[1:]
events, given = [], []
def hook(event, args):
    if event == "os.chown":
        given.append(args)
    elif event.split(".")[0] in ("open", "os", "shutil") and given and args and isinstance(args[0], str):
        if "/home" in args[0] or args[0] == "home":
            events.append(f"{event} {args[0]}")
sys.addaudithook(hook)
try:
    asyncio.run(launch(fake))
except SpanielError as error:
    pass
print(len(given), [event for event in events if not event.startswith("os.rmdir home")])
"""


@needs_root
def test_once_its_folder_is_given_away_root_opens_nothing_in_it(stage: Stage) -> None:
    """Whatever Python opens, lists, renames or removes is reported to the hook; emptied, the folder itself may go."""
    fake = stage.chromium("echo > $HOME/left; exit 1")
    done = subprocess.run(
        [sys.executable, "-c", AUDITED, fake, str(stage.tmp)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "1 []\n", done.stderr
    assert not stage.homes()


@needs_root
async def test_what_chromium_leaves_is_removed_and_nothing_that_it_points_to(stage: Stage, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "thesis").write_bytes(b"precious")
    deeds = f"""
        ln -s {documents} $HOME/documents; ln -s {documents}/thesis $HOME/thesis; mkfifo $HOME/fifo
        cd $HOME; for i in $(seq 1100); do mkdir d; cd d; done; echo > deep
        exit 1"""
    await refusal(stage.chromium(deeds))
    assert (documents / "thesis").read_bytes() == b"precious"
    assert not stage.homes()


def test_an_own_home_is_removed_whatever_is_in_it(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "thesis").write_bytes(b"precious")
    home = make_home(None)
    os.symlink(tmp_path, f"{home.path}/documents")
    os.mkfifo(f"{home.path}/fifo")
    subprocess.run(["sh", "-c", f"cd {home.path}; for i in $(seq 1100); do mkdir d; cd d; done"], check=True)
    remove_home(home)
    assert not stage.homes()
    assert (tmp_path / "thesis").exists()
    remove_home(home)  # may be done again


@needs_root
async def test_chromium_is_run_by_nobody_and_in_its_sandbox_or_not_at_all(stage: Stage) -> None:
    fake = stage.chromium('echo "No usable sandbox! Update your kernel" >&2; exit 1')
    said = await refusal(fake)
    assert "No usable sandbox" in said
    assert "never run without its sandbox: allow user namespaces" in said
    with pytest.raises(SpanielError, match="never run without its sandbox"):
        locate(fake)
    assert {line.split()[0] for line in stage.calls()} == {str(NOBODY)}
    assert len(stage.calls()) == 3  # one start, one question for its version, one trial
    assert not any("--no-sandbox" in line for line in stage.calls())


@needs_root
async def test_what_nobody_cannot_run_is_not_run_by_root_instead(stage: Stage) -> None:
    fake = stage.chromium("exit 1")
    stage.programs.chmod(0o700)
    said = await refusal(fake)
    assert "Permission denied" in said
    assert "Root has the user nobody run it: install it where every user may run it" in said
    with pytest.raises(SpanielError, match="install it where every user may run it"):
        locate(fake)
    assert not stage.calls()
    assert not stage.homes()
    stage.programs.chmod(0o755)
    await refusal(fake)
    assert stage.calls()[0].startswith(f"{NOBODY} ")  # the control


UNMAPPED = """
import asyncio, sys
from spaniel.browser.launch import launch
from spaniel.errors import SpanielError
try:
    asyncio.run(launch(sys.argv[1]))
except SpanielError as error:
    print(error.code)
"""


async def test_a_root_that_nobody_else_exists_for_does_not_run_it_either(stage: Stage) -> None:
    """Root of a user namespace, as in some containers: it cannot give a folder to the user nobody."""
    fake = stage.chromium("exit 1")
    done = subprocess.run(  # noqa: ASYNC221
        ["unshare", "--user", "--map-root-user", sys.executable, "-c", UNMAPPED, fake],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"TMPDIR": str(stage.tmp)},
    )  # fmt: skip
    assert done.stdout == "browser_unavailable\n", done.stderr
    assert not stage.calls()
    assert not stage.homes()


def _dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@needs_root
def test_the_sweep_takes_what_we_gave_away_and_leaves_what_others_made(stage: Stage, tmp_path: Path) -> None:
    pid = _dead_pid()
    (tmp_path / "thesis").write_bytes(b"precious")
    names = [f"{PREFIX}{pid}-{what}" for what in ("left", "theirs", "link", "open")]
    left, theirs, link, shared = (stage.tmp / name for name in names)
    home = make_home(HomeOwner(NOBODY, NOBODY))
    Path(home.path, "profile").mkdir()
    os.chown(f"{home.path}/profile", NOBODY, NOBODY)
    os.rename(home.outer, left)
    for path in (theirs, shared):
        path.mkdir()
        (path / "file").touch()
    os.chown(theirs, NOBODY, NOBODY)
    shared.chmod(0o777)
    link.symlink_to(tmp_path)
    sweep()
    assert {path.name for path in stage.homes()} == {theirs.name, link.name, shared.name}
    assert [len(list(path.iterdir())) for path in (theirs, shared, tmp_path)] == [1, 1, 1]


def test_home_is_private_until_handed_over_and_cannot_be_replaced(stage: Stage) -> None:
    own = make_home(None)
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in (own.outer, own.path)} == {0o700}
    remove_home(own)
    if os.geteuid() == 0:
        home = make_home(HomeOwner(NOBODY, NOBODY))
        outer, inner = os.stat(home.outer), os.stat(home.path)
        assert (outer.st_uid, stat.S_IMODE(outer.st_mode)) == (0, 0o711)
        assert (inner.st_uid, stat.S_IMODE(inner.st_mode)) == (NOBODY, 0o700)
        remove_home(home)
    assert not stage.homes()


async def test_temporary_files_that_anybody_may_exchange_are_no_place_for_it(stage: Stage) -> None:
    fake = stage.chromium("exit 1")
    stage.tmp.chmod(0o777)
    assert "set TMPDIR to another folder" in await refusal(fake)
    assert not stage.calls()


def test_nothing_is_run_that_lies_where_spaniel_is_started(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = stage.chromium("exit 1")
    monkeypatch.chdir(stage.programs)
    monkeypatch.setenv("PATH", f".:{os.curdir}/::{stage.loot}")
    for setting, why in (
        ("", "is on the PATH"),
        ("chromium", "no such program on the PATH"),
        ("./chromium", "must be an absolute one"),
        ("../programs/chromium", "must be an absolute one"),
    ):
        with pytest.raises(SpanielError, match=why):
            find_path(setting)
    assert find_path(fake) == fake  # the control
    monkeypatch.setenv("PATH", f".:{stage.programs}")
    assert find_path() == find_path("chromium") == fake

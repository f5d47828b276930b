"""Spaniel in a process that is made to look like Windows, as far as that can be done without it.

    python -m tests.without_posix FOLDER

What Spaniel sees of `os` and `sys` is exchanged for what Windows has: POSIX-only names are gone, nothing takes a
`dir_fd`, folders cannot be opened, files that are open can be neither renamed nor removed, and binary files must say
so. The standard library and the dependencies keep the real modules; they have Windows versions of their own.
Prints a JSON object: what was tried, and how it ended.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import io
import json
import os as real
import pkgutil
import sqlite3
import stat
import sys as real_sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import closing, redirect_stdout
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

BINARY = 1 << 30
GONE = """
    O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC O_SYNC O_DSYNC O_NOCTTY O_PATH O_TMPFILE O_ASYNC O_DIRECT O_NOATIME
    geteuid getuid getegid getgid getgroups getgrouplist getresuid getresgid seteuid setuid setegid setgid setgroups
    setresuid setresgid setreuid setregid initgroups chown fchown lchown fchmod fchdir chroot mkfifo mknod major minor
    fork forkpty register_at_fork posix_spawn posix_spawnp killpg getpgid getpgrp setpgid setpgrp getsid setsid nice
    getpriority setpriority wait wait3 wait4 waitid pread pwrite preadv pwritev readv writev sendfile copy_file_range
    splice pipe2 memfd_create eventfd getrandom posix_fadvise posix_fallocate lockf sync fdatasync sysconf pathconf
    fpathconf confstr statvfs fstatvfs uname ctermid ttyname openpty tcgetpgrp tcsetpgrp getloadavg
    sched_getaffinity sched_setaffinity sched_yield sched_getscheduler getxattr setxattr listxattr removexattr
    unshare setns pidfd_open login_tty
""".split()
LOCKED: list[int] = []  # descriptors that were locked, by the stand-in for msvcrt
MISSING_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "spwd", "crypt", "posix")


class Windows(ModuleType):
    """What there is of a module on Windows, as far as Spaniel may notice; all else is the real one's."""

    def __init__(self, of: ModuleType, own: dict[str, Any], gone: frozenset[str] = frozenset()) -> None:
        super().__init__(of.__name__)
        self.__dict__.update(own)
        self._of, self._gone = of, gone

    def __getattr__(self, name: str) -> Any:
        if name in self._gone:
            raise AttributeError(f"module 'os' has no attribute '{name}'")
        return getattr(self._of, name)


def is_open(path: str | Path) -> bool:
    found = real.stat(path)
    for number in real.listdir("/proc/self/fd"):
        try:
            held = real.fstat(int(number))
        except OSError:
            continue
        if (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino):
            return True
    return False


def without_descriptors(call: Callable[..., Any], closed: bool = False) -> Callable[..., Any]:
    """A call that knows no `dir_fd`, and (`closed`) touches no file that anybody has open."""

    def called(*args: Any, **kwargs: Any) -> Any:
        if any(kwargs.pop(name, None) is not None for name in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
            raise NotImplementedError("dir_fd unavailable on this platform")
        if isinstance(args[0], int):
            raise TypeError(f"{call.__name__}: path should be string, bytes or os.PathLike, not int")
        for path in args if closed else ():
            if real.path.isfile(path) and is_open(path):
                raise PermissionError(errno.EACCES, "The process cannot access the file: it is being used", path)
        return call(*args, **kwargs)

    return called


def opened(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    if real.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)
    if not flags & BINARY and path != real.devnull:
        raise AssertionError(f"{path} is opened as text: its line ends would be changed")
    return real.open(path, flags & ~BINARY, mode)


def kill(*_: object) -> None:
    raise AssertionError("os.kill ends processes on Windows, whatever the signal")


def become_windows() -> None:
    """From here on whatever imports `os` or `sys` for the first time gets another one."""
    own: dict[str, Any] = {
        name: without_descriptors(getattr(real, name)) for name in ("lstat", "mkdir", "rmdir", "scandir", "listdir")
    }
    own |= {name: without_descriptors(getattr(real, name), closed=True) for name in ("replace", "rename", "unlink")}
    own |= {"remove": own["unlink"], "open": opened, "kill": kill, "O_BINARY": BINARY, "name": "nt"}
    own |= {"supports_dir_fd": set(), "supports_fd": set(), "supports_follow_symlinks": set()}
    real_sys.modules["os"] = Windows(real, own, frozenset(GONE))
    real_sys.modules["sys"] = Windows(real_sys, {"platform": "win32"})
    for name in MISSING_MODULES:
        real_sys.modules[name] = None  # type: ignore[assignment]


def names() -> list[str]:
    import spaniel

    found = pkgutil.walk_packages(spaniel.__path__, "spaniel.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def prepare() -> list[str]:
    """Load all that Spaniel needs, then forget Spaniel itself: what is compiled cannot be loaded twice."""
    modules = names()
    for name in modules:
        importlib.import_module(name)
    for name in [name for name in real_sys.modules if name.partition(".")[0] == "spaniel"]:
        if ".native" not in name:
            del real_sys.modules[name]
    become_windows()
    return modules


def import_all(modules: list[str]) -> str:
    failed = []
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001
            failed.append(f"{name}: {error!r}")
    return "; ".join(failed) or "fine"


def commands(folder: Path) -> str:
    from spaniel.cli.main import main

    page = folder / "page.html"
    page.write_text("<title>T</title><h1>T</h1><p>Some words that make a paragraph of text.</p>", encoding="utf-8")
    said = io.StringIO()
    with redirect_stdout(said):
        assert main(["canon", "--json", "--policy", "curious", "HTTPS://Example.com/a/?utm_source=x"]) == 0
        assert main(["extract", str(page)]) == 0
        page.with_suffix(".md").write_text(said.getvalue(), encoding="utf-8")
        assert main(["chunk", str(page.with_suffix(".md"))]) == 0
    assert '"url": "https://example.com/a"' in said.getvalue()
    assert "Some words that make a paragraph" in said.getvalue()
    return "fine"


def page_cache(folder: Path) -> str:
    from spaniel.cache import CacheSettings, PageCache, key_for
    from spaniel.cache.maintenance import CacheMaintenance

    root = folder / "pages" / "cache"
    keys = [key_for(f"https://example.com/{number}") for number in range(8)]
    with PageCache(CacheSettings(str(root), max_entries=5)) as cache:
        for key in [*keys, *keys[-3:]]:
            assert cache.put(key, {"markdown": "a\r\nb\x1a\n" * 1000}) is None
        assert [cache.get(key) is not None for key in keys] == [False] * 3 + [True] * 5
    (root / "index.sqlite3").write_bytes(b"damaged")
    left = root / keys[7].hex[:2] / f"{keys[7].hex}.tmp.0123456789abcdef"
    for began in ("by nobody knows whom", "by a process that may live"):
        left.write_bytes(b"half")
        if began == "by a process that may live":
            with closing(sqlite3.connect(root / "index.sqlite3")) as index, index:
                index.execute("INSERT INTO writing VALUES (?, ?, 0)", (left.name, real.getpid()))
        with PageCache(CacheSettings(str(root), max_entries=5)) as cache:
            assert cache.put(keys[7], {"markdown": "again"}) is None
        assert not left.exists()
    with CacheMaintenance(str(root)) as upkeep:
        assert not list(upkeep.verify())
        assert upkeep.stats().entries == 5
        assert upkeep.clear().entries == 5
    return "fine"


def robots_cache(folder: Path) -> str:
    from spaniel.robots.disk_cache import DiskCache, StoredFile

    disk = DiskCache(folder / "robots root" / "robots", 3600.0)
    for _ in range(2):
        disk.write("https://example.com", StoredFile(b"User-agent: *\r\nDisallow: /\x1a", 1000.0))
    assert disk.read("https://example.com", 1000.0) == StoredFile(b"User-agent: *\r\nDisallow: /\x1a", 1000.0)
    real.utime(folder / "robots root" / "robots", (0, 0))
    disk.sweep(1e12)
    assert disk.read("https://example.com", 1000.0) is None
    return "fine"


def written_files(folder: Path) -> str:
    from spaniel.cli.output import replacing, write_bytes

    for text in ("one", "two"):
        with replacing(str(folder / "out.md")) as file:
            file.write(text)
        write_bytes(str(folder / "picture.png"), text.encode())
    write_bytes(real.devnull, b"x")
    assert (folder / "out.md").read_text() == (folder / "picture.png").read_text() == "two"
    return "fine"


def link_database(folder: Path) -> str:
    """Windows locks bytes of a file; the stand-in remembers which files are locked."""
    from spaniel import registry
    from spaniel.registry.database import create

    before = len(LOCKED)
    create(str(folder / "urls"))
    found = registry.open(folder / "urls")
    for path in ("/b", "/a"):
        with found.editing() as editor:
            editor.add(f"http://example.com:8080{path}", {"note": "x"})
            editor.set(f"http://example.com:8080{path}", "note", "y")
    assert [record.url for record in found] == ["http://example.com:8080/a", "http://example.com:8080/b"]
    with found.editing() as editor:
        assert editor.remove("http://example.com:8080/a")
        assert editor.remove("http://example.com:8080/b")
    assert not list(found)
    assert len(LOCKED) - before == 4
    return "fine"


async def whole_fetch(folder: Path) -> str:
    from spaniel.app.client import Spaniel
    from spaniel.app.settings import from_data
    from spaniel.errors import SpanielError
    from spaniel.testing import FakeResolver, Page, Site, redirect, text

    pages: dict[str, Page] = {"/": redirect("/page"), "/page": text("words\n"), "/robots.txt": text("User-agent: *\n")}
    async with Site(pages) as site:
        security = {"block_loopback": False, "allow_insecure_overrides": True, "allowed_ports": [site.port]}
        table = {"cache_dir": str(folder / "fetched"), "security": security}
        async with Spaniel(from_data({"tools": {"webfetch": table}}, "test"), FakeResolver()) as spaniel:
            for _ in range(2):
                assert (await spaniel.fetch(site.url("/"))).markdown == "words\n"
            assert site.requests == {"/": 1, "/page": 1, "/robots.txt": 1}
            try:
                await spaniel.fetch(site.url("/page"), force_browser=True)
            except SpanielError as error:
                return str(error.as_dict()["message"])
    return "it was rendered"


async def doctor(_folder: Path) -> str:
    from spaniel.app.diagnosis import examine

    found = {finding.what: finding for finding in await examine(host="localhost")}
    assert found["cache"].well, found
    return found["chromium"].found


def emulation(folder: Path) -> str:
    """The control: what Windows does not have or do is not had or done here."""
    import os

    held = folder / "held"
    held.touch()
    with held.open("rb"):
        calls: tuple[Callable[[], None], ...] = partial(os.unlink, held), partial(os.replace, held, folder / "other")
        for call in calls:
            try:
                call()
            except PermissionError:
                continue
            return "an open file was touched"
    try:
        os.open(str(folder), os.O_RDONLY)
    except PermissionError:
        pass
    else:
        return "a folder was opened"
    left = [name for name in GONE if hasattr(os, name)]
    return f"still there: {left}" if left else "fine"


async def attempt(trial: Callable[[Path], str | Awaitable[str]], folder: Path) -> str:
    try:
        ended = trial(folder)
        return ended if isinstance(ended, str) else await ended
    except Exception:  # noqa: BLE001
        return traceback.format_exc()


async def main(folder: Path) -> None:
    modules = prepare()
    real_sys.modules["msvcrt"] = Windows(real, {"LK_NBLCK": 2, "locking": lambda number, *_: LOCKED.append(number)})
    result = {"imports": import_all(modules), "modules": str(len(modules))}
    for trial in (emulation, commands, page_cache, robots_cache, written_files, link_database, whole_fetch, doctor):
        result[trial.__name__] = await attempt(trial, folder)
    print(json.dumps(result))


if __name__ == "__main__":
    assert stat.S_ISDIR(real.stat(real_sys.argv[1]).st_mode)
    asyncio.run(main(Path(real_sys.argv[1])))

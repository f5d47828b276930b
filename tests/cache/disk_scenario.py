"""Small disks of its own, in a mount namespace (`unshare --user --map-root-user --mount python -m …`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from spaniel.cache import PageCache
from tests.cache.harness import content, numbered, problems, quick, temporaries

COUNT = 10


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


def notes_while_full(cache: PageCache, ballast: Path) -> list[str | None]:
    """Fill what is left of the disk, then write: small and large, new and old."""
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
    notes = [cache.put(numbered(number), "new") for number in (0, 1, COUNT)]
    os.truncate(ballast, ballast.stat().st_size - 65_536)  # package for the index to begin, not for the file to end
    return notes + [cache.put(numbered(number), "new" * 50_000) for number in (0, 1, COUNT)]


def intact(cache: PageCache) -> int:
    return len([n for n in range(COUNT) if content(cache.get(numbered(n))) == {"old": n}])


def full(folder: Path, options: str) -> dict[str, object]:
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"{options},mode=700", "tmpfs", str(folder))
    cache_folder, ballast = folder / "cache", folder / "ballast"
    with quick(cache_folder, durable=True) as cache:
        for number in range(COUNT):
            assert cache.put(numbered(number), {"old": number}) is None
        if "nr_inodes" in options:
            made = 0
            try:
                while True:
                    (folder / f"f{made}").touch()
                    made += 1
            except OSError:
                notes = [cache.put(numbered(n), "new") for n in (0, 1, COUNT)]
            for number in range(made):
                (folder / f"f{number}").unlink()
        else:
            notes = notes_while_full(cache, ballast)
        found = {
            "notes": sorted(set(map(str, notes))),
            "intact": intact(cache),
            "temporaries": len(temporaries(cache_folder)),
        }
        ballast.unlink(missing_ok=True)
        found["afterwards"] = cache.put(numbered(COUNT), "new")
    with quick(cache_folder) as cache:
        found["intact in another process"] = intact(cache)
    found["problems"] = problems(cache_folder)
    return found


def read_only(folder: Path) -> dict[str, object]:
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(folder))
    with quick(folder / "cache") as cache:
        for number in range(COUNT):
            cache.put(numbered(number), {"old": number})
    mount("-o", "remount,ro", str(folder))
    with quick(folder / "cache") as cache:
        found: dict[str, object] = {"note": cache.put(numbered(0), "new"), "intact": intact(cache)}
        for _ in range(300):  # uses cannot be written to the index, which readers must not notice
            assert cache.get(numbered(1))
    done = subprocess.run(
        [sys.executable, "-m", "spaniel", "cache", "stats", "--dir", str(folder / "cache")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found["command"] = [done.returncode, "cache_read_failed" in done.stderr, "Traceback" in done.stderr]
    return found


if __name__ == "__main__":
    here = Path(sys.argv[1])
    mount("-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(here))
    worlds = {
        "full": full(here / "full", "size=1m"),
        "no inodes": full(here / "inodes", "size=4m,nr_inodes=60"),
        "read-only": read_only(here / "readonly"),
    }
    print(json.dumps(worlds))  # the mounts end with the namespace

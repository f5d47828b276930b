"""A database of 100,000 records: listed, checked, added to; beside a bare read and PyYAML's C loader."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml

from bench.harness import child_cpu, interleave, process, title, wanted

FILES, EACH = 2_000, 50
RECORDS = FILES * EACH
WORDS = ("api", "blog", "data", "docs", "files", "help", "img", "item", "news", "user")
SPANIEL = (sys.executable, "-m", "spaniel", "db")


def make(folder: Path) -> None:
    """As a plain dumper writes them: a third of the hosts have cnames, half of the records are static."""
    dice = random.Random(7)
    for number in range(FILES):
        host = f"host{number}.example"
        parts = [f"---\ncnames:\n- cdn.{host}\n- www.{host}\n" if number % 3 == 0 else "---\n"]
        paths = [
            f"/{dice.choice(WORDS)}/{i:02}-{dice.choice(WORDS)}{dice.choice(('', '.html', '?id=1'))}"
            for i in range(EACH)
        ]
        for i, path in enumerate(sorted(paths)):
            digest = hashlib.sha256(path.encode()).hexdigest()
            static = f"content-length: {dice.randrange(10**7)}\ncontent-sha256: {digest}\n" if i % 2 else ""
            parts.append(f"---\n_path: {path}\n{static}" + ("content-type: text/html\n" if i % 5 == 0 else ""))
        (folder / f"{host}.yaml").write_text("".join(parts), encoding="utf-8")


def bare_read(folder: Path) -> None:
    for name in sorted(os.listdir(folder)):
        with open(folder / name, "rb") as file:
            file.read().decode()


def pyyaml(folder: Path) -> int:
    count = 0
    for name in sorted(os.listdir(folder)):
        with open(folder / name, "rb") as file:
            count += len(list(yaml.load_all(file, Loader=yaml.CSafeLoader)))
    return count


def reading(folder: Path) -> dict[str, Callable[[], object]]:
    from spaniel import registry
    from spaniel.registry.database import misfits

    found = registry.open(folder)

    def iterate() -> None:
        assert sum(1 for _ in found) >= RECORDS

    def check() -> None:
        assert not list(misfits(found))

    return {
        "bare read": lambda: bare_read(folder),
        "spaniel, iterate": iterate,
        "spaniel, fmt --check": check,
        "PyYAML's C loader": lambda: pyyaml(folder),
    }


def commands(folder: Path) -> dict[str, Callable[[], object]]:
    db = ("--db", str(folder))
    return {
        "a bare Python": process([sys.executable, "-c", "pass"]),
        "db ls": process([*SPANIEL, "ls", *db]),
        "db fmt --check": process([*SPANIEL, "fmt", "--check", *db]),
        "db add, a host with a file": process([*SPANIEL, "add", *db, "http://host7.example/new"]),
        "db add, a new host": process([*SPANIEL, "add", *db, "http://new.example/new"]),
    }


def peak(command: list[str]) -> float:
    """MB at most of a command, as a process of its own children sees it."""
    script = (
        "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


def opened_files(folder: Path) -> int:
    """How many files of the database one `add` opens, as the audit events of Python have it."""
    script = (
        "import sys\nseen = set()\n"
        "sys.addaudithook(lambda event, args: seen.add(str(args[0])) if event == 'open' else None)\n"
        "from spaniel.cli.main import main\nmain(sys.argv[1:])\nprint(sum(name.endswith('.yaml') for name in seen))"
    )
    command = [sys.executable, "-c", script, "db", "add", "-q", "--db", str(folder), "http://host8.example/new"]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run() -> None:
    title("a database of links, 100,000 records over 2,000 files")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder)
        seconds = interleave(reading(folder), rounds=5)
        for name, taken in seconds.items():
            print(f"  {name:<28} {taken:6.2f} CPU s  {1e6 * taken / RECORDS:6.1f} µs a record")
        wanted("fmt --check, µs a record", 1e6 * seconds["spaniel, fmt --check"] / RECORDS, most=15)
        wanted("PyYAML / iterate", seconds["PyYAML's C loader"] / seconds["spaniel, iterate"], least=1)
        processes = interleave(commands(folder), rounds=5, clock=child_cpu)
        for name, taken in processes.items():
            print(f"  {name:<28} {taken:6.2f} CPU s")
        wanted("add, cold, CPU s", processes["db add, a host with a file"], most=0.3)
        wanted("files that add opens", opened_files(folder), most=1)
        for name in ("ls", "fmt"):
            print(f"  db {name}, peak {peak([*SPANIEL, name, '--db', str(folder)]):.0f} MB")

"""A run: a folder beside its output with `run.json`, the shards and their part files. One process at a time uses it."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.files import TEMPORARY_NAME, sync_folder, try_lock, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spaniel.runs.store import ShardCounts

FOLDER = ".batch"  # behind the name of the output
LOCK, ABOUT, SUMMARY = "lock", "run.json", "summary.json"
FORMAT = 5  # since 4: SQLite files in place of a plan and a journal; since 5 they hold results, too
PART = "records.jsonl.zst"  # of an output that is made of records when all are there
_OLD = r"journal|tasks|hosts|run-\d+"  # of formats up to 3
_SHARD = (
    r"shard-\d{4,}(-\d{5,}\.[a-z.]+|\.(lock|writer|sqlite3(\.new|\.damaged)?(-wal|-shm|-journal)?))|worker-\d+\.tasks"
)
_STORE = r"run\.(lock|sqlite3(\.new|\.damaged)?(-wal|-shm|-journal)?)"
_OURS = re.compile(rf"{ABOUT}|{SUMMARY}|{re.escape(PART)}|{_STORE}|{_SHARD}|{_OLD}|{TEMPORARY_NAME.pattern}")
_OF_SHARDS = re.compile(_SHARD)


class PlanCounts(NamedTuple):
    """What a plan holds."""

    items: int = 0  # URLs of the input
    planned: int = 0  # of them in this part of it (`--shard`)
    tasks: int = 0  # pages to fetch
    refused: int = 0  # of the planned: not URLs by the policy
    hosts: int = 0
    longest: int = 0  # pages of the host that has the most

    @property
    def duplicates(self) -> int:
        return self.planned - self.refused - self.tasks

    def with_shard(self, shard: ShardCounts) -> PlanCounts:
        return PlanCounts(
            self.items,
            self.planned + shard.planned,
            self.tasks + shard.tasks,
            self.refused + shard.refused,
            self.hosts + shard.hosts,
            max(self.longest, shard.longest),
        )


class About(NamedTuple):
    """What a run was begun with. It is resumed with the same."""

    sources: dict[str, str]  # name -> fingerprint; empty where unknown
    shape: dict[str, str]  # what decides which record a URL gets: profile, shard, limit
    counts: PlanCounts
    lost: int = 0  # how often URLs of the sources could not be read
    shards: tuple[int, ...] = ()  # the numbers of those that have items
    shard_count: int = 1  # among which hosts are divided
    is_spread: bool = False  # whether the pages of one host are in several shards


class RunFolder:
    """The folder of one output."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.path = output.rstrip(os.sep) + FOLDER

    @property
    def summary(self) -> str:
        return os.path.join(self.path, SUMMARY)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and keep others out of it while the block runs; a killed run leaves no lock."""
        descriptor = self._lock()
        try:
            yield
        finally:
            with suppress(OSError):
                if os.listdir(self.path) == [LOCK]:  # no run was begun
                    os.unlink(os.path.join(self.path, LOCK))
                    os.rmdir(self.path)
            os.close(descriptor)

    def _lock(self) -> int:
        path = os.path.join(self.path, LOCK)
        try:
            while True:
                os.makedirs(self.path, 0o755, exist_ok=True)  # SQLite files are in no folder that others write to
                self._require_own()
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
                self._require_sole_user(descriptor)
                if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
                os.close(descriptor)  # of a run that has just removed it
        except OSError as error:
            raise _bad(self.output, f"cannot be written: {error.strerror}") from None

    def _require_sole_user(self, descriptor: int) -> None:
        try:
            is_ours = try_lock(descriptor)
        except OSError:  # a file system without locks
            is_ours = False
        if not is_ours:
            os.close(descriptor)
            raise _bad(self.output, "another run is writing to it now")

    def read(self) -> About | None:
        """What the run is about whose plan is here; None where none was finished."""
        try:
            with open(os.path.join(self.path, ABOUT), encoding="utf-8") as file:
                data = json.load(file)
            if data["format"] != FORMAT:
                raise _bad(self.output, _other_version(data["format"]))
            return About(
                data["sources"],
                data["shape"],
                PlanCounts(*data["counts"]),
                data["lost"],
                tuple(data["shards"]),
                data["shard_count"],
                data["is_spread"],
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise _bad(self.path, f"{ABOUT} is damaged ({error}); begin again with --overwrite") from None

    def write(self, about: About) -> None:
        """From now on the run can be resumed: its plan is on the disk."""
        data = {"format": FORMAT, **about._asdict(), "counts": list(about.counts)}
        sync_folder(self.path)
        write_atomically(os.path.join(self.path, ABOUT), json.dumps(data).encode(), None, durable=True)

    def clear(self) -> None:
        """Forget the run, all but its lock. Nothing is removed that has not a name of ours."""
        for name in os.listdir(self.path):
            if _OURS.fullmatch(name):
                os.unlink(os.path.join(self.path, name))

    def remove_shards(self) -> None:
        """The run is done, and its records are collected."""
        for name in os.listdir(self.path):
            if _OF_SHARDS.fullmatch(name):
                with suppress(FileNotFoundError):  # SQLite removes its log when a worker of an earlier run ends
                    os.unlink(os.path.join(self.path, name))

    def _require_own(self) -> None:
        """In a folder that others may write to, another user may have put a link or folder in its place."""
        found = os.lstat(self.path)
        is_own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or not is_own:
            raise _bad(self.path, "is not a folder of yours; remove it, or choose another output")


def _other_version(found: object) -> str:
    is_older = isinstance(found, int) and found < FORMAT
    which = "an earlier version of Spaniel" if is_older else "another version of Spaniel"
    return (
        f"its run was begun by {which}, and this version cannot continue it. Finish it with that version, "
        "or begin again with --overwrite"
    )


def require_same(before: About, sources: Mapping[str, str], shape: Mapping[str, str], output: str) -> None:
    """A run is resumed with what it was begun with, or not at all: records of two inputs must not meet in one file."""
    if list(before.sources) != list(sources):
        raise _changed(output, f"it was begun with {', '.join(before.sources)}")
    for name, fingerprint in sources.items():
        if before.sources[name] != fingerprint:
            raise _changed(output, f"{name} has changed since")
    for name, value in before.shape.items():
        if (now := shape.get(name)) != value:
            raise _changed(output, f"it was begun with {name} {value}, not {now}")


def _changed(output: str, reason: str) -> SpanielError:
    may = "Give what it was begun with, or begin again with --overwrite"
    return _bad("--resume", f"the run of {output} cannot be resumed: {reason}. {may}")


def _bad(field: str, reason: str) -> SpanielError:
    return SpanielError(Code.BAD_ARGS, field=field, reason=reason)

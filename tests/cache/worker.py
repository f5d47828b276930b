"""Processes of their own, for tests of several: `python -m tests.cache.worker JOB FOLDER …`, a JSON line at the end."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spaniel.cache import CacheSettings, PageCache, Validators, key_for
from tests.cache.harness import content, numbered, problems, temporaries

KEYS = 50
MOST = 40  # entries: fewer than keys, so that eviction has its part


def value(key: int, writer: int, number: int) -> dict[str, object]:
    """Of any two values, each byte says to which it belongs: a mixture cannot pass for either."""
    mark = f"{key}/{writer}/{number};"
    return {"key": key, "writer": writer, "number": number, "body": mark * (50 + (writer * 7 + number) % 400)}


def whole(key: int, found: object) -> bool:
    return isinstance(found, dict) and found == value(key, found["writer"], found["number"])


def mix(folder: str, writer: str, operations: str) -> dict[str, int]:
    """Reads and writes at random; every read must be a whole value that some writer wrote."""
    dice = random.Random(int(writer))
    result = {"hits": 0, "misses": 0, "puts": 0, "failed": 0, "torn": 0}
    keys = [numbered(number) for number in range(KEYS)]
    with PageCache(CacheSettings(folder, max_entries=MOST)) as cache:
        for number in range(int(operations)):
            key = dice.randrange(KEYS)
            if dice.random() < 0.2:
                failed = cache.put(keys[key], value(key, int(writer), number)) is not None
                result["failed" if failed else "puts"] += 1
            elif (entry := cache.get(keys[key])) is None:
                result["misses"] += 1
            else:
                result["hits" if whole(key, content(entry)) else "torn"] += 1
    return result


def mix_many(folder: str, processes: str, operations: str) -> dict[str, int]:
    """As many processes at once, which share nothing but the folder; what they saw, added up."""
    go, start = os.pipe()
    reading, writing = os.pipe()
    for writer in range(int(processes)):
        if os.fork() == 0:
            os.close(start)
            os.read(go, 1)  # nothing comes: it ends when all are there
            os.write(writing, f"{json.dumps(mix(folder, str(writer), operations))}\n".encode())
            os._exit(0)
    os.close(start)
    ended = [os.wait()[1] for _ in range(int(processes))]
    os.close(writing)
    with os.fdopen(reading) as lines:
        result = [json.loads(line) for line in lines]
    assert (set(ended), len(result)) == ({0}, int(processes))
    return {name: sum(one[name] for one in result) for name in result[0]}


def careless(folder: str) -> dict[str, int]:
    """The control: a writer that writes in place, and a reader that asks for no checksum. It must see torn values."""
    path = Path(folder) / "page"
    child = os.fork()
    if child == 0:
        for number in range(1_000_000):
            path.write_text(json.dumps(value(1, number % 2, 0)))
    torn = 0
    while torn == 0:
        try:
            torn += not whole(1, json.loads(path.read_text()))
        except ValueError:
            torn += 1
        except FileNotFoundError:
            pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return {"torn": torn}


def fill(folder: str, first: str, count: str, most_entries: str, most_bytes: str) -> dict[str, int]:
    """Puts so many entries of 1,000 bytes and more."""
    settings = CacheSettings(folder, max_entries=int(most_entries), max_bytes=int(most_bytes), durable=False)
    with PageCache(settings) as cache:
        failed = [cache.put(numbered(int(first) + n), "x" * 1_000) for n in range(int(count))]
    return {"failed": len([note for note in failed if note])}


def use(folder: str, *numbers: str) -> dict[str, int]:
    """Reads these, in this order."""
    with PageCache(CacheSettings(folder)) as cache:
        return {"hits": len([n for n in numbers if cache.get(numbered(int(n)))])}


def kill(folder: str, times: str, seed: str) -> dict[str, int]:
    """Writers are killed at random moments; afterwards every entry whose `put` succeeded must be there."""
    dice = random.Random(int(seed))
    kept: dict[int, int] = {}  # key -> the last number whose put returned
    result = {"kills": 0, "puts": 0, "in flight": 0, "lost": 0, "torn": 0, "left": 0, "problems": 0}
    begun = 0
    for _ in range(int(times)):
        done = _write_until_killed(folder, begun, dice.uniform(0.001, 0.06))
        result["kills"] += 1
        result["in flight"] += len(temporaries(Path(folder)))
        result["puts"] += len(done)
        for number in done:
            kept[number % KEYS] = number
        flight = begun + len(done)
        begun = flight + 1
        with PageCache(CacheSettings(folder)) as cache:
            cache.put(key_for("https://example.com/after"), 1)  # the next writer sweeps
            for key, number in kept.items():
                found = content(cache.get(numbered(key)))
                if found is None:
                    result["lost"] += 1
                elif not whole(key, found):
                    result["torn"] += 1
                elif found["number"] not in (number, flight):  # type: ignore[index]
                    result["lost"] += 1
                else:
                    kept[key] = found["number"]  # type: ignore[index]
        result["left"] += len(temporaries(Path(folder)))
    result["problems"] = len(problems(Path(folder)))
    return result


def _write_until_killed(folder: str, first: int, seconds: float) -> list[int]:
    """The numbers whose put has returned. The clock starts when the child is about to write."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with PageCache(CacheSettings(folder)) as cache:
            os.write(writer, struct.pack("q", -1))
            number = first
            while True:
                if cache.put(numbered(number % KEYS), value(number % KEYS, 0, number)) is not None:
                    os._exit(1)
                os.write(writer, struct.pack("q", number))
                number += 1
    os.close(writer)
    os.read(reader, 8)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "a put failed"
    with os.fdopen(reader, "rb") as pipe:
        return [number for (number,) in struct.iter_unpack("q", pipe.read())]


def renew(folder: str, times: str, seed: str) -> dict[str, int]:
    """Processes that renew an entry are killed at random moments; readers must always get a valid entry."""
    dice = random.Random(int(seed))
    result = {"kills": 0, "renewals": 0, "reads": 0, "lost": 0, "torn": 0, "left": 0, "problems": 0}
    known = {f'"{number:06}"': number for number in range(100_000)}
    with PageCache(CacheSettings(folder, durable=False)) as cache:
        cache.put(numbered(1), value(1, 0, 300), _at(0), timedelta(hours=1), Validators('"000000"'))
        first = 0
        for _ in range(int(times)):
            child = _renew_until_killed(folder, first)
            end = time.monotonic() + dice.uniform(0.001, 0.06)
            while time.monotonic() < end:
                result["reads"] += 1
                result["lost"] += cache.peek(numbered(1)) is None
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            result["kills"] += 1
            entry = cache.peek(numbered(1))
            if entry is None:
                result["lost"] += 1
                continue
            number = known[entry.etag or ""]
            result["torn"] += not (entry.fetched_at == _at(number) and whole(1, content(entry)))
            result["renewals"] += number - first
            first = number
    result["left"], result["problems"] = len(temporaries(Path(folder))), len(problems(Path(folder)))
    return result


def _renew_until_killed(folder: str, first: int) -> int:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with PageCache(CacheSettings(folder, durable=False)) as cache:
            os.write(writer, b"!")
            for number in range(first + 1, 100_000):
                entry = cache.peek(numbered(1))
                if entry is None:
                    os._exit(1)
                cache.renew(numbered(1), entry, _at(number), timedelta(hours=1), Validators(f'"{number:06}"'))
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    return child


def _at(number: int) -> datetime:
    return datetime(2027, 1, 1, tzinfo=UTC) + timedelta(seconds=number)


def die(folder: str, step: str) -> dict[str, int]:
    """Dies by its own hand (kill -9) at a step of a write that replaces `old` and evicts one."""
    from spaniel.cache import folder as files
    from spaniel.cache import index, store

    def dying(before: Callable[..., object] | None = None) -> Callable[..., None]:
        def die_now(*args: object) -> None:
            if before:
                before(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        return die_now

    def half(descriptor: int, raw: bytes, durable: bool) -> None:
        os.write(descriptor, raw[: len(raw) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    cache = PageCache(CacheSettings(folder, max_entries=3))
    places: dict[str, tuple[object, str, Callable[..., object]]] = {
        "announced": (cache._folder, "create", dying()),
        "created": (store, "write_all", dying()),
        "half written": (store, "write_all", half),
        "written": (store, "write_all", dying(files.write_all)),
        "evicted": (cache._folder, "replace", dying()),
        "renamed": (cache._folder, "replace", dying(cache._folder.replace)),
        "indexed": (index, "add", dying(index.add)),
        "committed": (cache._folder, "sync", dying()),
    }
    setattr(*places[step])
    cache.put(numbered(9), "new")
    return {}


if __name__ == "__main__":
    jobs: dict[str, Callable[..., dict[str, int]]] = {
        "mix_many": mix_many,
        "careless": careless,
        "fill": fill,
        "use": use,
        "kill": kill,
        "die": die,
        "renew": renew,
    }
    print(json.dumps(jobs[sys.argv[1]](*sys.argv[2:])))

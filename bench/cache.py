"""The page cache: a hit and a put of an 80 KB document beside diskcache, hishel and the bare system calls."""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import diskcache
import hishel
import msgspec

from bench.harness import interleave, title, wanted
from spaniel.cache import CacheKey, CacheSettings, PageCache, key_for
from spaniel.cache.folder import SHARDS, CacheFolder

HOT = 300  # documents that are read, among all the others
SMALL, LARGE = 10_000, 1_000_000
PUTS = 20
ROUNDS = 9
LINKS = 50_000  # names that one file may have, on most file systems


PEERS = {
    "diskcache": "the same JSON, no checksum",
    "hishel": "the same JSON, no checksum",
    "diskcache, pickle": "no JSON to parse, no checksum",
}


def document() -> dict[str, object]:
    """80,000 characters of Markdown and the offsets of its chunks: what a page looks like in the cache."""
    dice = random.Random(4)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(2_000)]
    lines = (" ".join(dice.choices(words, k=14)) + ('. "Né–à"' if n % 5 == 0 else ".") for n in itertools.count())
    text = "\n".join(itertools.islice(lines, 1_200))[:80_000]
    chunks = [
        {"start": n, "end": n + 2_400, "token_count": 600, "heading": "A heading"} for n in range(0, 80_000, 2_400)
    ]
    return {"final_url": "https://bench.example/page", "title": "A page", "markdown": text, "chunks": chunks}


def hot_key(number: int) -> CacheKey:
    return key_for(f"https://bench.example/hot/{number}")


def run() -> None:
    """CPU time, steadier than wall time on a busy machine; but wall time where the disk is waited for."""
    with tempfile.TemporaryDirectory(prefix="spaniel-bench-") as name:
        here = Path(name)
        hits = hits_among(here, SMALL)
        putting(here)
        title(f"page cache, a hit, among {LARGE:,} entries")
        print(f"  filled in {filled(here / 'large', LARGE):.0f} s: every entry has its row and its name in its folder,")
        print(f"  but only {HOT} are documents; the others are names of a few small files")
        among_many(here, hits)


def hits_among(here: Path, count: int) -> dict[str, float]:
    filled(here / "small", count)
    page, bare = document(), CacheFolder(str(here / "small"))
    cache = PageCache(CacheSettings(str(here / "small"), max_entries=2 * count, max_bytes=None))
    disk = diskcache.Cache(str(here / "diskcache"))
    web = hishel.SqliteStorage(database_path=here / "hishel.db")
    body = msgspec.json.encode(page)
    with disk.transact():
        for number in range(count):
            disk.set(f"https://bench.example/{number}", number)
    for number in range(HOT):
        disk.set(hot_key(number).hex, body)
        disk.set("pickle" + hot_key(number).hex, page)
        store(web, hot_key(number).hex, body)
    for number in range(count - HOT):
        store(web, str(number), b"{}")
    cases = {
        "limit": reading(lambda number: msgspec.json.decode(read(bare.path(hot_key(number).hex)))),
        "spaniel": reading(lambda number: msgspec.json.decode(unparsed(cache, number))),
        "spaniel, unparsed": reading(lambda number: unparsed(cache, number)),
        "diskcache": reading(lambda number: msgspec.json.decode(disk[hot_key(number).hex])),
        "diskcache, pickle": reading(lambda number: disk["pickle" + hot_key(number).hex]),
        "hishel": reading(lambda number: msgspec.json.decode(load(web, hot_key(number).hex))),
    }
    seconds = interleave(cases, ROUNDS, time.process_time)
    title(f"page cache, a hit of 80 KB, parsed, among {count:,} entries")
    show(seconds, HOT)
    wanted("spaniel, checksum verified, against a bare read and parse", seconds["spaniel"] / seconds["limit"], most=4)
    for peer, does in PEERS.items():
        print(f"  {peer} ({does}), in hits of spaniel: {seconds[peer] / seconds['spaniel']:.2f}")
    cache.close()
    disk.close()
    web.close()
    return seconds


def putting(here: Path) -> None:
    """Without waiting for the disk, as the peers do; and with, beside the bare calls that it takes."""
    page = document()
    body = msgspec.json.encode(page)
    fresh = itertools.count()
    small = str(here / "small")
    quick = PageCache(CacheSettings(small, max_entries=SMALL, max_bytes=None, durable=False))
    durable = PageCache(CacheSettings(small, max_entries=SMALL, max_bytes=None))
    disk = diskcache.Cache(str(here / "diskcache"))
    web = hishel.SqliteStorage(database_path=here / "hishel.db")

    def new_key() -> CacheKey:
        return key_for(f"https://bench.example/new/{next(fresh)}")

    cases = {
        "spaniel": times(PUTS, lambda: quick.put(new_key(), page)),
        "diskcache": times(PUTS, lambda: disk.set(new_key().hex, page)),
        "hishel": times(PUTS, lambda: store(web, new_key().hex, body)),
        "bare": times(PUTS, lambda: write(here, msgspec.json.encode(page), durable=False)),
    }
    title("page cache, a put of 80 KB, the limit of entries reached, not waiting for the disk")
    seconds = interleave(cases, ROUNDS, time.process_time)
    show(seconds, PUTS)
    for peer in ("diskcache", "hishel"):
        wanted(f"{peer} against spaniel", seconds[peer] / seconds["spaniel"], least=1)
    title("the same, waiting for the disk: file and folder synced (the default)")
    synced = interleave(
        {
            "spaniel": times(PUTS, lambda: durable.put(new_key(), page)),
            "bare": times(PUTS, lambda: write(here, msgspec.json.encode(page), durable=True)),
        },
        ROUNDS,
    )
    show(synced, PUTS)
    wanted("spaniel against the bare calls", synced["spaniel"] / synced["bare"], most=2)
    for cache in (quick, durable):
        cache.close()
    disk.close()
    web.close()


def among_many(here: Path, before: dict[str, float]) -> None:
    page, fresh = document(), itertools.count()
    sizes = {"small": SMALL, "large": LARGE}
    caches = {
        name: PageCache(CacheSettings(str(here / name), max_entries=count, max_bytes=None, durable=False))
        for name, count in sizes.items()
    }

    def get(cache: PageCache) -> Callable[[], None]:
        return reading(lambda number: msgspec.json.decode(unparsed(cache, number)))

    def put(cache: PageCache) -> Callable[[], None]:
        return times(PUTS, lambda: cache.put(key_for(f"https://bench.example/more/{next(fresh)}"), page))

    hits = interleave({f"{sizes[name]:,}": get(cache) for name, cache in caches.items()}, ROUNDS, time.process_time)
    show(hits, HOT)
    wanted("a hit among a million against one among ten thousand", hits[f"{LARGE:,}"] / hits[f"{SMALL:,}"], most=1.25)
    wanted("and against a bare read and parse", hits[f"{LARGE:,}"] / before["limit"], most=4)
    puts = interleave({f"{sizes[name]:,}": put(cache) for name, cache in caches.items()}, ROUNDS, time.process_time)
    print("  a put, the limit reached:")
    show(puts, PUTS)
    wanted("a put among a million against one among ten thousand", puts[f"{LARGE:,}"] / puts[f"{SMALL:,}"], most=2)
    for cache in caches.values():
        cache.close()


def filled(root: Path, count: int) -> float:
    """Seconds it took. The documents are put as ever; the rest gets rows, and names that are links to small files."""
    start = time.perf_counter()
    page = document()
    with PageCache(CacheSettings(str(root), max_entries=count, max_bytes=None, durable=False)) as cache:
        for number in range(HOT):
            cache.put(hot_key(number), page)
    for shard in SHARDS:
        (root / shard).mkdir(mode=0o700, exist_ok=True)
    db = sqlite3.connect(root / "index.sqlite3")
    now = int(time.time())
    db.executemany(
        "INSERT INTO entries VALUES (?, ?, 'bench.example', 'http', NULL, 5, ?, ?, ?)",
        (
            (key, "https://bench.example/other", now, now + 604_800, -n)
            for n, key in enumerate(names(root, count - HOT))
        ),
    )
    db.commit()
    db.close()
    return time.perf_counter() - start


def names(root: Path, count: int) -> Iterator[bytes]:
    dice = random.Random(5)
    source = root
    for number in range(count):
        if number % LINKS == 0:
            source = root / f"source{number}"
            source.write_bytes(b"small")
        key = dice.randbytes(32)
        os.link(source, f"{root}/{key[:1].hex()}/{key.hex()}.json")
        yield key


def unparsed(cache: PageCache, number: int) -> msgspec.Raw:
    entry = cache.get(hot_key(number))
    assert entry is not None
    return entry.content


def read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def store(web: hishel.SqliteStorage, key: str, body: bytes) -> None:
    """hishel keeps a body as it is read."""
    request = hishel.Request("GET", "https://bench.example/")
    entry = web.create_entry(request, hishel.Response(200, stream=iter([body])), key)
    for _ in entry.response.stream:
        pass


def load(web: hishel.SqliteStorage, key: str) -> bytes:
    [entry] = web.get_entries(key)
    return b"".join(entry.response.stream)


def write(here: Path, raw: bytes, durable: bool) -> None:
    """What no atomic write can do without."""
    (here / "bare").mkdir(exist_ok=True)
    path = here / "bare" / os.urandom(8).hex()
    descriptor = os.open(f"{path}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(descriptor, raw)
    if durable:
        os.fsync(descriptor)
    os.close(descriptor)
    Path(f"{path}.tmp").rename(path)
    if durable:
        folder = os.open(here / "bare", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def reading(one: Callable[[int], object]) -> Callable[[], None]:
    """Every document once, in an order of its own."""
    order = random.Random(6).sample(range(HOT), HOT)

    def run_once() -> None:
        for number in order:
            one(number)

    return run_once


def times(count: int, one: Callable[[], object]) -> Callable[[], None]:
    def run_once() -> None:
        for _ in range(count):
            one()

    return run_once


def show(seconds: dict[str, float], count: int) -> None:
    for name, taken in seconds.items():
        print(f"  {name:<20} {taken / count * 1e6:>9,.1f} µs")

"""What the tests of the cache share."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from spaniel.cache import CacheEntry, CacheKey, CacheSettings, PageCache, key_for
from spaniel.cache.maintenance import CacheMaintenance, CacheProblem
from spaniel.testing import FakeClock

ROOT = Path(__file__).resolve().parents[2]
PAGE = key_for("https://example.com/page")
OTHER = key_for("https://other.example/page")


def numbered(number: int) -> CacheKey:
    return key_for(f"https://example.com/{number}")


def quick(folder: Path, clock: FakeClock | None = None, **settings: Any) -> PageCache:
    """A cache that does not wait for the disk: for tests that are not about it."""
    chosen = CacheSettings(str(folder), durable=False)._replace(**settings)
    return PageCache(chosen, clock.time) if clock else PageCache(chosen)


def content(entry: CacheEntry | None) -> object:
    return None if entry is None else json.loads(bytes(entry.content))


def file_of(folder: Path, key: CacheKey) -> Path:
    return folder / key.hex[:2] / f"{key.hex}.json"


def temporaries(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*/*.tmp.*")]


def problems(folder: Path) -> list[CacheProblem]:
    with CacheMaintenance(str(folder)) as upkeep:
        return list(upkeep.verify())


def run_sql(folder: Path, statement: str, *values: object) -> list[tuple[int, ...]]:
    db = sqlite3.connect(folder / "index.sqlite3")
    found = db.execute(statement, values).fetchall()
    db.commit()
    db.close()
    return found

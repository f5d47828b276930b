"""What two runs must have in common, however they were made: the same records and the same captures, but for times."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

TIMES = frozenset({"ms", "waited", "fetched_at"})  # fields
MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ| \d\d:\d\d UTC)")  # in fields, and in the checklist


def digest(found: Iterable[dict[str, Any]]) -> str:
    """Of records, whatever their order: every field, but for times."""
    return hashlib.sha256("\n".join(sorted(map(steady, found))).encode()).hexdigest()


def steady(record: dict[str, Any]) -> str:
    """A record without its times."""
    return MOMENT.sub("then", json.dumps(_timeless(record), sort_keys=True))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(inner) for name, inner in value.items() if name not in TIMES}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


def captures_digest(*files: Path) -> str:
    """Of WARC files: each record's kind, address and block, but for identities and times."""
    kept = []
    for path in files:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type in ("request", "response"):
                    headers = record.rec_headers
                    kept.append(f"{record.rec_type} {headers['WARC-Target-URI']} {headers['WARC-Block-Digest']}")
    return hashlib.sha256("\n".join(sorted(kept)).encode()).hexdigest()

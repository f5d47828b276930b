"""Records as rows of one table, the same whatever they hold, and back again.

`id`, `text` and `url` come first, under the names that readers of training data look for. Scalars are columns, what
is nested is JSON text, and what the table does not know is in `extra`: so files of different runs go together.
"""

from __future__ import annotations

from typing import Any

import msgspec

TEXTS = (
    "requested_url", "canonical_url", "final_url", "verdict", "extraction_method", "rendering_method", "content_type",
    "content_hash", "markdown_hash", "title", "page_title", "language", "fetched_at", "served_at", "cached_at",
    "archive_url", "archive_date", "freshness_class",
)  # fmt: skip
NUMBERS = ("ordinal", "status", "content_length", "ttl_hours")
NESTED = (
    "error", "chain", "attempts", "ladder", "checklist", "notes", "caveats", "warnings", "metadata", "extraction",
    "freshness", "validators", "signals", "chunks", "columns",
)  # fmt: skip
COLUMNS = ("id", "text", "url", *NUMBERS, *TEXTS, *NESTED, "extra")

_line = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()


def row_of(line: bytes) -> dict[str, object]:
    """A record as a row. A value that does not fit its column is in `extra`, as it is."""
    record = _line.decode(line)
    row: dict[str, object] = {}
    for name in NUMBERS:
        _move(record, row, name, int)
    for name in TEXTS:
        _move(record, row, name, str)
    for name in NESTED:
        raw = record.pop(name, None)
        row[name] = _text(raw) if raw is not None and bytes(raw) != b"null" else None
    _move(record, row, "markdown", str)
    row["text"] = row.pop("markdown", None)
    row["id"] = str(row.get("ordinal"))
    row["url"] = row.get("final_url") or row.get("canonical_url") or row.get("requested_url")
    row["extra"] = msgspec.json.encode(record).decode() if record else None
    return row


def _move(record: dict[str, msgspec.Raw], row: dict[str, object], name: str, kind: type) -> None:
    if name not in record:
        return
    value: object = _any.decode(record[name])
    too_great = isinstance(value, int) and not -(1 << 63) <= value < 1 << 63
    if value is None or (type(value) is kind and not too_great):
        row[name] = value
        del record[name]


def line_of(row: dict[str, Any]) -> bytes:
    """A row as a record again; keys whose value was null are left out."""
    record = {name: row[name] for name in (*NUMBERS, *TEXTS) if row[name] is not None}
    record |= {name: msgspec.Raw(row[name].encode()) for name in NESTED if row[name] is not None}
    if row["text"] is not None:
        record["markdown"] = row["text"]
    record |= _line.decode(row["extra"] or "{}")
    return msgspec.json.encode(record) + b"\n"


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()

"""Records as rows of one table, the same whatever they hold, and back again.

`id`, `text` and `url` come first, under the names that readers of training data look for. Scalars are columns, what
is nested is JSON text, and what the table does not know is in `extra`: so files of different runs go together.
"""

from __future__ import annotations

from typing import Any

import msgspec

TEXTS = (
    "requested_url", "canonical_url", "final_url", "verdict", "extraction_method", "page_type", "region",
    "content_hash", "markdown_hash", "title", "language", "archive_url", "archive_date", "forced", "schema",
)  # fmt: skip
NUMBERS = ("ordinal",)
NESTED = (
    "error", "chain", "fallbacks", "checklist", "caveats", "warnings", "metadata", "extraction", "cache", "signals",
    "data", "chunks", "pages", "wall", "columns",
)  # fmt: skip
LIFTED_TEXTS = {  # from what is nested, where people look for them
    "content_type": ("extraction", "content_type"),
    "fetched_at": ("extraction", "fetched_at"),
    "served_by": ("extraction", "served_by"),
    "freshness": ("cache", "freshness"),
}
LIFTED_NUMBERS = {"status": ("extraction", "status"), "content_length": ("extraction", "content_length")}
LIFTED = LIFTED_TEXTS | LIFTED_NUMBERS
COLUMNS = ("id", "text", "url", *NUMBERS, *LIFTED_NUMBERS, *TEXTS, *LIFTED_TEXTS, *NESTED, "extra")

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
    _lift(record, row)
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


def _lift(record: dict[str, msgspec.Raw], row: dict[str, object]) -> None:
    """A few values from what is nested; they stay there, too."""
    opened = {name: _any.decode(record[name]) for name in {part for part, _ in LIFTED.values()} if name in record}
    for name, (part, key) in LIFTED.items():
        inside = opened.get(part)
        value = inside.get(key) if isinstance(inside, dict) else None
        fits = isinstance(value, int if name in LIFTED_NUMBERS else str) and not isinstance(value, bool)
        row[name] = value if fits and not (isinstance(value, int) and abs(value) >> 63) else None


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

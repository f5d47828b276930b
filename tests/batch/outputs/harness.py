"""Records as a batch has them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from spaniel.runs.parts import Part


def record(ordinal: int, **more: object) -> dict[str, object]:
    url = f"https://a.example/page/{ordinal}"
    return {
        "ordinal": ordinal,
        "requested_url": url,
        "final_url": url,
        "extraction": {"status": 200, "content_type": "text/html"},
        "chain": [],
        "title": f"Page {ordinal}",
        "metadata": {"author": "An Author", "published": "2026-01-02"},
        "markdown": f"# Page {ordinal}\n\nText with ü and\nlines. " + "word " * 50,
        "columns": {"id": str(ordinal)},
        **more,
    }


def as_line(record: dict[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def failure(ordinal: int) -> dict[str, object]:
    url = f"https://b.example/{ordinal}"
    error = {"code": "http_4xx", "message": "gone"}
    return {"ordinal": ordinal, "requested_url": url, "error": error, "extraction": {"status": 404}}


def write(path: Path, records: Iterable[dict[str, object]], together: int = 16) -> Path:
    """A part with these records."""
    lines = [as_line(record) for record in records]
    with Part.create(str(path)) as part:
        for start in range(0, len(lines), together):
            part.append(lines[start : start + together])
        part.sync()
    return path


def parsed(text: str | bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]

"""Which form an output has: by its name."""

from __future__ import annotations

import os
from enum import StrEnum

from spaniel.errors import Code, SpanielError


class Form(StrEnum):
    """How records are written in the end."""

    JSONL = "jsonl"
    JSONL_ZST = "jsonl.zst"
    PARQUET = "parquet"
    PARQUET_FOLDER = "a folder of Parquet files"
    PAGES = "a folder of Markdown files"
    WARC = "warc.gz"


_ENDINGS = {
    ".jsonl": Form.JSONL,
    ".ndjson": Form.JSONL,
    ".jsonl.zst": Form.JSONL_ZST,
    ".ndjson.zst": Form.JSONL_ZST,
    ".parquet": Form.PARQUET,
    ".warc.gz": Form.WARC,
}


def form_of(path: str) -> Form:
    """`out.jsonl`, `out.jsonl.zst`, `out.parquet`, `out.parquet/`, `pages/`; `bad_args` for what is none of these."""
    name = path.rstrip("/" + os.sep)
    is_folder = name != path or os.path.isdir(path)
    found = next((form for ending, form in _ENDINGS.items() if name.lower().endswith(ending)), None)
    if name == path and is_folder and found not in (None, Form.PARQUET):
        raise SpanielError(Code.BAD_ARGS, field=path, reason="is a folder, and its name is that of a file")
    if is_folder:
        return Form.PARQUET_FOLDER if found == Form.PARQUET else Form.PAGES
    if found is None:
        reason = "the name says no form of output; use .jsonl, .jsonl.zst, .parquet, or a folder with / at its end"
        raise SpanielError(Code.BAD_ARGS, field=path, reason=reason)
    return found

"""The library for Parquet, which only those have who asked for it (`spaniel[parquet]`)."""

from __future__ import annotations

from typing import Any

from spaniel.errors import Code, SpanielError, install_command


def arrow() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`; `bad_args` where they are not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        reason = f"Parquet needs a library that is not installed; run: {install_command('parquet')}"
        raise SpanielError(Code.BAD_ARGS, field="parquet", reason=reason) from None
    return pa, parquet

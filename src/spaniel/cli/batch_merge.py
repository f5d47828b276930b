"""`spaniel batch merge OUT… -o ALL`: the outputs of several shards put together."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Sequence


def merge_outputs(outputs: Sequence[str], out: str, *, by_ordinal: bool, warc: bool, quiet: bool) -> int:
    """The exit code. What was there before is not touched."""
    from spaniel.batch.outputs.merge import merge, merge_captures

    if len(outputs) < 1:
        raise SpanielError(Code.BAD_ARGS, field="merge", reason="name the outputs that are to be put together")
    if os.path.lexists(out):
        raise SpanielError(Code.BAD_ARGS, field=out, reason="is there already; choose another name")
    merged = merge(outputs, out, by_ordinal=by_ordinal)
    if warc:
        merge_captures(outputs, out)
    if not quiet:
        told = f"{merged.records:,} records in {out}"
        if merged.missing:
            told += f"; {merged.missing:,} places of the input have none"
        sys.stderr.write(f"spaniel: {told}\n")
    return 0

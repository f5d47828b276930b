"""`spaniel batch merge OUT… -o ALL`: the outputs of several shards put together."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from spaniel.cli.batch_options import WHOLE
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

TOLD = 10  # shards that are missing
SOME_MISSING = 1


def merge_outputs(outputs: Sequence[str], args: argparse.Namespace) -> int:
    """The exit code: 0, or 1 where something is missing. What was there before is not touched."""
    from spaniel.batch.outputs.merge import merge, merge_captures, require_one_input

    out = args.output
    if len(outputs) < 1:
        raise SpanielError(Code.BAD_ARGS, field="merge", reason="name the outputs to combine")
    if os.path.lexists(out):
        raise SpanielError(Code.BAD_ARGS, field=out, reason="is there already; choose another name")
    known = require_one_input(outputs)
    merged = merge(outputs, out, by_ordinal=args.sort)
    if args.warc:
        merge_captures(outputs, out)
    missing = merged.missing if known.urls is None else known.urls - merged.records
    if args.json:
        import json

        facts = {"output": out, "records": merged.records, "missing": missing, "absent_shards": known.absent}
        print(json.dumps(facts, ensure_ascii=False))
    told = f"{merged.records:,} records in {out}"
    if missing:
        told += f"; {missing:,} places of the input have none"
    if known.absent:
        more = ", …" if len(known.absent) > TOLD else ""
        told += f"; no output is of --shard {', '.join(known.absent[:TOLD])}{more}"
    if missing or not args.quiet:
        sys.stderr.write(f"spaniel: {told}\n")
    return SOME_MISSING if missing else 0


def require_sense(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for a merge."""
    given = {
        "--resume": args.resume, "--overwrite": args.overwrite, "--dry-run": args.dry_run, "--limit": args.limit,
        "--shard": args.shard != WHOLE, "--parts": args.parts, "--column": args.column, "--field": args.field,
        "--kind": args.kind, "--shards": args.shards,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise SpanielError(Code.BAD_ARGS, field=option, reason="is of a run, and means nothing to merge")

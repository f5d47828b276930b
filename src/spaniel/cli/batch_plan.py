"""`spaniel batch plan SOURCE… -o DIR --shards N`: divide a list once, for machines that each fetch a part of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.batch.plan_folder import PlanFolder, PlanInfo
from spaniel.batch.planning import MOST_INPUT_SHARDS
from spaniel.cli.batch_options import WHOLE
from spaniel.cli.lists import report_problems
from spaniel.cli.long_run import reading
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse

    from spaniel.batch.local import Order
    from spaniel.sources.rows import Problems


def write_plan(order: Order, problems: Problems, args: argparse.Namespace) -> int:
    _require_plan_options(args)
    folder = PlanFolder(args.output)
    info = PlanInfo(order.fingerprints(), order.input_shape(), args.shards)
    with reading(quiet=args.quiet) as report:
        info = folder.write(order.rows(report), info, problems)
    report_problems(problems)
    if args.json:
        import json

        print(json.dumps({"output": args.output, "urls": info.items, "shards": info.shards, "unread": info.lost}))
    if not args.quiet:
        sys.stderr.write(f"spaniel: {info.items:,} URLs in {info.shards:,} shards in {args.output}\n")
    return 1 if info.lost else 0


def _require_plan_options(args: argparse.Namespace) -> None:
    if args.shards is None or not 1 <= args.shards <= MOST_INPUT_SHARDS:
        raise SpanielError(Code.BAD_ARGS, field="--shards", reason=f"must be 1 to {MOST_INPUT_SHARDS:,}")
    given = {
        "--resume": args.resume, "--overwrite": args.overwrite, "--dry-run": args.dry_run,
        "--shard": args.shard != WHOLE, "--parts": args.parts, "--warc": args.warc,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise SpanielError(Code.BAD_ARGS, field=option, reason="is for the run, not for its plan")

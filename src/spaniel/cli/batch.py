"""`spaniel batch SOURCE… -o OUT`: many pages, politely, each once; a run that was stopped can go on."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from spaniel import __version__
from spaniel.batch.sources.rows import Options, Problems
from spaniel.cli.batch_options import MOST_JOBS, add_input, add_pace, add_run
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    import argparse

    from spaniel.app.settings import Settings
    from spaniel.batch.coordinator import Pace
    from spaniel.batch.crew import Crew
    from spaniel.batch.local import Order, Run

MERGE = "merge"
MOST_WORKERS = 64
SOME_FAILED = 1


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel batch",
        "Fetch many pages and write one record for each URL.\n"
        "Hosts are visited gently: one request at a time, and a pause after each.",
        "A run that was stopped, by Ctrl-C, a crash or a full disk, goes on with --resume.\n"
        "Ctrl-C finishes the pages that are under way. A second Ctrl-C stops at once.\n"
        "'spaniel batch merge A.jsonl B.jsonl -o ALL.jsonl' puts the outputs of several shards together.\n"
        "Exit code: 0 all pages fetched; 1 some were not; 2 wrong input; 130 stopped by Ctrl-C.",
    )
    add_input(p)
    add_pace(p)
    add_run(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    if args.sources[0] == MERGE:
        from spaniel.cli.batch_merge import merge_outputs

        return merge_outputs(args.sources[1:], args.output, by_ordinal=args.sort, warc=args.warc, quiet=args.quiet)
    settings, problems = settings_from(args), Problems()
    order, pace = _order(args, settings, problems), _pace(args)
    if args.dry_run:
        from spaniel.cli.batch_dry_run import dry_run

        return dry_run(order, pace)
    from spaniel.batch.local import Run

    with Run(args.output) as run:
        return _run(run, order, pace, args, settings, problems)


def _check(args: argparse.Namespace) -> None:
    wrong: tuple[str, str] | None = None
    if not 1 <= args.jobs <= MOST_JOBS:
        wrong = "--jobs", f"must be 1 to {MOST_JOBS}"
    if args.workers is not None and not 1 <= args.workers <= MOST_WORKERS:
        wrong = "--workers", f"must be 1 to {MOST_WORKERS}"
    if args.limit is not None and args.limit < 1:
        wrong = "--limit", "must be 1 or more"
    if not args.output and not args.dry_run:
        wrong = "-o", "is missing: name the file to write, for example -o pages.jsonl"
    if args.parts and (args.warc or not (args.output or "").endswith(".jsonl")):
        wrong = "--parts", "needs -o FILE.jsonl, which becomes the list of parts, and goes without --warc"
    if args.engine == "ray" and find_spec("ray") is None:
        wrong = "--engine", "Ray is not installed; install it with: pip install 'spaniel[ray]'"
    if wrong:
        raise SpanielError(Code.BAD_ARGS, field=wrong[0], reason=wrong[1])


def _order(args: argparse.Namespace, settings: Settings, problems: Problems) -> Order:
    from spaniel.app.batch_sources import ReadSource
    from spaniel.batch.local import Order
    from spaniel.batch.ownership import read_shard
    from spaniel.pipeline.profile import load

    profile = load(args.profile)
    shape = {
        "--profile": f"{profile.name} {profile.version}",
        "policy": f"{profile.policy.name} {profile.policy.version}",
    }
    apply, options = profile.policy.apply, Options(args.kind, args.column, args.field)
    sources = [ReadSource(name, options, problems, settings, args.profile) for name in args.sources]
    software = f"Spaniel {__version__}" if args.warc else ""
    return Order(sources, lambda raw: apply(raw).url, shape, read_shard(args.shard), args.limit, software, args.parts)


def _pace(args: argparse.Namespace) -> Pace:
    from spaniel.batch.coordinator import Pace
    from spaniel.batch.politeness import Rule, read_politeness

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Pace(
        args.workers or min(MOST_WORKERS, cores),
        args.jobs,
        read_politeness(Rule(args.per_host, args.delay), args.hosts),
    )


def _run(run: Run, order: Order, pace: Pace, args: argparse.Namespace, settings: Settings, problems: Problems) -> int:
    from spaniel.app.batching import wiring
    from spaniel.cli.batch_watch import Watch, counting, tell_end, tell_problems

    with counting(quiet=args.quiet) as told:
        run.resume(order, told) if args.resume else run.begin(order, told, overwrite=args.overwrite)
    tell_problems(problems)
    beside: dict[str, Any] = {"captures": args.warc, "parts": args.parts}
    wires = wiring(settings, args.profile, cached=args.cache, logs=(args.verbose, args.quiet), **beside)
    watch = Watch(quiet=args.quiet)
    progress, whole = run.fetch(_crew(args, pace.workers, wires), pace, watch)
    if whole:
        run.finish()
    run.write_summary(progress)
    tell_end(progress, whole, args.output, quiet=args.quiet)
    if not whole:
        sys.stderr.write("spaniel: go on with the same command and --resume\n")
        return watch.exit_code
    return SOME_FAILED if progress.failed else 0


def _crew(args: argparse.Namespace, workers: int, wires: dict[str, object]) -> Crew:
    from spaniel.app.batching import WHERE

    if args.engine == "ray":
        from spaniel.app.batching import keep_ray_quiet
        from spaniel.batch.ray_crew import RayCrew

        keep_ray_quiet()
        return RayCrew(workers, WHERE, wires, args.address)
    from spaniel.batch.crew import Processes

    return Processes(workers, WHERE, wires)

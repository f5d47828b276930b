"""`spaniel batch SOURCE… -o OUT`: many pages, politely, each once; a run that was stopped can go on."""

from __future__ import annotations

import json
import os
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from spaniel import __version__
from spaniel.app.batch_wiring import WHERE, limits, wiring
from spaniel.batch.launching import Launched
from spaniel.cli.batch_options import add_common, add_input, add_pace, add_shards
from spaniel.cli.durations import in_words
from spaniel.cli.lists import list_options, report_problems
from spaniel.cli.options import add_log_options, add_settings_options, configure_logs, new_parser, settings_from
from spaniel.defaults import BATCH_JOBS
from spaniel.errors import Code, SpanielError, install_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from spaniel.app.settings import Settings
    from spaniel.batch.local import Order, Run
    from spaniel.batch.plan_folder import PlanFolder
    from spaniel.batch.progress import Progress
    from spaniel.batch.supervisor import Pace, Supervisor, Workers
    from spaniel.sources.rows import Problems

MERGE, PLAN, RAY = "merge", "plan", "ray"
NONE = "none"
MOST_WORKERS = 64
MOST_EARLY = 4  # workers that are started before it is known how much there is to do
SOME_FAILED = 1
SLOWEST = 3  # hosts that are shown, with the time that they take for an answer


def parser() -> argparse.ArgumentParser:
    p = new_parser(
        "spaniel batch",
        "Fetch many pages and write one record for each URL.\n"
        "Each host gets one request at a time, and a pause after each.",
        "To continue a run that was stopped, by Ctrl-C, a crash or a full disk, repeat it with --resume.\n"
        "Ctrl-C finishes the pages that are under way. A second Ctrl-C stops at once.\n"
        "'spaniel batch merge' combines the outputs of several shards.\n"
        "Exit code: 0 all pages fetched; 1 some were not, or a source was not read whole; 2 wrong input;\n"
        "130 stopped by Ctrl-C.",
        examples=[
            ("spaniel batch urls.txt -o pages.jsonl", "one record for each URL"),
            ("spaniel batch urls.csv --column url -o pages/ --resume", "continue a run; one file for each page"),
            ("spaniel batch https://example.com/sitemap.xml --dry-run", "show what would be fetched"),
            ("spaniel batch plan urls.txt -o plan/ --shards 100", "divide a list for 100 machines"),
            ("spaniel batch plan/ --shard 3/100 -o pages-3.jsonl", "fetch the third part of it"),
            ("spaniel batch merge a.jsonl b.jsonl -o all.jsonl", "combine the outputs of shards"),
        ],
    )
    add_common(p)
    add_input(p)
    add_pace(p)
    add_shards(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    if args.sources[0] == MERGE:
        from spaniel.cli.batch_merge import merge_outputs, require_sense

        require_sense(args)
        return merge_outputs(args.sources[1:], args)
    if args.sources[0] == PLAN:
        from spaniel.cli.batch_plan import write_plan

        if not (names := args.sources[1:]):
            raise SpanielError(Code.BAD_ARGS, field="plan", reason="name the list to divide")
        args.sources = names
        problems = _problems()
        return write_plan(_order(args, settings_from(args), problems), problems, args)
    if args.shards is not None:
        raise SpanielError(Code.BAD_ARGS, field="--shards", reason="is for 'spaniel batch plan'")
    if args.dry_run:
        from spaniel.cli.batch_dry_run import dry_run

        problems, settings = _problems(), settings_from(args)
        return dry_run(_order(args, settings, problems), _pace(args, settings), problems, as_json=args.json)
    # Workers load while this process does so too and plans, which takes about as long.
    with closing(Launched(WHERE, 0 if args.engine == RAY else min(_workers(args), MOST_EARLY))) as launched:
        return _run(args, settings_from(args), launched)


def _check(args: argparse.Namespace) -> None:
    wrong: tuple[str, str] | None = None
    if not BATCH_JOBS.allows(args.jobs):
        wrong = "--jobs", f"must be {BATCH_JOBS.range}"
    if args.workers is not None and not 1 <= args.workers <= MOST_WORKERS:
        wrong = "--workers", f"must be 1 to {MOST_WORKERS}"
    if args.limit is not None and args.limit < 1:
        wrong = "--limit", "must be 1 or more"
    if not args.output and not args.dry_run:
        wrong = "-o", "is missing: name the file to write, for example -o pages.jsonl"
    if args.parts and (args.warc or not (args.output or "").endswith(".jsonl")):
        wrong = "--parts", "needs -o FILE.jsonl, which becomes the list of parts, and goes without --warc"
    if args.sort and args.sources[0] != MERGE:
        wrong = "--sort", "is for 'spaniel batch merge'; a run writes records as pages come, each with its ordinal"
    if args.address and args.engine != RAY:
        wrong = "--address", "needs --engine ray"
    if args.engine == RAY and find_spec("ray") is None:
        wrong = "--engine", f"Ray is not installed; install it with: {install_command('ray')}"
    if wrong:
        raise SpanielError(Code.BAD_ARGS, field=wrong[0], reason=wrong[1])


def _problems() -> Problems:
    from spaniel.sources.rows import Problems

    return Problems()


def _order(args: argparse.Namespace, settings: Settings, problems: Problems) -> Order:
    from spaniel.app.sources import ReadSource
    from spaniel.batch.local import Order
    from spaniel.batch.planning import MOST_SHARDS, SHARDS, read_shard
    from spaniel.pipeline.profile import load

    profile = load(args.profile)
    shape = {
        "--profile": f"{profile.name} {profile.version}",
        "policy": f"{profile.policy.name} {profile.policy.version}",
        "--kind": args.kind or NONE,
        "--column": args.column or NONE,
        "--field": ", ".join(args.field) or NONE,
    }
    options = list_options(args)
    planned = _planned(args, shape)
    if planned is not None:
        shape = {"--profile": shape["--profile"]}
    names = [] if planned is not None else args.sources
    sources = [ReadSource(name, options, problems, settings, args.profile) for name in names]
    software = f"Spaniel {__version__}" if args.warc else ""
    workers = _workers(args)
    return Order(
        sources,
        profile.policy,
        shape,
        read_shard(args.shard),
        args.limit,
        software,
        args.parts,
        problems,
        shards=1 if workers == 1 else min(SHARDS * workers, MOST_SHARDS),
        is_spread=workers > 1 and args.per_host > 1 and args.delay == 0,
        planned=planned,
    )


def _planned(args: argparse.Namespace, shape: dict[str, str]) -> PlanFolder | None:
    """The plan that is the source, if one is. What was decided when it was made cannot be decided again."""
    from spaniel.batch.plan_folder import PlanFolder

    folder = PlanFolder(args.sources[0])
    if len(args.sources) > 1 or not folder.is_plan():
        return None
    planned, own = folder.read().shape["policy"], shape["policy"]
    if planned != own:
        reason = f"the plan was made with policy {planned}; this profile has {own}"
        raise SpanielError(Code.BAD_ARGS, field="--profile", reason=reason)
    given = {"--kind": args.kind, "--column": args.column, "--field": args.field, "--limit": args.limit}
    if wrong := next((option for option, value in given.items() if value), ""):
        raise SpanielError(Code.BAD_ARGS, field=wrong, reason="is for 'spaniel batch plan', which has read the list")
    return folder


def _pace(args: argparse.Namespace, settings: Settings) -> Pace:
    from spaniel.batch.supervisor import Pace
    from spaniel.hosts.rules import Rule, read_rules

    rules = read_rules(Rule(args.per_host, args.delay), args.hosts)
    return Pace(_workers(args), args.jobs, rules, limits(settings, args.host_time, args.total_time))


def _workers(args: argparse.Namespace) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return args.workers or min(MOST_WORKERS, cores)


def _run(args: argparse.Namespace, settings: Settings, launched: Launched) -> int:
    from spaniel.batch.local import Run
    from spaniel.cli.long_run import Display, LongRun, reading, stopped_code

    problems, pace = _problems(), _pace(args, settings)
    order, long_run = _order(args, settings, problems), LongRun("pages", quiet=args.quiet)

    @contextmanager
    def watch(supervisor: Supervisor, progress: Progress) -> Iterator[None]:
        display = Display(lambda: display_lines(progress), quiet=args.quiet, share=lambda: _share(progress))
        with long_run.watched(supervisor.stop, progress.under_way, display):
            yield

    with Run(args.output) as run:
        with reading(quiet=args.quiet) as told:
            run.resume(order, told) if args.resume else run.begin(order, told, overwrite=args.overwrite)
        report_problems(problems)
        pace = pace._replace(workers=min(pace.workers, run.pages or 1))  # more would have nothing to do
        launched.keep(pace.workers)
        progress, whole = run.fetch(_started(args, settings, launched), pace, watch)
        if whole:
            run.finish()
        summary = run.write_summary(progress)
    if args.json:
        print(json.dumps(summary | {"complete": whole}))
    if not args.quiet:
        _summarize(progress, run, args.output, whole=whole)
    if not whole:
        long_run.say_how_to_resume()
        return long_run.exit_code or stopped_code()
    return long_run.exit_code or (SOME_FAILED if progress.failed or run.lost else 0)


def display_lines(progress: Progress) -> list[Iterable[str]]:
    """How far, how fast; what failed, which hosts are waited for, which are slow."""
    from spaniel.cli.long_run import listed
    from spaniel.errors import shown

    def first() -> Iterator[str]:
        rate = progress.rate()
        yield f"{progress.before + progress.records:,} of {progress.total:,} done"
        if progress.failed:
            yield f", {progress.failed.total():,} failed"
        if rate:
            yield f", {in_words(progress.left / rate)} left"
        yield f", {progress.under_way()} under way"
        yield f", {rate:.1f} a second"

    def waiting() -> Iterator[Iterable[str]]:
        for host in progress.waiting():
            yield (f"waiting {host.seconds:.0f} s for {shown(host.host)}", f" ({host.left:,} left)", f": {host.why}")

    failed = (f"{count:,} {code}" for code, count in progress.failed.most_common())
    slowest = (f"{shown(slow.host)} {slow.seconds:.1f} s" for slow in progress.slowest(SLOWEST))
    return [first(), listed("failed: ", failed), *waiting(), listed("slowest: ", slowest)]


def _share(progress: Progress) -> float:
    return (progress.before + progress.records) / max(1, progress.total)


def _summarize(progress: Progress, run: Run, output: str, *, whole: bool) -> None:
    from spaniel.cli.long_run import say

    recorded = f"{progress.before + progress.records:,} of {progress.total:,} URLs"
    say(f"{'done' if whole else 'stopped'}: {recorded} have their record in {output}")
    rows = [
        ("pages", f"{progress.pages:,}"),
        *((f"failed: {code}", f"{count:,}") for code, count in progress.failed.most_common()),
        ("of these by an earlier run", _some(progress.before)),
        ("not read of the sources", _some(run.lost)),
        ("workers replaced", _some(progress.workers_lost)),
        *((f"slowest: {slow.host}", f"{slow.seconds:.2f} s") for slow in progress.slowest(SLOWEST)),
        ("time", in_words(progress.seconds)),
        ("records a second", f"{progress.records / max(progress.seconds, 1e-9):.1f}"),
    ]
    for name, value in rows:
        if value:
            say(f"{name:28} {value:>12}", prefix="  ")


def _some(count: int) -> str:
    return f"{count:,}" if count else ""


def _started(args: argparse.Namespace, settings: Settings, launched: Launched) -> Workers:
    logs = args.verbose, args.quiet
    wires = wiring(settings, args.profile, cached=args.cache, logs=logs, captures=args.warc)
    if args.engine == RAY:
        from spaniel.app.batch_wiring import keep_ray_quiet
        from spaniel.batch.ray_workers import RayWorkers

        keep_ray_quiet()
        return RayWorkers(WHERE, wires, args.address)
    from spaniel.batch.supervisor import Processes

    return Processes(WHERE, wires, launched)

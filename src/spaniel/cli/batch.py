"""`spaniel batch SOURCE… -o OUT`: fetch many pages politely, each once; a stopped run can be resumed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing, contextmanager
from importlib.util import find_spec

from spaniel import __version__
from spaniel.app.batch_wiring import PROFILE, WHERE, limits, wiring
from spaniel.batch.launching import Launched
from spaniel.cli.lists import add_list_options, list_options, report_problems
from spaniel.cli.long_run import in_words
from spaniel.cli.options import (
    add_json,
    add_log_options,
    add_settings_options,
    configure_logs,
    duration,
    new_parser,
    settings_from,
)
from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_JOBS, BATCH_PER_HOST
from spaniel.errors import Code, SpanielError, install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from spaniel.app.settings import Settings
    from spaniel.batch.local import BatchRun, Order
    from spaniel.batch.plan_folder import PlanFolder
    from spaniel.batch.progress import Progress
    from spaniel.batch.supervisor import Pace, Supervisor, Workers
    from spaniel.sources.rows import Problems


MERGE, PLAN, RAY = "merge", "plan", "ray"
NONE = "none"
WHOLE = "1/1"  # all of the input in one shard
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
        "Ctrl-C finishes the pages in flight. A second Ctrl-C stops immediately.\n"
        "'spaniel batch plan LIST -o DIR --shards N' divides a list once; each machine then runs\n"
        "'spaniel batch DIR --shard I/N'. 'spaniel batch merge' combines the outputs of several shards.\n"
        "Exit code: 0 all pages fetched; 1 some were not, or a source was not read whole; 2 wrong input;\n"
        "130 stopped by Ctrl-C.",
        examples=[
            ("spaniel batch urls.txt -o pages.jsonl", "one record for each URL"),
            ("spaniel batch urls.csv --column url -o pages/ --resume", "continue a run; one file for each page"),
            ("spaniel batch https://example.com/sitemap.xml --dry-run", "show what would be fetched"),
            ("spaniel batch merge a.jsonl b.jsonl -o all.jsonl", "combine the outputs of shards"),
        ],
    )
    _add_common(p)
    _add_input(p)
    _add_pace(p)
    _add_shards(p)
    add_settings_options(p)
    add_log_options(p)
    return p


def _add_common(p: argparse.ArgumentParser) -> None:
    """From where, to where, and how each page is fetched."""
    p.add_argument(
        "sources", nargs="+", metavar="SOURCE",
        help="a list of URLs: text, CSV, TSV, JSON, JSONL, YAML or Parquet, also .gz and .zst; a sitemap, a feed or "
        "bookmarks; a pattern (*.csv); the URL of one of these; a site (https://example.com/); '-' is standard input",
    )  # fmt: skip
    p.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="where to write: FILE.jsonl, FILE.jsonl.zst, FILE.parquet, or DIR/ for pages",
    )
    again = p.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="resume a run that was stopped")
    again.add_argument("--overwrite", action="store_true", help="start again, and remove what is at OUT")
    p.add_argument("--dry-run", action="store_true", help="plan only, and show what would be fetched")
    p.add_argument("--limit", type=int, metavar="N", help="take only the first N URLs")
    p.add_argument(
        "--profile", default=PROFILE, metavar="FILE", help=f"how to fetch: a name or a TOML file (default: {PROFILE})"
    )
    p.add_argument("--cache", action="store_true", help="use and fill the page cache (it is off in a batch)")
    p.add_argument(
        "--warc",
        action="store_true",
        help="also store the raw HTTP traffic: in OUT.warc.gz, or in OUT.warc/ if OUT is a folder",
    )
    add_json(p, "print the summary (or the plan of --dry-run) as one JSON object on standard output")


def _add_input(p: argparse.ArgumentParser) -> None:
    """How sources are read."""
    source = p.add_argument_group("input")
    add_list_options(source, ", site", earlier="--from")


def _add_pace(p: argparse.ArgumentParser) -> None:
    """Concurrency and politeness."""
    pace = p.add_argument_group("speed and politeness")
    pace.add_argument(
        "-j", "--jobs", type=int, default=BATCH_JOBS.default, metavar="N",
        help=f"how many pages at once in each worker, {BATCH_JOBS.range} (default: {BATCH_JOBS.default})",
    )  # fmt: skip
    pace.add_argument(
        "--workers", type=int, metavar="N", help="how many processes fetch (default: one for each processor core)"
    )
    pace.add_argument(
        "--per-host",
        type=int,
        default=BATCH_PER_HOST.default,
        metavar="N",
        help=f"how many requests at once to one host (default: {BATCH_PER_HOST.default})",
    )
    pace.add_argument(
        "--delay", type=float, default=float(BATCH_DELAY_SECONDS.default), metavar="S",
        help=f"seconds between an answer of a host and the next request to it (default: {BATCH_DELAY_SECONDS.default})",
    )  # fmt: skip
    pace.add_argument(
        "--hosts", metavar="FILE", help='a TOML file with rules for some hosts: ["example.com"], per_host and delay'
    )
    pace.add_argument(
        "--host-time", type=duration, metavar="TIME",
        help="give a host up after this time, for example 30m; its other pages get records that say so",
    )  # fmt: skip
    pace.add_argument(
        "--total-time", type=duration, metavar="TIME",
        help="end the run after this time, for example 8h; what is left gets records that say so",
    )  # fmt: skip


def _add_shards(p: argparse.ArgumentParser) -> None:
    """Which part of the input, and where workers run."""
    shards = p.add_argument_group("several machines")
    shards.add_argument(
        "--shard", default=WHOLE, metavar="I/N", help="fetch one of N parts of the input; domains stay together"
    )
    shards.add_argument("--shards", type=int, metavar="N", help="for plan: how many parts to divide the input into")
    shards.add_argument("--sort", action="store_true", help="for merge: put the records in the order of the input")
    shards.add_argument(
        "--engine", choices=("local", "ray"), default="local",
        help="where workers run: processes here, or actors of a Ray cluster (default: local)",
    )  # fmt: skip
    shards.add_argument(
        "--parts",
        default="",
        metavar="PLACE",
        help="workers write the records themselves, as parts in this folder or address (s3://…); OUT lists them",
    )
    shards.add_argument(
        "--address",
        default="",
        metavar="HOST",
        help="for --engine ray: the cluster, or 'auto' (default: start one here)",
    )


def main(args: argparse.Namespace) -> int:
    configure_logs(args)
    _check(args)
    if args.sources[0] == MERGE:
        _check_merge(args)
        return _merge(args.sources[1:], args)
    if args.sources[0] == PLAN:
        if not (names := args.sources[1:]):
            raise SpanielError(Code.BAD_ARGS, field="plan", reason="name the list to divide")
        args.sources = names
        problems = _problems()
        return _write_plan(_order(args, settings_from(args), problems), problems, args)
    if args.shards is not None:
        raise SpanielError(Code.BAD_ARGS, field="--shards", reason="is for 'spaniel batch plan'")
    if args.dry_run:
        problems, settings = _problems(), settings_from(args)
        return _dry_run(_order(args, settings, problems), _pace(args, settings), problems, as_json=args.json)
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
        wrong = "--sort", "is for 'spaniel batch merge'; a run writes records as pages arrive, each with its ordinal"
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
    from spaniel.batch.planning import read_shard, shards_for
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
        shards=shards_for(workers),
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
    from spaniel.hosts.rules import HostRule, read_rules

    rules = read_rules(HostRule(args.per_host, args.delay), args.hosts)
    return Pace(_workers(args), args.jobs, rules, limits(settings, args.host_time, args.total_time))


def _workers(args: argparse.Namespace) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return args.workers or min(MOST_WORKERS, cores)


def _run(args: argparse.Namespace, settings: Settings, launched: Launched) -> int:
    from spaniel.batch.local import BatchRun
    from spaniel.cli.long_run import Display, LongRun, reading, stopped_code

    problems, pace = _problems(), _pace(args, settings)
    order, long_run = _order(args, settings, problems), LongRun("pages", quiet=args.quiet)

    @contextmanager
    def watch(supervisor: Supervisor, progress: Progress) -> Iterator[None]:
        display = Display(lambda: display_lines(progress), quiet=args.quiet, share=lambda: _share(progress))
        with long_run.watched(supervisor.stop, progress.under_way, display):
            yield

    with BatchRun(args.output) as run:
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
        yield f", {progress.under_way()} in flight"
        yield f", {rate:.1f} a second"

    def waiting() -> Iterator[Iterable[str]]:
        for host in progress.waiting():
            yield (f"waiting {host.seconds:.0f} s for {shown(host.host)}", f" ({host.left:,} left)", f": {host.reason}")

    failed = (f"{count:,} {code}" for code, count in progress.failed.most_common())
    slowest = (f"{shown(slow.host)} {slow.seconds:.1f} s" for slow in progress.slowest(SLOWEST))
    return [first(), listed("failed: ", failed), *waiting(), listed("slowest: ", slowest)]


def _share(progress: Progress) -> float:
    return (progress.before + progress.records) / max(1, progress.total)


def _summarize(progress: Progress, run: BatchRun, output: str, *, whole: bool) -> None:
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


def _dry_run(order: Order, pace: Pace, problems: Problems, *, as_json: bool = False) -> int:
    import tempfile

    from spaniel.batch.planning import make_plan
    from spaniel.cli.long_run import reading

    with tempfile.TemporaryDirectory(prefix="spaniel-plan-") as folder, reading(quiet=False) as report:
        counts = make_plan(order.rows(report), folder).counts
    report_problems(problems)
    rule = pace.rules.usual
    pauses = counts.longest * rule.delay / rule.per_host
    if as_json:
        import json

        print(json.dumps(counts._asdict() | {"seconds_of_pauses": pauses}))
        return 0
    rows = [
        ("URLs in the input", f"{counts.items:,}"),
        ("of them in this shard", f"{counts.planned:,}"),
        ("not fetchable as written", f"{counts.refused:,}"),
        ("other spellings of the same page", f"{counts.duplicates:,}"),
        ("pages to fetch", f"{counts.tasks:,}"),
        ("hosts", f"{counts.hosts:,}"),
        ("pages of the largest host", f"{counts.longest:,}"),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:{width}}  {value:>12}" for name, value in rows))
    print(f"the largest host alone needs at least {in_words(pauses)} of pauses")
    return 0


MOST_NAMED = 10  # shards that are missing
SOME_MISSING = 1


def _merge(outputs: Sequence[str], args: argparse.Namespace) -> int:
    """The exit code: 0, or 1 if something is missing. Existing output is not touched."""
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
    text = f"{merged.records:,} records in {out}"
    if missing:
        text += f"; {missing:,} places of the input have none"
    if known.absent:
        more = ", …" if len(known.absent) > MOST_NAMED else ""
        text += f"; no output is of --shard {', '.join(known.absent[:MOST_NAMED])}{more}"
    if missing or not args.quiet:
        sys.stderr.write(f"spaniel: {text}\n")
    return SOME_MISSING if missing else 0


def _check_merge(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for a merge."""
    given = {
        "--resume": args.resume, "--overwrite": args.overwrite, "--dry-run": args.dry_run, "--limit": args.limit,
        "--shard": args.shard != WHOLE, "--parts": args.parts, "--column": args.column, "--field": args.field,
        "--kind": args.kind, "--shards": args.shards,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise SpanielError(Code.BAD_ARGS, field=option, reason="is for a run, not for a merge")


def _write_plan(order: Order, problems: Problems, args: argparse.Namespace) -> int:
    """`spaniel batch plan SOURCE… -o DIR --shards N`: divide a list once, for machines that each fetch a part of it."""
    from spaniel.batch.plan_folder import PlanFolder, PlanInfo
    from spaniel.cli.long_run import reading

    _check_plan(args)
    info = PlanInfo(order.fingerprints(), order.input_shape(), args.shards)
    with reading(quiet=args.quiet) as report:
        info = PlanFolder(args.output).write(order.rows(report), info, problems)
    report_problems(problems)
    if args.json:
        print(json.dumps({"output": args.output, "urls": info.items, "shards": info.shards, "unread": info.lost}))
    if not args.quiet:
        sys.stderr.write(f"spaniel: {info.items:,} URLs in {info.shards:,} shards in {args.output}\n")
    return SOME_FAILED if info.lost else 0


def _check_plan(args: argparse.Namespace) -> None:
    """Refuse options that have no meaning for a plan."""
    from spaniel.batch.planning import MOST_INPUT_SHARDS

    if args.shards is None or not 1 <= args.shards <= MOST_INPUT_SHARDS:
        raise SpanielError(Code.BAD_ARGS, field="--shards", reason=f"must be 1 to {MOST_INPUT_SHARDS:,}")
    given = {
        "--resume": args.resume, "--overwrite": args.overwrite, "--dry-run": args.dry_run,
        "--shard": args.shard != WHOLE, "--parts": args.parts, "--warc": args.warc,
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise SpanielError(Code.BAD_ARGS, field=option, reason="is for a run, not for its plan")

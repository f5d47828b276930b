"""`spaniel batch SOURCE... -o OUT`: fetch many pages politely, each once; a stopped run can be resumed."""

from __future__ import annotations

import json
import os
from contextlib import closing, contextmanager
from importlib.util import find_spec

from spaniel import __version__
from spaniel.app.batch_wiring import PROFILE, WHERE, limits, wiring
from spaniel.batch.launching import Launched
from spaniel.cli import options as opt
from spaniel.cli.inputs import list_options, list_rows, report_problems
from spaniel.cli.long_run import Display, LongRun, in_words, listed, reading, say, stopped_code
from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_JOBS, BATCH_PER_HOST, Number
from spaniel.errors import install_command, shown
from spaniel.sources.rows import Problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from spaniel.app.settings import Settings
    from spaniel.batch.local import BatchRun, Order
    from spaniel.batch.plan_folder import PlanFolder
    from spaniel.batch.progress import Progress
    from spaniel.batch.supervisor import Pace, Supervisor, Workers


MERGE, PLAN, RAY = "merge", "plan", "ray"
NONE = "none"
WHOLE = "1/1"  # all of the input in one shard
MOST_WORKERS = 64
MOST_EARLY = 4  # workers that are started before it is known how much there is to do
SOME_FAILED = 1
SLOWEST = 3  # hosts that are shown, with their response time


def parser() -> opt.Parser:
    return opt.Parser(
        "spaniel batch",
        "Fetch many pages politely, and write one record for each URL.\n"
        "Each host gets one request at a time, and a pause after each.",
        {
            "Arguments": [
                opt.argument(
                    "sources", "SOURCE", "List of URLs (text, CSV, TSV, JSON, JSONL, YAML, Parquet, also .gz and .zst; "
                    "sitemap, feed, bookmarks), pattern (*.csv), URL of one of these, site (https://example.com/), "
                    "or '-' for standard input", nargs="+",
                ),
            ],
            "Options": [
                opt.value("-o", "--output", "OUT", "FILE.jsonl, FILE.jsonl.zst, FILE.parquet, or DIR/ for files"),
                [
                    opt.flag("--resume", "Resume a run that was stopped"),
                    opt.flag("--overwrite", "Start again, and remove an existing OUT"),
                ],
                opt.flag("--dry-run", "Plan only, and show what would be fetched"),
                opt.value("--limit", "N", "Take only the first N URLs", type=opt.within(Number(1, 1, 1 << 62))),
                opt.value("--profile", "FILE", "How to fetch: a name or a TOML file", default=PROFILE),
                opt.flag("--cache", "Use the page cache, which is off in a batch"),
                opt.flag("--warc", "Also store the raw HTTP traffic in OUT.warc.gz (for a folder: OUT.warc/)"),
                opt.json_flag("Print the summary (or the plan of --dry-run) as one JSON object"),
            ],
            "Input": list_rows(", site", earlier="--from"),
            "Speed and politeness": [
                opt.number("-j", "--jobs", "Concurrent pages per worker", of=BATCH_JOBS),
                opt.value(
                    "--workers", "N", "Worker processes [default: one per processor core]",
                    type=opt.within(Number(1, 1, MOST_WORKERS)),
                ),
                opt.number("--per-host", "Concurrent requests per host", of=BATCH_PER_HOST),
                opt.number("--delay", "Seconds between a response and the next request to its host", kind=float,
                           of=BATCH_DELAY_SECONDS),
                opt.value("--hosts", "FILE", 'TOML file with rules for hosts: ["example.com"], per_host and delay'),
                opt.value("--host-time", "TIME", "Give up a host after this time, such as 30m", type=opt.duration),
                opt.value("--total-time", "TIME", "End the run after this time, such as 8h", type=opt.duration),
            ],
            "Several machines": [
                opt.value("--shard", "I/N", f"Fetch one of N parts of the input, split by domain [default: {WHOLE}]"),
                opt.value("--shards", "N", "For plan: number of parts", type=int),
                opt.flag("--sort", "For merge: put the records in the order of the input"),
                opt.value(
                    "--engine", "ENGINE", "Where workers run: local processes, or actors of a ray cluster",
                    choices=("local", "ray"), default="local",
                ),
                opt.value(
                    "--parts", "PLACE", "Workers write the records to this folder or address (s3://...); OUT lists the "
                    "parts", default="",
                ),
                opt.value("--address", "HOST", "Ray cluster, or 'auto' [default: start one here]", default=""),
            ],
            **opt.shared_options(),
        },
        examples=[
            ("spaniel batch urls.txt -o pages.jsonl", "One record per URL"),
            ("spaniel batch urls.csv --column url -o pages/ --resume", "Resume a run"),
            ("spaniel batch https://example.com/sitemap.xml --dry-run", "Plan only"),
            ("spaniel batch merge a.jsonl b.jsonl -o all.jsonl", "Combine outputs"),
        ],
        notes="Ctrl-C finishes the pages in flight; a second Ctrl-C stops immediately. Repeat\n"
        "the command with --resume to continue after that, a crash or a full disk.\n\n"
        "To use several machines, divide a list once with 'spaniel batch plan LIST -o DIR\n"
        "--shards N', run 'spaniel batch DIR --shard I/N' on each, and combine their\n"
        "outputs with 'spaniel batch merge'.\n\n"
        "URLs that --host-time or --total-time leave out get records with the reason.\n\n"
        "Exit codes: 0 all pages fetched; 1 some were not, or a source was not read\n"
        "completely; 2 invalid input; 130 stopped by Ctrl-C.",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    opt.configure_logs(args)
    _check(args)
    if args.sources[0] == MERGE:
        return _merge(args.sources[1:], args)
    if args.sources[0] == PLAN:
        if not (names := args.sources[1:]):
            raise opt.bad_argument("plan", "name the list to divide")
        args.sources = names
        problems = Problems()
        return _write_plan(_order(args, opt.settings_from(args), problems), problems, args)
    if args.shards is not None:
        raise opt.bad_argument("--shards", "is for 'spaniel batch plan'")
    if args.dry_run:
        problems, settings = Problems(), opt.settings_from(args)
        return _dry_run(_order(args, settings, problems), _pace(args, settings), problems, as_json=args.json)
    # Workers start while this process loads and plans, which takes about as long.
    with closing(Launched(WHERE, 0 if args.engine == RAY else min(_workers(args), MOST_EARLY))) as launched:
        return _run(args, opt.settings_from(args), launched)


def _check(args: argparse.Namespace) -> None:
    if not args.output and not args.dry_run:
        raise opt.bad_argument("-o", "is missing: name the file to write, for example -o pages.jsonl", "spaniel batch")
    if args.parts and (args.warc or not (args.output or "").endswith(".jsonl")):
        raise opt.bad_argument("--parts", "needs -o FILE.jsonl, which becomes the list of parts, and excludes --warc")
    if args.sort and args.sources[0] != MERGE:
        raise opt.bad_argument("--sort", "is for 'spaniel batch merge'; a run writes records as pages arrive")
    if args.address and args.engine != RAY:
        raise opt.bad_argument("--address", "needs --engine ray")
    if args.engine == RAY and find_spec("ray") is None:
        raise opt.bad_argument("--engine", f"Ray is not installed; install it with: {install_command('ray')}")


def _refuse(args: argparse.Namespace, purpose: str, *names: str) -> None:
    """Refuse options that have no meaning for a merge or a plan."""
    if name := opt.given(args, names):
        raise opt.bad_argument(name, f"is for a run, not for a {purpose}")


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
        read_shard(args.shard or WHOLE),
        args.limit,
        software,
        args.parts,
        problems,
        shards=shards_for(workers),
        is_spread=workers > 1 and args.per_host > 1 and args.delay == 0,
        planned=planned,
    )


def _planned(args: argparse.Namespace, shape: dict[str, str]) -> PlanFolder | None:
    """The plan folder, if that is the source. Options that are part of the plan cannot be given again."""
    from spaniel.batch.plan_folder import PlanFolder

    folder = PlanFolder(args.sources[0])
    if len(args.sources) > 1 or not folder.is_plan():
        return None
    planned, own = folder.read().shape["policy"], shape["policy"]
    if planned != own:
        raise opt.bad_argument("--profile", f"the plan was made with policy {planned}; this profile has {own}")
    if name := opt.given(args, ["--kind", "--column", "--field", "--limit"]):
        raise opt.bad_argument(name, "is for 'spaniel batch plan', which has read the list")
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

    problems, pace = Problems(), _pace(args, settings)
    order, long_run = _order(args, settings, problems), LongRun("page", quiet=args.quiet)

    @contextmanager
    def watch(supervisor: Supervisor, progress: Progress) -> Iterator[None]:
        display = Display(lambda: display_lines(progress), quiet=args.quiet, share=lambda: _share(progress))
        with long_run.watched(supervisor.stop, progress.under_way, display):
            yield

    with BatchRun(args.output) as run:
        with reading(quiet=args.quiet) as show_count:
            run.resume(order, show_count) if args.resume else run.begin(order, show_count, overwrite=args.overwrite)
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
    """Progress and speed; failures, hosts with a delay, slow hosts."""

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
    recorded = f"{progress.before + progress.records:,} of {progress.total:,} URLs"
    say(f"{'done' if whole else 'stopped'}: {recorded} have a record in {output}")
    rows = [
        ("pages", f"{progress.pages:,}"),
        *((f"failed: {code}", f"{count:,}") for code, count in progress.failed.most_common()),
        ("recorded by an earlier run", _some(progress.before)),
        ("not read from the sources", _some(run.lost)),
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

    with tempfile.TemporaryDirectory(prefix="spaniel-plan-") as folder, reading(quiet=False) as report:
        counts = make_plan(order.rows(report), folder).counts
    report_problems(problems)
    rule = pace.rules.usual
    pauses = counts.longest * rule.delay / rule.per_host
    if as_json:
        print(json.dumps(counts._asdict() | {"seconds_of_pauses": pauses}))
        return 0
    rows = [
        ("URLs in the input", f"{counts.items:,}"),
        ("in this shard", f"{counts.planned:,}"),
        ("invalid or refused", f"{counts.refused:,}"),
        ("duplicates (same canonical URL)", f"{counts.duplicates:,}"),
        ("pages to fetch", f"{counts.tasks:,}"),
        ("hosts", f"{counts.hosts:,}"),
        ("pages on the largest host", f"{counts.longest:,}"),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:{width}}  {value:>12}" for name, value in rows))
    print(f"delays at the largest host add up to at least {in_words(pauses)}")
    return 0


LISTED_SHARDS = 10  # that are missing


def _merge(outputs: Sequence[str], args: argparse.Namespace) -> int:
    """The exit code: 0, or 1 if something is missing. Existing output is not touched."""
    from spaniel.batch.outputs.merge import merge, merge_captures, require_one_input

    out = args.output
    not_for_merge = ("--resume", "--overwrite", "--dry-run", "--limit", "--parts", "--column", "--field", "--kind")
    _refuse(args, "merge", *not_for_merge, "--shards", "--shard")
    if not outputs:
        raise opt.bad_argument("merge", "name the outputs to combine")
    if os.path.lexists(out):
        raise opt.bad_argument(out, "already exists; choose another name")
    inputs = require_one_input(outputs)
    merged = merge(outputs, out, by_ordinal=args.sort)
    if args.warc:
        merge_captures(outputs, out)
    missing = merged.missing if inputs.urls is None else inputs.urls - merged.records
    if args.json:
        facts = {"output": out, "records": merged.records, "missing": missing, "absent_shards": inputs.absent}
        print(json.dumps(facts, ensure_ascii=False))
    text = f"{merged.records:,} records in {out}"
    if missing:
        text += f"; {missing:,} URLs of the input have none"
    if inputs.absent:
        more = ", …" if len(inputs.absent) > LISTED_SHARDS else ""
        text += f"; missing: the output of --shard {', '.join(inputs.absent[:LISTED_SHARDS])}{more}"
    if missing or not args.quiet:
        say(text)
    return SOME_FAILED if missing else 0


def _write_plan(order: Order, problems: Problems, args: argparse.Namespace) -> int:
    """`spaniel batch plan SOURCE… -o DIR --shards N`: divide a list once, for machines that each fetch a part of it."""
    from spaniel.batch.plan_folder import PlanFolder, PlanInfo
    from spaniel.batch.planning import MOST_INPUT_SHARDS

    if args.shards is None or not 1 <= args.shards <= MOST_INPUT_SHARDS:
        raise opt.bad_argument("--shards", f"must be 1 to {MOST_INPUT_SHARDS:,}")
    _refuse(args, "plan", "--resume", "--overwrite", "--dry-run", "--parts", "--warc", "--shard")
    info = PlanInfo(order.fingerprints(), order.input_shape(), args.shards)
    with reading(quiet=args.quiet) as report:
        info = PlanFolder(args.output).write(order.rows(report), info, problems)
    report_problems(problems)
    if args.json:
        print(json.dumps({"output": args.output, "urls": info.items, "shards": info.shards, "unread": info.lost}))
    if not args.quiet:
        say(f"{info.items:,} URLs in {info.shards:,} shards in {args.output}")
    return SOME_FAILED if info.lost else 0

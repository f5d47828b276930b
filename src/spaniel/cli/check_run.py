"""One link check, from links to a report, repairs and an exit code: for `spaniel check` and `spaniel db check`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from spaniel import __version__
from spaniel.app.checking import CheckOptions, Extras, address_of, health_settings, prepare, store_for
from spaniel.cli.long_run import (
    Display,
    LongRun,
    collect_rarely,
    counted,
    in_words,
    may_color,
    reading,
    run_async,
    say,
)
from spaniel.cli.options import bad_argument
from spaniel.cli.output import replacing, written_time
from spaniel.errors import shown
from spaniel.health.baseline import Baseline, write_baseline
from spaniel.health.registry_links import read_aliases
from spaniel.health.reports import ReportContext, open_report
from spaniel.health.rewriting import FixOptions, diff_lines, plan_fixes, read_sources, write
from spaniel.health.store import NOT_KEPT
from spaniel.health.summary import Summary, read_fail_on
from spaniel.verdicts import CONTRADICTED, Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

    from spaniel.app.settings import HealthSettings, Settings
    from spaniel.health.history import History
    from spaniel.health.links import Checked, Link
    from spaniel.health.reports import Report
    from spaniel.health.rewriting import Fix, FixPlan, SourceDocument, Unfixed
    from spaniel.health.run import Run
    from spaniel.health.store import LinkStore

    Add = Callable[[Checked], None]


STANDARD_OUTPUT = "-"
STREAMED = ("jsonl", "github")  # report formats that show each result immediately
COUNTED = 5000  # links between two updates of the number read
SHOWN_PAST = 30  # past results of a link that a report shows
LISTED_HOSTS = 1000  # in a dry run
LISTED_UNFIXED = 50  # links that were not fixed
LONGEST = 10_000  # characters of a line of a diff on a terminal
SOME_UNWRITTEN = 1
BLOCK = 1 << 16  # characters of a report that are written at once
FLUSH_SECONDS = 0.05  # after which a result is written, in formats that show each at once


class LinkCheck(NamedTuple):
    """The links to check, and what is known about them."""

    links: Iterable[Link | Checked]
    history: History | None
    scope: str  # what is checked: `--resume` continues the same scope
    repair: Callable[[list[Checked]], int] | None = None  # for links that moved or are dead; returns the exit code


def own_settings(args: argparse.Namespace, settings: Settings) -> HealthSettings:
    """`[spaniel.health]`, and over it the command's options."""
    overrides = CheckOptions(args.jobs, args.per_host, args.delay, args.timeout, args.robots or None)
    return overrides.over(health_settings(settings))


def run_link_check(args: argparse.Namespace, settings: Settings, check: LinkCheck) -> int:
    """Check the links, report them, and return the exit code."""
    if args.resume and check.history is None:
        raise bad_argument("--resume", "needs the history; remove --no-history")
    _require_writable("--write-baseline", args.write_baseline)
    fail_on, aliases = read_fail_on(args.fail_on), read_aliases(args.map)
    baseline = Baseline.read(args.baseline) if args.baseline else Baseline()
    own = own_settings(args, settings)
    history = None if args.dry_run else check.history
    store = store_for(history, _scope(args, check), aliases, resume=args.resume)
    try:
        with reading(quiet=args.quiet) as show_count:
            store.take(_with_count(check.links, show_count))
        if args.dry_run:
            return dry_run(store, own, as_json=args.format in ("json", "jsonl"))
        results = CheckResults(args, baseline, check)
        code = _run(args, settings, own, store, check, results)
        if check.repair is not None and not code:
            code = check.repair(results.repairable)
    finally:
        store.close()
        if check.history is not None:
            check.history.close()
    return code or results.summary.exit_code(fail_on)


def _require_writable(option: str, path: str | None) -> None:
    """Refuse at the start what could not be written at the end: a check may take hours."""
    if path and os.path.isdir(path):
        raise bad_argument(option, f"cannot write '{path}': it is a folder")
    if path and not os.path.isdir(os.path.dirname(path) or "."):
        raise bad_argument(option, f"cannot write '{path}': its folder does not exist")


def _scope(args: argparse.Namespace, check: LinkCheck) -> str:
    """What is checked, and how: results of a different check are not resumed."""
    how = [*(["--soft-404"] if args.soft_404 else []), *(["--robots"] if args.robots else []), *sorted(args.map)]
    return "\n".join([check.scope, *how])


def _with_count(links: Iterable[Link | Checked], show_count: Callable[[int], None]) -> Iterator[Link | Checked]:
    for number, link in enumerate(links, 1):
        if number % COUNTED == 0:
            show_count(number)
        yield link


def _run(
    args: argparse.Namespace,
    settings: Settings,
    own: HealthSettings,
    store: LinkStore,
    check: LinkCheck,
    results: CheckResults,
) -> int:
    """0, or the exit code of the signal that stopped it."""
    from spaniel.app.engine import Engine

    collect_rarely()
    extras = Extras(args.total_time, args.soft_404)
    long_run = LongRun("link", quiet=args.quiet)

    async def go() -> int:
        async with Engine(settings) as engine:
            run, total = prepare(engine, store, own, extras), store.total + store.known_count
            for remark in () if args.quiet else store.remarks:
                say(remark)
            display = Display(lambda: [_progress(run, total)], quiet=args.quiet, share=lambda: run.done / max(1, total))
            try:
                with long_run.watched(run.stop, lambda: run.under_way, display), results.report(display, run) as add:
                    async with aclosing(run.results()) as stream:
                        async for checked in stream:
                            add(checked)
                    results.summary.no_network = not run.network
                    results.summary.interrupted = long_run.stopping
            finally:
                if not run.is_whole and long_run.stopping:
                    long_run.say(f"stopped: {run.done:,} of {total:,} links checked")
                    if check.history is not None:
                        long_run.say_how_to_resume()
            if store.trouble:
                say(f"{NOT_KEPT}: {store.trouble}")
            if check.history is not None and check.history.damage:
                say(f"the history was lost: {check.history.damage}")
            return long_run.exit_code

    return run_async(go())


def _progress(run: Run, total: int) -> Iterator[str]:
    yield f"{run.done:,} of {total:,} links"
    if run.bad:
        yield f", {run.bad:,} failing"
    host, seconds, left = max(run.waiting(), key=lambda host: host[1], default=("", 0.0, 0))
    if seconds >= 1.0:
        yield f"; waiting {seconds:.0f} s for {shown(host, 40)}"
        yield f" ({left:,} left)"


class CheckResults:
    """Results, counted and written as a report; broken links are kept for a baseline, others for a repair."""

    def __init__(self, args: argparse.Namespace, baseline: Baseline, check: LinkCheck) -> None:
        self._args, self._baseline, self._history = args, baseline, check.history
        self._repairs = check.repair is not None
        self.repairable: list[Checked] = []
        self.summary = Summary()
        self._broken: list[Checked] = []

    @contextmanager
    def report(self, display: Display, run: Run) -> Iterator[Add]:
        """The function that takes each result; the report is completed even after an interruption."""
        began = time.monotonic()
        with self._out() as out:
            buffered = StringIO()
            report = open_report(self._args.format, buffered, self._context(out))
            is_streamed = self._args.format in STREAMED
            is_due = False
            failure: OSError | None = None

            def write() -> None:
                nonlocal is_due
                is_due = False
                if text := buffered.getvalue():
                    display.clear()
                    out.write(text)
                    out.flush()
                    buffered.seek(0)
                    buffered.truncate()

            def write_later() -> None:
                nonlocal failure
                try:
                    write()
                except OSError as error:  # the reader of our output has gone: the run ends with the next result
                    failure = error

            def add(checked: Checked) -> None:
                nonlocal is_due
                if failure is not None:
                    raise failure
                self._take(checked, report)
                if buffered.tell() > BLOCK:
                    write()
                elif is_streamed and not is_due:  # one write for each result would cost more than its check
                    is_due = True
                    asyncio.get_running_loop().call_later(FLUSH_SECONDS, write_later)

            try:
                yield add
            finally:
                write()  # also when it is interrupted
            self.summary.fixed = len(self._baseline.fixed)
            self.summary.seconds = time.monotonic() - began
            report.close(self.summary)
            write()
        if self._args.write_baseline:
            self._write_baseline(is_whole=run.is_whole)

    def _write_baseline(self, *, is_whole: bool) -> None:
        """Only after a complete run: the baseline would lack the links that were not checked."""
        path = self._args.write_baseline
        if not is_whole:
            say(f"{path} was not written: the check did not finish")
            return
        say(f"{counted(write_baseline(path, self._broken), 'broken link')} written to {path}")

    def _take(self, checked: Checked, report: Report) -> None:
        self.summary.add(checked, known=self._baseline.covers_all(checked))
        self._baseline.saw(checked)
        report.add(checked)
        if self._repairs and (checked.move is not None or checked.verdict is Verdict.DEAD):
            self.repairable.append(checked)
        if self._args.write_baseline and checked.verdict in CONTRADICTED:
            self._broken.append(checked)

    @contextmanager
    def _out(self) -> Iterator[TextIO]:
        if not self._args.output or self._args.output == STANDARD_OUTPUT:
            is_diff = self._repairs and not self._args.output and not report_takes_output(self._args)
            yield sys.stderr if is_diff else sys.stdout
            return
        with replacing(self._args.output) as file:
            yield file

    def _context(self, out: TextIO) -> ReportContext:
        return ReportContext(
            started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            version=__version__,
            color=may_color(out),
            verbose=bool(self._args.verbose),
            history=None if self._history is None else self._past,
            is_known=self._baseline.covers if self._args.baseline else None,
            fail_on=read_fail_on(self._args.fail_on),
        )

    def _past(self, url: str) -> list[tuple[str, str]]:
        rows = self._history.of(address_of()(url)[0])[-SHOWN_PAST:] if self._history is not None else []
        return [(written_time(row.last_at) or "", row.verdict) for row in rows]


def dry_run(store: LinkStore, own: HealthSettings, *, as_json: bool = False) -> int:
    """List the hosts with their number of links, as they come: there may be very many."""
    hosts, longest = 0, 0
    if as_json:
        sys.stdout.write('{"hosts": [')
    for host, links in store.hosts():
        hosts, longest = hosts + 1, max(longest, links)
        if as_json:
            sys.stdout.write((",\n" if hosts > 1 else "\n") + json.dumps({"host": host or None, "links": links}))
        elif hosts <= LISTED_HOSTS:
            print(f"{links:>9,}  {shown(host) or '(no host: not a web address)'}")
    skipped = store.known_count
    seconds = max(longest - 1, 0) * own.delay_ms / 1000
    if as_json:
        rest = {"links": store.total, "skipped": skipped, "seconds_at_least": seconds}
        sys.stdout.write(f"], {json.dumps(rest)[1:]}\n")
        return 0
    if hosts > LISTED_HOSTS:
        print(f"{'':9}  and {hosts - LISTED_HOSTS:,} more hosts")
    total = f"{counted(store.total, 'link')} at {counted(hosts, 'host')} would be requested"
    print(total + (f"; {skipped:,} would be skipped" if skipped else ""))
    print(
        f"it takes at least {in_words(seconds)}: {own.delay_ms / 1000:g} s between requests to a host, "
        "and any delay that hosts or their robots.txt ask for"
    )
    return 0


# Repairs: new addresses in documents; a diff, unless --write is given


def diff_output(args: argparse.Namespace) -> TextIO:
    """Where the diff goes: not into standard output with a JSON report."""
    return sys.stderr if report_takes_output(args) else sys.stdout


def report_takes_output(args: argparse.Namespace) -> bool:
    return args.format in ("json", "jsonl") and not args.output


def wishes_of(args: argparse.Namespace) -> FixOptions:
    if not args.allowlist:
        return FixOptions(args.temporary_too, args.archive)
    from spaniel.url.allowlist import load

    return FixOptions(args.temporary_too, args.archive, load(args.allowlist).refusal)


def fix_documents(results: Iterable[Checked], args: argparse.Namespace, wishes: FixOptions, out: TextIO) -> int:
    """Plan the fixes, and show or write them. The exit code: 0, or 1 if a file could not be written."""
    found = list(results)
    files = (place.file for one in found if one.move or one.archived for place in one.link.places if place.line)
    sources = read_sources((file for file in files if file != "-"), args.kind or "", args.field)
    plan = plan_fixes(found, sources, wishes, args.base)
    code = _write(plan, sources) if args.write else _show(plan, sources, out)
    report_unfixed(plan.unfixed)
    return code


def _by_file(plan: FixPlan) -> dict[str, list[Fix]]:
    files: dict[str, list[Fix]] = {}
    for fix in plan.fixes:
        files.setdefault(fix.place.file, []).append(fix)
    return files


def _show(plan: FixPlan, sources: dict[str, SourceDocument], out: TextIO) -> int:
    for file, fixes in _by_file(plan).items():
        changes = {fix.span: fix.written for fix in fixes}
        name = file.removeprefix("./").lstrip("/").replace("\\", "/")
        show_diff(diff_lines(name, sources[file].decoded.text, changes), out)
    if plan.fixes:
        say(f"{counted(len(plan.fixes), 'link')} would change; add --write to change the files")
    return 0


def show_diff(lines: Iterable[str], out: TextIO) -> None:
    """Unchanged into a file or a pipe; on a terminal without control characters."""
    safe = out.isatty()
    out.writelines(f"{shown(line.rstrip(), LONGEST)}\n" if safe else line for line in lines)


def _write(plan: FixPlan, sources: dict[str, SourceDocument]) -> int:
    code = 0
    for file, fixes in _by_file(plan).items():
        trouble = write(sources[file], fixes)
        if trouble:
            say(f"{shown(file)} was not changed: {trouble}")
            code = SOME_UNWRITTEN
        else:
            say(f"{shown(file)}: {counted(len(fixes), 'link')} changed")
    return code


def report_unfixed(unfixed: Sequence[Unfixed]) -> None:
    """Links that were not changed, and why."""
    for one in unfixed[:LISTED_UNFIXED]:
        where = f"{shown(one.place.file)}:{one.place.line}:{one.place.column}"
        hint = f" ({shown(one.suggestion)})" if one.suggestion else ""
        say(f"{where}: {shown(one.url)} was not changed: {shown(one.reason)}{hint}")
    if len(unfixed) > LISTED_UNFIXED:
        say(f"and {len(unfixed) - LISTED_UNFIXED:,} more that were not changed")

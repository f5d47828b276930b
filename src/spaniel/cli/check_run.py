"""One link check, from links to a report and an exit code: for `spaniel check` and `spaniel db check`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing, contextmanager
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from spaniel.app.checking import CheckOptions, Extras, address_of, health_settings, prepare, store_for
from spaniel.cli.check_fix import report_takes_output
from spaniel.cli.long_run import Display, LongRun, collect_rarely, in_words, reading, run_async, say
from spaniel.defaults import CHECK_DELAY_MS, CHECK_JOBS, CHECK_PER_HOST
from spaniel.errors import Code, SpanielError, shown
from spaniel.health.baseline import Baseline, write_baseline
from spaniel.health.registry_links import read_aliases
from spaniel.health.reports import ReportContext, open_report
from spaniel.health.store import NOT_KEPT
from spaniel.health.summary import Summary, read_fail_on
from spaniel.verdicts import CONTRADICTED, Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    from spaniel.app.groups import HealthSettings
    from spaniel.app.settings import Settings
    from spaniel.health.history import History
    from spaniel.health.links import Checked, Link
    from spaniel.health.reports import Report
    from spaniel.health.run import Run
    from spaniel.health.store import LinkStore

    Add = Callable[[Checked], None]


STANDARD_OUTPUT = "-"
STREAMED = ("jsonl", "github")  # formats that tell each result at once
COUNTED = 5000  # links after which it is said how many were read
BLOCK = 1 << 16  # characters of a report that are written at once
FLUSH_SECONDS = 0.05  # after which a result is written, in formats that show each at once
SHOWN_PAST = 30  # observations of a link that a report shows


class Job(NamedTuple):
    """What is checked, and what is known of it."""

    links: Iterable[Link | Checked]
    history: History | None
    scope: str  # what is checked, for whoever goes on with it
    then: Callable[[list[Checked]], int] | None = None  # what is done with links that moved or are dead; its exit code


def own_settings(args: argparse.Namespace, settings: Settings) -> HealthSettings:
    """`[spaniel.health]`, and over it the command's flags."""
    if args.jobs is not None and not CHECK_JOBS.allows(args.jobs):
        raise SpanielError(Code.BAD_ARGS, field="--jobs", reason=f"must be {CHECK_JOBS.range}")
    if args.per_host is not None and not CHECK_PER_HOST.allows(args.per_host):
        raise SpanielError(Code.BAD_ARGS, field="--per-host", reason=f"must be {CHECK_PER_HOST.range}")
    if args.delay is not None and not CHECK_DELAY_MS.allows(args.delay * 1000):
        low, high = CHECK_DELAY_MS.low // 1000, CHECK_DELAY_MS.high // 1000
        raise SpanielError(Code.BAD_ARGS, field="--delay", reason=f"must be {low} to {high} seconds")
    given = CheckOptions(args.jobs, args.per_host, args.delay, args.timeout, args.robots or None)
    return given.over(health_settings(settings))


def run_job(args: argparse.Namespace, settings: Settings, job: Job) -> int:
    """Check what there is, tell it, and say how it went."""
    if args.resume and job.history is None:
        raise SpanielError(Code.BAD_ARGS, field="--resume", reason="needs the history; leave --no-history out")
    _require_folder("--write-baseline", args.write_baseline)
    fail_on, aliases = read_fail_on(args.fail_on), read_aliases(args.map)
    baseline = Baseline.read(args.baseline) if args.baseline else Baseline()
    own = own_settings(args, settings)
    history = None if args.dry_run else job.history
    store = store_for(history, _scope(args, job), aliases, resume=args.resume)
    try:
        with reading(quiet=args.quiet) as told:
            store.take(_counted(job.links, told))
        if args.dry_run:
            return dry_run(store, own, as_json=args.format in ("json", "jsonl"))
        telling = Telling(args, baseline, job)
        code = _run(args, settings, own, store, job, telling)
        if job.then is not None and not code:
            code = job.then(telling.repairable)  # a repair changes nothing of what was seen
    finally:
        store.close()
        if job.history is not None:
            job.history.close()
    return code or telling.summary.exit_code(fail_on)


def _require_folder(option: str, path: str | None) -> None:
    """What is written at the end is refused at the beginning: a check may take hours."""
    import os

    reason = ""
    if path and os.path.isdir(path):
        reason = "it is a folder"
    elif path and not os.path.isdir(os.path.dirname(path) or "."):
        reason = "its folder is not there"
    if reason:
        raise SpanielError(Code.BAD_ARGS, field=option, reason=f"cannot write '{path}': {reason}")


def _scope(args: argparse.Namespace, job: Job) -> str:
    """What is checked, and how: answers to another question are not gone on with."""
    how = [*(["--soft-404"] if args.soft_404 else []), *(["--robots"] if args.robots else []), *sorted(args.map)]
    return "\n".join([job.scope, *how])


def _counted(links: Iterable[Link | Checked], told: Callable[[int], None]) -> Iterator[Link | Checked]:
    for number, link in enumerate(links, 1):
        if number % COUNTED == 0:
            told(number)
        yield link


def _run(
    args: argparse.Namespace, settings: Settings, own: HealthSettings, store: LinkStore, job: Job, telling: Telling
) -> int:
    """0, or the exit code of the signal that stopped it."""
    from spaniel.app.engine import Engine

    collect_rarely()
    extras = Extras(args.total_time, args.soft_404)
    long_run = LongRun("links", quiet=args.quiet)

    async def go() -> int:
        async with Engine(settings) as engine:
            run, total = prepare(engine, store, own, extras), store.total + store.known_count
            for remark in () if args.quiet else store.remarks:
                say(remark)
            display = Display(lambda: [_progress(run, total)], quiet=args.quiet, share=lambda: run.done / max(1, total))
            try:
                with long_run.watched(run.stop, lambda: run.under_way, display), telling.report(display, run) as add:
                    async with aclosing(run.results()) as results:
                        async for checked in results:
                            add(checked)
                    telling.summary.no_network = not run.network
                    telling.summary.interrupted = long_run.stopping
            finally:
                if not run.is_whole and long_run.stopping:
                    long_run.say(f"stopped: {run.done:,} of {total:,} links checked")
                    if job.history is not None:
                        long_run.say_how_to_resume()
            if store.trouble:
                say(f"{NOT_KEPT}: {store.trouble}")
            if job.history is not None and job.history.damage:
                say(f"the history was lost: {job.history.damage}")
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


class Telling:
    """Results as a report, and counted; broken ones are kept where they become a baseline."""

    def __init__(self, args: argparse.Namespace, baseline: Baseline, job: Job) -> None:
        self._args, self._baseline, self._history = args, baseline, job.history
        self._repairs = job.then is not None
        self.repairable: list[Checked] = []
        self.summary = Summary()
        self._broken: list[Checked] = []

    @contextmanager
    def report(self, display: Display, run: Run) -> Iterator[Add]:
        """What takes each result; the report is ended with the block, also by an interruption."""
        import time

        began = time.monotonic()
        with self._out() as out:
            buffered = StringIO()
            report = open_report(self._args.format, buffered, self._context(out))
            is_streamed = self._args.format in STREAMED
            is_due = False

            def write() -> None:
                nonlocal is_due
                is_due = False
                if text := buffered.getvalue():
                    display.clear()
                    out.write(text)
                    out.flush()
                    buffered.seek(0)
                    buffered.truncate()

            def add(checked: Checked) -> None:
                nonlocal is_due
                self._take(checked, report)
                if buffered.tell() > BLOCK:
                    write()
                elif is_streamed and not is_due:  # one write for each result would cost more than its check
                    is_due = True
                    asyncio.get_running_loop().call_later(FLUSH_SECONDS, write)

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
        """Of a whole run alone: the links that were not asked would be missing, and a good file would be lost."""
        path = self._args.write_baseline
        if not is_whole:
            say(f"{path} was not written: the check did not finish")
            return
        count = write_baseline(path, self._broken)
        say(f"{count:,} broken link{'' if count == 1 else 's'} written to {path}")

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
        from spaniel.cli.files import replacing

        with replacing(self._args.output) as file:
            yield file

    def _context(self, out: TextIO) -> ReportContext:
        from datetime import UTC, datetime

        from spaniel import __version__
        from spaniel.app.checking import may_color

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
        from datetime import UTC, datetime

        rows = self._history.of(address_of()(url)[0])[-SHOWN_PAST:] if self._history is not None else []
        return [(datetime.fromtimestamp(row.last_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), row.verdict) for row in rows]


MOST_HOSTS = 1000  # that are listed


def dry_run(store: LinkStore, own: HealthSettings, *, as_json: bool = False) -> int:
    if as_json:
        return _as_json(store, own)
    hosts, longest = 0, 0
    for host, links in store.hosts():
        hosts, longest = hosts + 1, max(longest, links)
        if hosts <= MOST_HOSTS:
            print(f"{links:>9,}  {shown(host) or '(no host: not a web address)'}")
    if hosts > MOST_HOSTS:
        print(f"{'':9}  and {hosts - MOST_HOSTS:,} more hosts")
    skipped = store.known_count
    told = f"{_many(store.total, 'link')} at {_many(hosts, 'host')} would be requested"
    print(told + (f"; {skipped:,} would be skipped" if skipped else ""))
    seconds = max(longest - 1, 0) * own.delay_ms / 1000
    pauses = f"{own.delay_ms / 1000:g} s between two requests to one host"
    print(f"it takes {in_words(seconds)} at least: {pauses}, and what robots.txt and the hosts ask for in addition")
    return 0


def _as_json(store: LinkStore, own: HealthSettings) -> int:
    """One object, written as hosts come: there may be very many."""
    import json
    import sys

    hosts, longest = 0, 0
    sys.stdout.write('{"hosts": [')
    for host, links in store.hosts():
        hosts, longest = hosts + 1, max(longest, links)
        sys.stdout.write((",\n" if hosts > 1 else "\n") + json.dumps({"host": host or None, "links": links}))
    rest = {
        "links": store.total,
        "skipped": store.known_count,
        "seconds_at_least": max(longest - 1, 0) * own.delay_ms / 1000,
    }
    sys.stdout.write(f"], {json.dumps(rest)[1:]}\n")
    return 0


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

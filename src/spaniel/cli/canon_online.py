"""`spaniel canon --online`: many URLs at once, printed in order, and what was learnt kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from spaniel.cli.canon_show import writer_for
from spaniel.cli.lists import SOME_LOST, incoming, list_options, report_problems
from spaniel.cli.long_run import LongRun, run_async
from spaniel.cli.main import report
from spaniel.cli.options import configure_logs, settings_from
from spaniel.cli.places import Places, host_in
from spaniel.defaults import FETCH_PER_HOST
from spaniel.sources.rows import Problems

if TYPE_CHECKING:
    import argparse

    from spaniel.app.client import Spaniel
    from spaniel.cli.lists import Asked
    from spaniel.online.canonicalizer import Found
    from spaniel.url.canonical import Canonical
    from spaniel.url.policy import Policy

SOME_REFUSED = 1


def canonicalize_online(policy: Policy, args: argparse.Namespace) -> int:
    from spaniel.app.client import Spaniel

    configure_logs(args)

    async def go() -> int:
        async with Spaniel(settings_from(args)) as client:
            return await run(policy, args, client)

    return run_async(go())


async def run(policy: Policy, args: argparse.Namespace, client: Spaniel) -> int:
    """Ask and print; apart from `canonicalize_online`, so that it can be tried with a client of one's own."""
    from spaniel.online.canonicalizer import Found

    canonicalizer = client.canonicalizer(policy, allowlist=args.allowlist, learnt=args.learnt, refresh=args.refresh)
    places = Places(args.jobs, FETCH_PER_HOST)
    several = args.urls == ["-"] or len(args.urls) > 1
    total = None if "-" in args.urls else len(args.urls)
    run = LongRun("URLs", total=total, quiet=args.quiet, several=several)
    printed = _Printed(args)

    async def work(asked: Asked) -> tuple[Asked, Found]:
        if printed.stopped:
            return asked, Found(asked.url, None, None)
        found = await canonicalizer.find(asked.url)
        if found.error is not None:
            run.fail(str(found.error.code))
        return asked, found

    problems = Problems()
    try:
        asked = incoming(args.urls, client.settings, list_options(args), problems, may_be_empty=True)
        await run.in_order(asked, work, printed.take, lambda asked: places.at(host_in(asked.url)))
    finally:
        canonicalizer.learnt.save()
    printed.end()
    report_problems(problems)
    if several and not printed.stopped:
        run.say(run.summary("looked up"))
    return run.exit_code or printed.code() or (SOME_LOST if problems.lost else 0)


class _Printed:
    """The results as they come; a table waits for its last row."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._write = writer_for(args)
        self._rows: list[Canonical] = []
        self._codes: list[int] = []
        self.stopped = False

    def take(self, done: tuple[Asked, Found]) -> None:
        asked, found = done
        if self.stopped:
            return
        if found.error is not None:
            sys.stdout.flush()
            report(found.error, f"{asked.where}: " if asked.where else "")
            self._codes.append(found.error.row.exit)
            self.stopped = self._args.fail_fast
        elif found.canonical is not None and self._args.form == "table":
            self._rows.append(found.canonical)
        elif found.canonical is not None:
            self._write(iter([found.canonical]), self._args.explain)
            sys.stdout.flush()

    def end(self) -> None:
        if self._args.form == "table":
            self._write(iter(self._rows), self._args.explain)

    def code(self) -> int:
        """As offline: a single URL's own exit code, else whether some were refused."""
        if not self._codes:
            return 0
        single = len(self._args.urls) == 1 and self._args.urls != ["-"]
        return self._codes[0] if single else SOME_REFUSED

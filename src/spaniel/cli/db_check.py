"""`spaniel db check`: every record of a database verified (DB-09); `spaniel db fix`: and moved to where it is now."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from spaniel.cli.checking import Job, own_settings, run_job
from spaniel.cli.db_folder import Failures, folder_of, name_strangers, opened
from spaniel.cli.db_list import selection
from spaniel.cli.options import configure_logs, settings_from
from spaniel.errors import Code, SpanielError, shown
from spaniel.health import due
from spaniel.health.registry_links import Wanted, links, wanted
from spaniel.health.summary import UNTOLD_CODE
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.app.groups import HealthSettings
    from spaniel.health.history import History
    from spaniel.health.observations import Observed
    from spaniel.health.verdict import Checked, Link
    from spaniel.registry.database import Registry
    from spaniel.registry.record import Record

    Last = Callable[[str], Observed | None]

NEVER = "never"  # of --verdict: links that were not checked yet
SOME_UNREAD = 1


def run_check(args: argparse.Namespace) -> int:
    return _check(args, opened(args), None)


def run_fix(args: argparse.Namespace) -> int:
    from spaniel.cli.check_fix import diff_output, wishes_of
    from spaniel.cli.db_fix import fix_records

    registry, wishes = opened(args), wishes_of(args)

    def fix(found: list[Checked]) -> int:
        fix_records(registry, found, wishes, diff_output(args), write=args.write)
        return 0

    return _check(args, registry, fix)


def _check(args: argparse.Namespace, registry: Registry, then: Callable[[list[Checked]], int] | None) -> int:
    from spaniel.app.checking import registry_history

    configure_logs(args)
    settings = settings_from(args)
    name_strangers(registry)
    history = None if args.no_history else registry_history(folder_of(args))
    unread = Failures(several=True)
    found = _links(args, registry, own_settings(args, settings), history, unread)
    code = run_job(args, settings, Job(found, history, f"db {os.path.abspath(registry.folder)}", then))
    return SOME_UNREAD if unread.count and code in (0, UNTOLD_CODE) else code


def _links(
    args: argparse.Namespace, registry: Registry, own: HealthSettings, history: History | None, unread: Failures
) -> Iterator[Link | Checked]:
    which = _wanted(args, history)
    priorities = due.load(own.priorities_file)
    records = _some(registry.records(selection(args, deprecated=True), unread), args, unread)
    return wanted(links(records, priorities, args.scheme or ""), which, _last(history), priorities)


def _some(records: Iterable[Record], args: argparse.Namespace, unread: Failures) -> Iterator[Record]:
    """All of them; where a choice leaves none, that is refused: a host that is misspelt would be well for ever."""
    count = 0
    for record in records:
        count += 1
        yield record
    choice = {"--host": args.host, "--category": args.category, "--path": [args.path] if args.path else []}
    given = [f"{option} {shown(', '.join(values))}" for option, values in choice.items() if values]
    if given and not count and not unread.count:
        raise SpanielError(Code.BAD_ARGS, field=", ".join(given), reason="no record of the database is chosen by this")


def _wanted(args: argparse.Namespace, history: History | None) -> Wanted:
    verdicts = frozenset(name.strip() for text in args.verdict for name in text.split(",") if name.strip())
    for name in verdicts - {NEVER, *Verdict}:
        known = f"{', '.join(Verdict)} and {NEVER}"
        raise SpanielError(
            Code.BAD_ARGS, field="--verdict", reason=f"'{name}' is an unknown verdict; there are {known}"
        )
    now = time.time()
    which = Wanted(verdicts, None if args.since is None else now - args.since, now if args.due else None)
    if which.asks_history and history is None:
        raise SpanielError(Code.BAD_ARGS, field="--no-history", reason="--due, --verdict and --since need the history")
    return which


def _last(history: History | None) -> Last:
    from spaniel.app.checking import address_of

    address = address_of()

    def last(url: str) -> Observed | None:
        return history.last(address(url)[0]) if history is not None else None

    return last

"""`spaniel db check`, `fix` and `history`: check every record (DB-09), move it to its new URL, show past results."""

from __future__ import annotations

import os
import sqlite3
import time
from difflib import unified_diff

from spaniel.cli import options as opt
from spaniel.cli.check_run import (
    LinkCheck,
    diff_output,
    own_settings,
    report_unfixed,
    run_link_check,
    show_diff,
    wishes_of,
)
from spaniel.cli.db import Failures, folder_of, opened, report_ignored_files, selection
from spaniel.cli.inputs import Inputs, list_options
from spaniel.cli.long_run import counted, say
from spaniel.cli.output import print_json, written_time
from spaniel.errors import SpanielError, shown
from spaniel.health import registry_links
from spaniel.health.registry_links import Wanted, wanted
from spaniel.health.rewriting import Unfixed, replacement_for
from spaniel.health.summary import UNVERIFIED_CODE
from spaniel.url.value import LONGEST
from spaniel.verdicts import BAD, GOOD, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.app.settings import HealthSettings
    from spaniel.health.history import History, Observed
    from spaniel.health.links import Checked, Link
    from spaniel.registry.record import LinkRecord

    Last = Callable[[str], Observed | None]
    from typing import TextIO

    from spaniel.health.rewriting import FixOptions
    from spaniel.registry import Editor, Registry


NEVER = "never"  # of --verdict: links that were not checked yet
SOME_UNREAD = 1


def run_check(args: argparse.Namespace) -> int:
    return _check(args, opened(args), None)


def run_fix(args: argparse.Namespace) -> int:
    registry, wishes = opened(args), wishes_of(args)

    def fix(results: list[Checked]) -> int:
        fix_records(registry, results, wishes, diff_output(args), write=args.write)
        return 0

    return _check(args, registry, fix)


def _check(args: argparse.Namespace, registry: Registry, repair: Callable[[list[Checked]], int] | None) -> int:
    from spaniel.app.checking import registry_history

    opt.configure_logs(args)
    settings = opt.settings_from(args)
    report_ignored_files(registry)
    history = None if args.no_history else registry_history(folder_of(args))
    unread = Failures(several=True)
    links = _links(args, registry, own_settings(args, settings), history, unread)
    check = LinkCheck(links, history, f"db {os.path.abspath(registry.folder)}", repair)
    code = run_link_check(args, settings, check)
    return SOME_UNREAD if unread.count and code in (0, UNVERIFIED_CODE) else code


def _links(
    args: argparse.Namespace, registry: Registry, own: HealthSettings, history: History | None, unread: Failures
) -> Iterator[Link | Checked]:
    selected = _wanted(args, history)
    priorities = registry_links.load(own.priorities_file)
    records = _selected(registry.records(selection(args, deprecated=True), unread), args, unread)
    return wanted(registry_links.links(records, priorities, args.scheme or ""), selected, _last(history), priorities)


def _selected(records: Iterable[LinkRecord], args: argparse.Namespace, unread: Failures) -> Iterator[LinkRecord]:
    """The records; an error if the selection matches nothing, so that a misspelt host is noticed."""
    count = 0
    for record in records:
        count += 1
        yield record
    options = {"--host": args.host, "--category": args.category, "--path": [args.path] if args.path else []}
    given = [f"{option} {', '.join(values)}" for option, values in options.items() if values]
    if given and not count and not unread.count:
        raise opt.bad_argument(", ".join(given), "matches no record of the database")


def _wanted(args: argparse.Namespace, history: History | None) -> Wanted:
    verdicts = frozenset(name.strip() for text in args.verdict for name in text.split(",") if name.strip())
    for name in verdicts - {NEVER, *Verdict}:
        known = f"{', '.join(Verdict)} and {NEVER}"
        raise opt.bad_argument("--verdict", f"unknown verdict '{name}'; known: {known}")
    now = time.time()
    selected = Wanted(verdicts, None if args.since is None else now - args.since, now if args.due else None)
    if selected.asks_history and history is None:
        raise opt.bad_argument("--no-history", "--due, --verdict and --since need the history")
    return selected


def _last(history: History | None) -> Last:
    from spaniel.app.checking import address_of

    address = address_of()

    def last(url: str) -> Observed | None:
        return history.last(address(url)[0]) if history is not None else None

    return last


class _NotWrittenError(Exception):
    """Ends an edit without writing it."""


def fix_records(registry: Registry, results: Iterable[Checked], wishes: FixOptions, out: TextIO, *, write: bool) -> int:
    """Move the records of links that moved, with all their fields; returns how many stay."""
    unfixed: list[Unfixed] = []
    moved = 0
    try:
        with registry.editing(written=_report_changed if write else None) as editor:
            for checked in results:
                moved += _move_record(editor, checked, wishes, unfixed)
            if not write:
                _show_changes(editor, out)
                raise _NotWrittenError
    except _NotWrittenError:
        if moved:
            say(f"{counted(moved, 'record')} would move; add --write to change the files")
    report_unfixed(unfixed)
    return len(unfixed)


def _move_record(editor: Editor, checked: Checked, wishes: FixOptions, unfixed: list[Unfixed]) -> bool:
    """Whether the record of a link moves."""
    new = replacement_for(checked, wishes)
    if new is None or not checked.link.places:
        return False
    place, url = checked.link.places[0], checked.link.url
    if new.refusal:
        unfixed.append(Unfixed(place, url, new.refusal, new.suggestion))
        return False
    try:
        added = editor.move(url, new.url.partition("#")[0])
    except SpanielError as error:
        unfixed.append(Unfixed(place, url, error.message, new.url))
        return False
    if not added.is_new:
        reason = "only the scheme differs, and its file sets that for all its records ('https: true')"
        unfixed.append(Unfixed(place, url, reason, new.url))
    return added.is_new


def _show_changes(editor: Editor, out: TextIO) -> None:
    for file, before, after in editor.changes():
        name = file.lstrip("/")
        old, new = ("/dev/null" if not before else f"a/{name}"), ("/dev/null" if not after else f"b/{name}")
        lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), old, new)
        show_diff(lines, out)


def _report_changed(file: str) -> None:
    say(f"{shown(file)} changed")


DAYS = 30


def run_history(args: argparse.Namespace) -> int:
    from spaniel.app.checking import address_of, documents_history, health_settings, registry_history
    from spaniel.app.settings import load

    if args.documents:
        history = documents_history(health_settings(load(args.config)))
    else:
        history = registry_history(opened(args).folder)
    failed = Failures(several=opt.is_several(args.urls))
    address = address_of()
    urls = Inputs(args.urls, list_options(args))
    try:
        for place, url in urls:
            try:
                _show_history(history, address(url)[0], args.format)
            except SpanielError as error:
                failed(error, place)
    finally:
        history.close()
    return urls.exit_code(failed.exit_code)


def _show_history(history: History, url: str, form: str) -> None:
    try:
        rows, uptime = history.of(url), history.uptime(url, DAYS)
    except (OSError, sqlite3.Error) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise opt.bad_argument(history.folder, reason) from None
    if not rows and history.damage:
        raise opt.bad_argument("the history", history.damage)
    if not rows:
        raise opt.bad_argument(url, "no past results of this URL; 'spaniel db check' checks it")
    facts = _facts(url, rows, uptime)
    if form == "json":
        print_json(facts)
    else:
        _print(facts, rows)


def _facts(url: str, rows: list[Observed], uptime: float | None) -> dict[str, object]:
    good = [row for row in rows if row.verdict in GOOD]
    last_good = good[-1].last_at if good else None
    bad = [row.first_at for row in rows if row.verdict in BAD and row.first_at > (last_good or 0.0)]
    return {
        "url": url,
        "verdict": rows[-1].verdict,
        "checks": sum(row.checks for row in rows),
        "last_checked": written_time(rows[-1].last_at),
        "uptime_30_days": None if uptime is None else round(uptime, 4),
        "last_good": written_time(last_good),
        "first_bad": written_time(bad[0]) if bad else None,
        "observations": [
            {
                "first": written_time(row.first_at),
                "last": written_time(row.last_at),
                "checks": row.checks,
                "verdict": row.verdict,
                "status": row.status,
                "code": row.code,
                "reason": row.reason,
                "final_url": row.final_url,
            }
            for row in rows
        ],
    }


def _print(facts: dict[str, object], rows: list[Observed]) -> None:
    print(shown(str(facts["url"]), LONGEST))
    uptime = facts["uptime_30_days"]
    share = "unknown" if uptime is None else f"{float(str(uptime)):.1%}"
    print(f"  {'ok in the last 30 days':26}{share}")
    for name, key in (("last good", "last_good"), ("first bad since", "first_bad")):
        print(f"  {name:26}{facts[key] or '-'}")
    for row in rows:
        times = "once" if row.checks == 1 else f"{row.checks} times"
        status = f" {row.status}" if row.status else ""
        reason = f": {shown(row.reason, LONGEST)}" if row.reason else ""
        print(
            f"  {written_time(row.first_at)} to {written_time(row.last_at)}  {times:>10}  {row.verdict}{status}{reason}"
        )

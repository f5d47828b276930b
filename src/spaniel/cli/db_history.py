"""`spaniel db history`: what was seen of a link, when, and how often it was well."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spaniel.cli.db_folder import Failures, is_several, opened
from spaniel.cli.lists import Inputs, list_options
from spaniel.errors import Code, SpanielError, shown
from spaniel.url.value import LONGEST
from spaniel.verdicts import BAD, GOOD

if TYPE_CHECKING:
    import argparse

    from spaniel.health.history import History
    from spaniel.health.observations import Observed

DAYS = 30


def run_history(args: argparse.Namespace) -> int:
    from spaniel.app.checking import address_of, documents_history, health_settings, registry_history
    from spaniel.app.settings import load

    if args.documents:
        history = documents_history(health_settings(load(args.config)))
    else:
        history = registry_history(opened(args).folder)
    failed = Failures(several=is_several(args.urls))
    address = address_of()
    urls = Inputs(args.urls, list_options(args))
    try:
        for place, url in urls:
            try:
                _tell(history, address(url)[0], args.format)
            except SpanielError as error:
                failed(error, place)
    finally:
        history.close()
    return urls.exit_code(failed.exit_code)


def _tell(history: History, url: str, form: str) -> None:
    try:
        rows, uptime = history.of(url), history.uptime(url, DAYS)
    except (OSError, sqlite3.Error) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise SpanielError(Code.BAD_ARGS, field=history.folder, reason=reason) from None
    if not rows and history.damage:
        raise SpanielError(Code.BAD_ARGS, field="the history", reason=history.damage)
    if not rows:
        reason = "nothing was seen of this URL yet; 'spaniel db check' looks"
        raise SpanielError(Code.BAD_ARGS, field=url, reason=reason)
    facts = _facts(url, rows, uptime)
    if form == "json":
        print(json.dumps(facts, ensure_ascii=False))
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
        "last_checked": _written(rows[-1].last_at),
        "uptime_30_days": None if uptime is None else round(uptime, 4),
        "last_good": None if last_good is None else _written(last_good),
        "first_bad": _written(bad[0]) if bad else None,
        "observations": [
            {
                "first": _written(row.first_at),
                "last": _written(row.last_at),
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
    told = "nothing known" if uptime is None else f"{float(str(uptime)):.1%}"
    print(f"  {'well in the last 30 days':26}{told}")
    for name, key in (("last good", "last_good"), ("first bad since", "first_bad")):
        print(f"  {name:26}{facts[key] or '-'}")
    for row in rows:
        times = "once" if row.checks == 1 else f"{row.checks} times"
        status = f" {row.status}" if row.status else ""
        reason = f": {shown(row.reason, LONGEST)}" if row.reason else ""
        print(f"  {_written(row.first_at)} to {_written(row.last_at)}  {times:>10}  {row.verdict}{status}{reason}")


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

"""`spaniel batch --dry-run`: the plan, and what it would take, with nothing fetched and nothing written."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from spaniel.batch.planning import make_plan
from spaniel.cli.durations import in_words
from spaniel.cli.lists import report_problems
from spaniel.cli.long_run import reading

if TYPE_CHECKING:
    from spaniel.batch.local import Order
    from spaniel.batch.supervisor import Pace
    from spaniel.sources.rows import Problems


def dry_run(order: Order, pace: Pace, problems: Problems, *, as_json: bool = False) -> int:
    with tempfile.TemporaryDirectory(prefix="spaniel-plan-") as folder, reading(quiet=False) as told:
        counts = make_plan(order.rows(told), folder).counts
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
    print(f"the largest host alone takes {in_words(pauses)} of pauses at least")
    return 0

"""`--dry-run` of a check: which hosts would get requests, for how many links, and how long that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.cli.durations import in_words
from spaniel.errors import shown

if TYPE_CHECKING:
    from spaniel.app.groups import HealthSettings
    from spaniel.health.spool import Spool

MOST_HOSTS = 1000  # that are listed


def dry_run(spool: Spool, own: HealthSettings, *, as_json: bool = False) -> int:
    if as_json:
        return _as_json(spool, own)
    hosts, longest = 0, 0
    for host, links, _ in spool.hosts():
        hosts, longest = hosts + 1, max(longest, links)
        if hosts <= MOST_HOSTS:
            print(f"{links:>9,}  {shown(host) or '(no host: not a web address)'}")
    if hosts > MOST_HOSTS:
        print(f"{'':9}  and {hosts - MOST_HOSTS:,} more hosts")
    skipped = sum(1 for _ in spool.told())
    told = f"{_many(spool.total, 'link')} at {_many(hosts, 'host')} would be requested"
    print(told + (f"; {skipped:,} would be skipped" if skipped else ""))
    seconds = max(longest - 1, 0) * own.delay_ms / 1000
    pauses = f"{own.delay_ms / 1000:g} s between two requests to one host"
    print(f"it takes {in_words(seconds)} at least: {pauses}, and what robots.txt and the hosts ask for in addition")
    return 0


def _as_json(spool: Spool, own: HealthSettings) -> int:
    """One object, written as hosts come: there may be very many."""
    import json
    import sys

    hosts, longest = 0, 0
    sys.stdout.write('{"hosts": [')
    for host, links, _ in spool.hosts():
        hosts, longest = hosts + 1, max(longest, links)
        sys.stdout.write((",\n" if hosts > 1 else "\n") + json.dumps({"host": host or None, "links": links}))
    rest = {
        "links": spool.total,
        "skipped": sum(1 for _ in spool.told()),
        "seconds_at_least": max(longest - 1, 0) * own.delay_ms / 1000,
    }
    sys.stdout.write(f"], {json.dumps(rest)[1:]}\n")
    return 0


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

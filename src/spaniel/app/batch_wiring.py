"""What the workers of a batch are told. It stands apart from what they load: whoever starts them need not load it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.app.settings import Settings
    from spaniel.hosts.limits import HostLimits

WHERE = "spaniel.app.batching:open_fetcher"
PROFILE = "ingest"  # of a batch that names none


def wiring(
    settings: Settings,
    profile: str,
    *,
    cached: bool = False,
    logs: tuple[int, bool] | None = None,
    captures: bool = False,
) -> dict[str, object]:
    """What a worker is told, as plain data: it reads the settings' files no second time. `logs`: how to write its own;
    `captures`: whether it keeps what comes over the wire.

    What there is to say of the settings is said here, once, and not by every worker.
    """
    from spaniel.net.guard import Guard
    from spaniel.net.resolver import SystemResolver

    Guard(SystemResolver(), settings.security)
    fields = [(path, value, source) for path, (value, source) in settings.items()]
    return {"settings": fields, "profile": profile, "cached": cached, "logs": logs, "captures": captures}


def limits(settings: Settings, host_time: float | None = None, total_time: float | None = None) -> HostLimits:
    """How long a run waits: as the settings say, but for what the call does."""
    from spaniel.hosts.limits import HostLimits

    own = settings.batch
    return HostLimits(
        retry_after=own.max_retry_after_seconds,
        crawl_delay=own.max_crawl_delay_seconds,
        host_time=own.host_seconds if host_time is None else host_time,
        total_time=own.total_seconds if total_time is None else total_time,
    )


def keep_ray_quiet() -> None:
    """A Ray cluster that is started here reports its use to nobody, unless somebody wants it to."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

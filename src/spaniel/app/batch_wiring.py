"""The options of batch workers, apart from what they load: the process that starts them need not load it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.app.settings import Settings
    from spaniel.hosts.limits import HostLimits

WHERE = "spaniel.app.batching:open_fetcher"
PROFILE = "ingest"  # for a batch that names none


def wiring(
    settings: Settings,
    profile: str,
    *,
    cached: bool = False,
    logs: tuple[int, bool] | None = None,
    captures: bool = False,
) -> dict[str, object]:
    """A worker's options as plain data: it does not read the settings files again. `logs`: how to write its own log;
    `captures`: whether it stores the raw responses.

    Warnings about settings are printed here, once, and not by every worker.
    """
    from spaniel.net.guard import Guard
    from spaniel.net.resolver import SystemResolver

    Guard(SystemResolver(), settings.security)
    fields = [(path, value, source) for path, (value, source) in settings.items()]
    return {"settings": fields, "profile": profile, "cached": cached, "logs": logs, "captures": captures}


def limits(settings: Settings, host_time: float | None = None, total_time: float | None = None) -> HostLimits:
    """The waiting limits of a run: those of the settings, unless the call sets them."""
    from spaniel.hosts.limits import HostLimits

    own = settings.batch
    return HostLimits(
        retry_after=own.max_retry_after_seconds,
        crawl_delay=own.max_crawl_delay_seconds,
        host_time=own.host_seconds if host_time is None else host_time,
        total_time=own.total_seconds if total_time is None else total_time,
    )


def keep_ray_quiet() -> None:
    """A Ray cluster started here sends no usage statistics, unless the user enables them."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

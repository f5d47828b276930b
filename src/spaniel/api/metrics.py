"""Counters of the service for Prometheus, at `/metrics`. No label has a value that a caller chooses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from spaniel.pipeline.outcome import Outcome

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # a folder in which several workers add up
SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """What the service counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own = self._registry
        self._requests = Counter(
            "spaniel_requests", "Requests to the service", ("route", "method", "status"), registry=own
        )
        self._seconds = Histogram(
            "spaniel_request_seconds", "Seconds for a request", ("route",), registry=own, buckets=SECONDS
        )
        self._open = Gauge(
            "spaniel_requests_open", "Requests that are being served", registry=own, multiprocess_mode="livesum"
        )
        self._fetches = Counter(
            "spaniel_fetches", "Pages fetched for callers, by outcome", ("outcome", "cached"), registry=own
        )
        self._copies = self._fetches.labels("ok", "yes")
        self._by_route: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._jobs = Counter("spaniel_jobs", "Jobs that ended, by state", ("kind", "state"), registry=own)

    def begin(self) -> None:
        self._open.inc()

    def end(self, route: str, method: str, status: int, seconds: float) -> None:
        self._open.dec()
        key = route, method, status
        known = self._by_route.get(key)
        if known is None:
            named = method if method in METHODS else "other"
            known = self._requests.labels(route, named, str(status)), self._seconds.labels(route)
            if method in METHODS:
                self._by_route[key] = known
        known[0].inc()
        known[1].observe(seconds)

    def fetched(self, outcome: Outcome) -> None:
        code = str(outcome.refusal.code) if outcome.refusal is not None else "ok"
        self._fetches.labels(code, "yes" if outcome.cache_hit else "no").inc()

    def served_copy(self) -> None:
        """A cached page, served again without a look into its copy."""
        self._copies.inc()

    def job_ended(self, kind: str, state: str) -> None:
        self._jobs.labels(kind, state).inc()

    def text(self) -> bytes:
        """All counters in Prometheus' text format; with several workers, those of all of them."""
        registry = self._registry
        if os.path.isdir(os.environ.get(SHARED, "")):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

"""What a run has done so far, for whoever looks on, and for its summary."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spaniel.batch.records import Ending
    from spaniel.hosts.answer_times import Slow

SHOWN = 5  # hosts
WINDOW = 30.0  # seconds over which the rate is taken


class Waiting(NamedTuple):
    """A host that is waited for."""

    host: str
    seconds: float
    why: str
    left: int  # pages


class Progress:
    """Counts of records. `before` are those of an earlier run that this one resumes, and `failed` has its own too."""

    def __init__(
        self, total: int, before: int, clock: Callable[[], float], failed_before: Mapping[str, int] | None = None
    ) -> None:
        self.total, self.before, self._clock = total, before, clock
        self.records = self.fetched = 0  # records written; fetches that ended
        self.failed: Counter[str] = Counter(failed_before or {})
        self.pages = before - self.failed.total()
        self.workers_lost = 0
        self.began = clock()
        self._recent: deque[tuple[float, int]] = deque()
        self.under_way: Callable[[], int] = lambda: 0
        self.waiting: Callable[[], list[Waiting]] = list
        self.slowest: Callable[[int], list[Slow]] = lambda _: []

    def ended(self) -> None:
        self.fetched += 1

    def recorded(self, ending: Ending) -> None:
        self.records += 1
        if ending.code:
            self.failed[ending.code] += 1
        else:
            self.pages += 1

    @property
    def left(self) -> int:
        return self.total - self.before - self.records

    @property
    def seconds(self) -> float:
        return self._clock() - self.began

    def rate(self) -> float:
        """Records a second, of late."""
        now = self._clock()
        self._recent.append((now, self.records))
        while len(self._recent) > 2 and now - self._recent[0][0] > WINDOW:
            self._recent.popleft()
        then, records = self._recent[0]
        return (self.records - records) / (now - then) if now > then else 0.0

    def as_dict(self) -> dict[str, object]:
        seconds = max(self.seconds, 1e-9)
        return {
            "urls": self.total,
            "recorded": self.before + self.records,
            "recorded_by_this_run": self.records,
            "pages": self.pages,
            "failed": dict(sorted(self.failed.items())),
            "fetches": self.fetched,
            "seconds": round(seconds, 3),
            "records_per_second": round(self.records / seconds, 2),
            "workers_lost": self.workers_lost,
            "slowest_hosts": [
                {"host": slow.host, "mean_seconds": round(slow.seconds, 3), "answers": slow.answers}
                for slow in self.slowest(SHOWN)
            ],
        }

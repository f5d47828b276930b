"""What a run has done so far, for people who watch it, and for its summary."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from spaniel.hosts.answer_times import Slow
from spaniel.hosts.scheduler import Waiting
from spaniel.runs.store import PAGE_OK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

SHOWN = 5  # hosts
WINDOW = 30.0  # seconds over which the rate is taken


class Progress:
    """Counts of records, from the status of workers. `before` are those of an earlier run that this one resumes."""

    def __init__(self, total: int, before: Mapping[str, int], clock: Callable[[], float]) -> None:
        """`before`: how many by why they have no page."""
        self.total, self.before, self._clock = total, sum(before.values()), clock
        self._before, self._kept, self._fetched = Counter(before), Counter[str](), 0
        self._statuses: Callable[[], Iterable[Mapping[str, Any]]] = list
        self.workers_lost = 0
        self.began = clock()
        self._recent: deque[tuple[float, int]] = deque()

    def watch(self, statuses: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
        """Where the last status of each worker is found."""
        self._statuses = statuses

    def keep(self, status: Mapping[str, Any]) -> None:
        """The last status of a worker that has gone."""
        self._kept.update(status.get("records", {}))
        self._fetched += status.get("fetched", 0)

    def settle(self, records: Mapping[str, int]) -> None:
        """Nothing more comes: these are the records of all runs."""
        last = {"fetched": self._sum("fetched"), "slowest": list(self._listed("slowest"))}
        self._statuses = lambda: [last]
        self._kept = Counter(records)
        self._kept.subtract(self._before)

    def _records(self) -> Counter[str]:
        found = Counter(self._kept)
        for status in self._statuses():
            found.update(status.get("records", {}))
        return found

    @property
    def records(self) -> int:
        return self._records().total()

    @property
    def failed(self) -> Counter[str]:
        """Of all runs."""
        found = self._before + self._records()
        return Counter({code: found[code] for code in sorted(found) if code != PAGE_OK})

    @property
    def pages(self) -> int:
        return self._before[PAGE_OK] + self._records()[PAGE_OK]

    @property
    def fetched(self) -> int:
        """Fetches that ended."""
        return self._fetched + self._sum("fetched")

    @property
    def left(self) -> int:
        return self.total - self.before - self.records

    @property
    def seconds(self) -> float:
        return self._clock() - self.began

    def _listed(self, name: str) -> Iterator[Any]:
        return (each for status in self._statuses() for each in status.get(name, ()))

    def _sum(self, name: str) -> int:
        return sum(status.get(name, 0) for status in self._statuses())

    def under_way(self) -> int:
        return self._sum("under_way")

    def waiting(self) -> list[Waiting]:
        """Hosts that are waited for: those with the most to do."""
        found = [Waiting(*each) for each in self._listed("waiting")]
        return heapq.nlargest(SHOWN, found, key=lambda host: host.left)

    def slowest(self, most: int) -> list[Slow]:
        found = [Slow(*each) for each in self._listed("slowest")]
        return heapq.nlargest(most, found, key=lambda slow: slow.seconds)

    def rate(self) -> float:
        """Records a second in the last half minute."""
        now, records = self._clock(), self.records
        self._recent.append((now, records))
        while len(self._recent) > 2 and now - self._recent[0][0] > WINDOW:
            self._recent.popleft()
        then, earlier = self._recent[0]
        return (records - earlier) / (now - then) if now > then else 0.0

    def as_dict(self) -> dict[str, object]:
        seconds, records = max(self.seconds, 1e-9), self.records
        return {
            "urls": self.total,
            "recorded": self.before + records,
            "recorded_by_this_run": records,
            "pages": self.pages,
            "failed": dict(sorted(self.failed.items())),
            "fetches": self.fetched,
            "seconds": round(seconds, 3),
            "records_per_second": round(records / seconds, 2),
            "workers_lost": self.workers_lost,
            "slowest_hosts": [
                {"host": slow.host, "mean_seconds": round(slow.seconds, 3), "answers": slow.answers}
                for slow in self.slowest(SHOWN)
            ],
        }

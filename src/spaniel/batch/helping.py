"""Workers whose own hosts are all done help the others: one large site need not wait for one processor core.

Turns are granted to whoever asks, so no host sees more requests at once than it is asked to bear. But a helper reads
robots.txt again, and learns again what is known of a host. So only hosts that need no pauses are helped with: with
pauses, one worker has time enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.batch.frontier import Frontier, Host
    from spaniel.batch.members import Member
    from spaniel.batch.plan import Task


class Helping:
    """Who may take something from whom."""

    def __init__(self, frontier: Frontier, members: Sequence[Member]) -> None:
        self._frontier, self._members = frontier, members

    def take(self, worker: int, now: float) -> tuple[Host, Task] | None:
        """A task of whoever has the most under way, as long as that is more than the helper has."""
        if not self._frontier.is_done_with(worker):
            return None
        mine = self._load(worker)
        for other in sorted(range(len(self._members)), key=self._load, reverse=True):
            if self._load(other) <= mine:
                return None
            if (taken := self._frontier.lend(other, now)) is not None:
                return taken
        return None

    def _load(self, worker: int) -> int:
        return len(self._members[worker].jobs)

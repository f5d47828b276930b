"""Records that workers write into parts of their own, and that are committed when their part is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.batch.outputs.remote_parts import Wrote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.batch.done import Done
    from spaniel.batch.frontier import Frontier
    from spaniel.batch.members import Job, Member
    from spaniel.batch.plan import Plan, Task
    from spaniel.batch.ports import Columns, Sink
    from spaniel.batch.progress import Progress
    from spaniel.batch.records import Ending

    Told = tuple[int, str, Columns]


class Keeping:
    """What is in a worker's hands and not yet in a part stands in `Member.kept`."""

    def __init__(self, plan: Plan, before: Done, frontier: Frontier, sink: Sink, progress: Progress) -> None:
        self._plan, self._before, self._frontier, self._sink, self._progress = plan, before, frontier, sink, progress

    def items_for(self, task: Task) -> list[Told]:
        """Whose records a worker writes itself; none where the run's own writer does, as for a page of very many."""
        if not self._sink.by_workers or task.continues or self._plan.is_mixed(task):
            return []
        return [(item.ordinal, item.raw, dict(item.columns)) for item in task.items if item.ordinal not in self._before]

    def keeps(self, member: Member, number: int, job: Job, ending: Ending) -> None:
        member.kept[number] = job, ending

    def wrote(self, member: Member, _worker: int, part: Sequence[object], numbers: list[int]) -> None:
        ordinals: list[int] = []
        failed: list[str] = []
        for number in numbers:
            job, ending = member.kept.pop(number)
            mine = [ordinal for ordinal, _, _ in self.items_for(job.task)]
            ordinals += mine
            failed += [ending.code] * len(mine) if ending.code else []
            for _ in mine:
                self._progress.recorded(ending)
        self._sink.put_part(Wrote(*part), ordinals, failed)  # type: ignore[arg-type]

    def worker_gone(self, member: Member, now: float) -> None:
        """What it had not written is fetched again."""
        for job, _ in member.kept.values():
            self._frontier.again(job.host, job.task, now)

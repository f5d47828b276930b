"""Fetches that wait before they ask again: meanwhile neither they nor their hosts keep a place from others.

A ladder has rungs that wait, 5, 15 and 45 seconds in the profile for ingestion. A fetch that rests stays in its worker,
which is some kilobytes; its place there is given to another page, and so is its turn at the host. When its time has
come it takes the next place that is free, before any page that has not begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.batch.messages import DROP, RISE

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.batch.frontier import Frontier
    from spaniel.batch.members import Job, Member

    Tell = Callable[..., None]  # the worker's number, a word, its values


class Resting:
    """Who rests in which worker is written down there: `Member.resting`, `Member.woken`."""

    def __init__(self, frontier: Frontier, tell: Tell) -> None:
        self._frontier, self._tell = frontier, tell

    def rests(self, member: Member, number: int, now: float) -> Job:
        """Its host is asked for its other pages meanwhile."""
        job = member.jobs[number]
        member.resting.add(number)
        self._frontier.finished(job.host, now)
        return job

    def wakes(self, member: Member, _worker: int, number: int) -> None:
        if number in member.resting:
            member.woken.append(number)

    def rise(self, worker: int, member: Member, places: int) -> None:
        """Those whose time has come go on, as far as there are places."""
        while member.woken and member.may_rise(places):
            self.rise_now(worker, member, member.woken.popleft())

    def rise_now(self, worker: int, member: Member, number: int) -> None:
        """Whether there is a place or not; nothing where it does not rest any more."""
        if number in member.resting:
            member.resting.discard(number)
            self._frontier.taken_again(member.jobs[number].host)
            self._tell(worker, RISE, number)

    def left(self, member: Member, number: int, now: float) -> Job:
        """It is not this worker's any more."""
        job = member.jobs.pop(number)
        if number in member.resting:
            member.resting.discard(number)
        else:
            self._frontier.finished(job.host, now)
        return job

    def drop_all(self, worker: int, member: Member) -> None:
        """Nothing more is begun: who rests has not begun to ask again."""
        for number in member.resting:
            self._tell(worker, DROP, number)

    def worker_gone(self, member: Member, now: float) -> list[Job]:
        """Those who rested begin anew; the others, of whom one may be to blame, are returned."""
        for number in member.resting:
            job = member.jobs.pop(number)
            self._frontier.again(job.host, job.task, now)
        return list(member.jobs.values())

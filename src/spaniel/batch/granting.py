"""Turns at hosts as workers ask for them, and how long hosts take to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.batch.members import Asked
from spaniel.batch.messages import GO, PARK, REFUSE
from spaniel.hosts.answer_times import AnswerTimes

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.batch.members import Member
    from spaniel.batch.turns import Turns
    from spaniel.errors import SpanielError

    Tell = Callable[..., None]  # the worker's number, a word, its values


class Granting:
    """Between the one authority over turns and the workers."""

    def __init__(self, turns: Turns, tell: Tell, clock: Callable[[], float]) -> None:
        self._turns, self._tell, self._clock = turns, tell, clock
        self.times = AnswerTimes()

    def ask(self, member: Member, worker: int, turn: int, host: str, *, led: bool = False) -> None:
        asked = member.asked[turn] = Asked(host, led=led)
        member.waiting += 1

        def grant() -> None:
            asked.granted_at = self._clock()
            member.waiting -= 1
            del member.grants[turn]
            self._tell(worker, GO, turn)

        member.grants[turn] = grant
        self._turns.ask(host, grant)

    def put_off(self, worker: int, turn: int) -> None:
        """Whoever asks goes back, rather than that it waits here."""
        self._tell(worker, PARK, turn)

    def refuse(self, worker: int, turn: int, error: SpanielError) -> None:
        """No turn will come."""
        self._tell(worker, REFUSE, turn, str(error.code), error.details)

    def refuse_all(self, worker: int, member: Member, error: SpanielError, host: str | None, *, led: bool) -> None:
        """Everybody who waits in a worker for a turn at this host; at any, where none is named."""
        for turn in list(member.grants):
            asked = member.asked[turn]
            if host is None or (asked.host, asked.led) == (host, led):
                self._turns.withdraw(asked.host, member.grants.pop(turn))
                del member.asked[turn]
                member.waiting -= 1
                self.refuse(worker, turn, error)

    def leave(self, member: Member, turn: int) -> Asked:
        asked = member.asked.pop(turn)
        if asked.granted_at is not None:
            self.times.took(asked.host, self._clock() - asked.granted_at)
        self._turns.leave(asked.host)
        return asked

    def put_off_all(self, worker: int, member: Member) -> None:
        """Everybody who still waits in a worker."""
        for turn, asked in member.asked.items():
            if asked.granted_at is None:
                self.put_off(worker, turn)

    def worker_gone(self, member: Member) -> None:
        """Its turns are over; those that it still waits for first, or one that ends would be followed by them."""
        for turn, grant in member.grants.items():
            self._turns.withdraw(member.asked.pop(turn).host, grant)
        for asked in member.asked.values():
            self._turns.leave(asked.host)

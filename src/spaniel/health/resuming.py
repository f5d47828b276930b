"""A run begun, or gone on with: what was answered before is told again, and never asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.health.links import by_fragment
from spaniel.verdicts import BAD

if TYPE_CHECKING:
    from spaniel.health.history import History, Unfinished
    from spaniel.health.spool import Spool


class Begun(NamedTuple):
    run: int
    remarks: tuple[str, ...] = ()  # for people
    answered: int = 0  # links that were answered before


def begin(history: History, spool: Spool, scope: str, *, resume: bool) -> Begun:
    """A run over what is in the spool. `scope` names what is checked: a run goes on with one of the same."""
    found = history.unfinished(scope)
    if not resume:
        remarks = (_left(found),) if found is not None and found.answers and not history.is_alive(found) else ()
        return Begun(history.begin(scope, spool.fingerprint), remarks)
    if found is None:
        told = "there is no unfinished run of this to go on with; it begins anew"
        return Begun(history.begin(scope, spool.fingerprint), (told,))
    if history.is_alive(found) or not history.go_on(found, spool.fingerprint):
        raise SpanielError(Code.BAD_ARGS, field="--resume", reason=f"the run is still under way ({found.process})")
    return _gone_on(history, spool, found)


def _gone_on(history: History, spool: Spool, found: Unfinished) -> Begun:
    answered = gone = 0
    for asked, heard, checked in history.answers(found.id):
        told = spool.answered(asked, checked, heard)
        if told is None:
            gone += 1
            continue
        answered += 1
        for part in by_fragment(told):
            (spool.hold if part.verdict in BAD else spool.tell)(part)
    remarks = [f"going on: {answered:,} of {spool.total:,} links were answered before"]
    if found.input != spool.fingerprint:
        remarks.append(
            f"the links are not the same as when the run began: {gone:,} of those that were answered are no longer"
            " wanted, or assert something else; new ones are asked"
        )
    return Begun(found.id, tuple(remarks), answered)


def _left(found: Unfinished) -> str:
    when = datetime.fromtimestamp(found.touched, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"a run of this was left unfinished at {when} with {found.answers:,} answers; --resume would go on with it"

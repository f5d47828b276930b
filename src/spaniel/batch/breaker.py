"""A breaker for hosts that do not answer: some failures in a row, a pause, one more try, and no more after that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from spaniel.batch.records import Ending

NOT_TRIED = "host_given_up"  # the cause that tells a page which was not tried from one which was


class Patience(NamedTuple):
    """How much of a host's trouble is borne."""

    failures: int = 5  # in a row: no connection, no address
    pause: float = 30.0  # seconds before it is tried once more
    longest_wait: float = 600.0  # seconds that a host may ask for


class Breaker:
    """Counts failures host by host; hosts that answer are not remembered."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._failed: dict[str, int] = {}

    def ended(self, host: str, ending: Ending) -> float | None:
        """The pause that the host needs now. `infinity`: it is given up."""
        if ending.reached:
            self._failed.pop(host, None)
            return None
        failed = self._failed[host] = self._failed.get(host, 0) + 1
        if failed < self._patience.failures:
            return None
        return self._patience.pause if failed == self._patience.failures else float("inf")

    def not_reached(self, host: str, ending: Ending) -> SpanielError:
        """What is said of the pages that are left of a host that was given up."""
        code = Code.DNS_FAILED if ending.code == Code.DNS_FAILED else Code.NETWORK
        told = f"{host} could not be reached {self._failed.get(host, 0)} times in a row; this page was not tried"
        return SpanielError(code, host=host, error=told, cause=NOT_TRIED)


def told_to_wait(status: int, seconds: float) -> SpanielError:
    """The same of a host that wants to be left alone for longer than a run should last."""
    code = Code.HTTP_4XX if status == 429 else Code.HTTP_5XX
    return SpanielError(
        code,
        status=status,
        status_text="for another page of this host; this page was not tried",
        retry_after=str(round(seconds)),
        cause=NOT_TRIED,
    )

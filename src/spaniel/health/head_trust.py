"""Whether HEAD is believed at a host: some servers answer it anyhow, which is seen only by asking otherwise."""

from __future__ import annotations

from enum import Enum

MOST_KNOWN = 100_000  # hosts; those that are forgotten are tried again


class Trust(Enum):
    """How far a host's HEAD has been tried. One confirmation is enough: what a further GET could show, that the host
    answers any path alike, `--soft-404` looks for."""

    UNTRIED = 0  # its first good answer is confirmed by GET
    TRUSTED = 1
    DISTRUSTED = 2  # it is asked by GET


class HeadTrust:
    """Hosts by origin, for one run."""

    def __init__(self, tries: bool) -> None:
        self._start = Trust.UNTRIED if tries else Trust.TRUSTED
        self._known: dict[str, Trust] = {}

    def of(self, origin: str) -> Trust:
        return self._known.get(origin, self._start)

    def learn(self, origin: str, trust: Trust) -> None:
        """Trust grows step by step; distrust stays."""
        if self.of(origin).value < trust.value:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[origin] = trust

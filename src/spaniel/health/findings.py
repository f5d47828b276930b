"""What is to be said of a link beside its verdict: remarks that neither make nor break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.health.certificates import ending
from spaniel.health.verdict import Finding, Remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.verdicts import Observation, Past


def findings_of(observation: Observation, past: Past) -> tuple[Finding, ...]:
    seen = observation.soft_404 or observation.is_parked or observation.fragments
    if not seen and observation.certificate_ends is None and not past.final_url:
        return ()  # as of most links
    return tuple(_findings(observation, past))


def _findings(observation: Observation, past: Past) -> Iterator[Finding]:
    if observation.soft_404:
        text = "The page looks like one that says 'not found': a page that cannot exist looks the same."
        yield Finding(Remark.SOFT_404, text)
    if observation.is_parked:
        yield Finding(Remark.PARKED, Remark.PARKED.meaning)
    for fragment in observation.fragments:
        name = fragment.name.removeprefix("#")
        if fragment.found is False:
            yield Finding(Remark.FRAGMENT_MISSING, f"The page has no anchor '#{shown(name)}'.", fragment.name)
        elif fragment.found is None:
            text = f"Whether the page has an anchor '#{shown(name)}' is not known."
            yield Finding(Remark.FRAGMENT_UNKNOWN, text, fragment.name)
    if (soon := ending(observation.certificate_ends, observation.at)) is not None:
        yield soon
    if _chain_changed(observation, past):
        yield Finding(Remark.CHAIN_CHANGED, f"It led to {past.final_url} before; the redirects are others now.")


def _chain_changed(observation: Observation, past: Past) -> bool:
    """Only of a good answer: what a host says while it is down is no change of address."""
    status = observation.evidence.status
    if not past.final_url or observation.code or status is None or not 200 <= status <= 399:
        return False
    return (past.chain, past.final_url) != (observation.evidence.chain, observation.evidence.final_url)

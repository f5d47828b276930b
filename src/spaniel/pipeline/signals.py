"""What a site says about the use of a page, in the page, its headers and robots.txt; and which of it refuses the page.

Nothing of it is law to a fetch by itself. It is recorded, and a profile says which signals it respects.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.reading.metadata.signals import directives

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NOARCHIVE = "noarchive"
# What a profile may respect: directives for robots, uses of a Content-Signal, the reservation of text and data mining.
DIRECTIVES = ("noindex", NOARCHIVE, "nosnippet", "noai", "noimageai")
USES = ("search", "ai-input", "ai-train")
TDM = "tdm-reservation"
KNOWN = (*DIRECTIVES, *USES, TDM)
MOST = 20
VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")  # directives that have a colon
USE = re.compile(r"([a-z][a-z0-9_-]{0,40})\s*=\s*(yes|no)\b", re.IGNORECASE)


def signals_of(
    told: Mapping[str, object], headers: Mapping[str, str], robots_signal: str | None, agent: str
) -> dict[str, object]:
    """All signals together: those of the page (`told`), of its headers, and of the site's robots.txt."""
    found = dict(told)
    own = told.get("robots")
    robots = [*(own if isinstance(own, list) else []), *_tag(headers.get("x-robots-tag", ""), agent)]
    if robots:
        found["robots"] = list(dict.fromkeys(robots))[:MOST]
    uses = _uses(robots_signal or "") | _uses(headers.get("content-signal", ""))
    if uses:
        found["content_signal"] = uses
    for name in (TDM, "tdm-policy"):
        if value := headers.get(name, "").strip():
            found[name.replace("-", "_")] = value[:200]
    return found


def refusals(signals: Mapping[str, object]) -> frozenset[str]:
    """The signals that say no, by the names that a profile respects."""
    robots, uses = signals.get("robots"), signals.get("content_signal")
    said = set(robots) if isinstance(robots, list) else set()
    if "none" in said:  # noindex and nofollow
        said.add("noindex")
    if isinstance(uses, dict):
        said |= {use for use, value in uses.items() if value == "no"}
    if str(signals.get("tdm_reservation", "")).strip() == "1":
        said.add(TDM)
    return frozenset(said & set(KNOWN))


def respected(signals: Mapping[str, object], respect: Iterable[str]) -> str:
    """The first signal that refuses the page to a profile; empty where none does."""
    said = refusals(signals)
    return next((name for name in respect if name in said), "")


def _tag(value: str, agent: str) -> list[str]:
    """X-Robots-Tag, line by line: directives for everybody, and after `name:` for that robot alone."""
    ours = agent.partition("/")[0].partition(" ")[0].lower()
    return [directive for line in value.lower().split("\n")[:MOST] for directive in _directives_for(ours, line)]


def _directives_for(ours: str, line: str) -> list[str]:
    found: list[str] = []
    for_us = True
    for part in line.split(",")[: MOST * 2]:
        name, colon, rest = part.strip().partition(":")
        if colon and name.strip() not in VALUED:
            for_us, part = name.strip() == ours, rest  # noqa: PLW2901  what is left of it
        if for_us:
            found += directives(part)
    return found


def _uses(text: str) -> dict[str, str]:
    """`search=yes, ai-train=no` -> what is said about each use; a no is not taken back by a later yes."""
    uses: dict[str, str] = {}
    for name, value in USE.findall(text[:2000]):
        use = name.lower()
        if uses.get(use) != "no":
            uses[use] = value.lower()
    return uses

"""All links of the web among mentions, whatever rules would leave out."""

from __future__ import annotations

from collections.abc import Iterable

from spaniel.health.documents.mention import Mention
from spaniel.health.excluding import rules
from spaniel.health.sorting import sort
from spaniel.health.verdict import Link


def to_links(mentions: Iterable[Mention], base: str | None = None) -> list[Link]:
    return sort(mentions, rules(keep_private=True, keep_examples=True), base).web

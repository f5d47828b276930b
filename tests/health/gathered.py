"""All links of the web among mentions, whatever rules would leave out."""

from __future__ import annotations

from collections.abc import Iterable

from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import rules, sort
from spaniel.health.links import Link


def to_links(mentions: Iterable[Mention], base: str | None = None) -> list[Link]:
    return sort(mentions, rules(keep_private=True, keep_examples=True), base).web

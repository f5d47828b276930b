"""The web links among mentions, without any filter."""

from __future__ import annotations

from collections.abc import Iterable

from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import link_filter, sort_mentions
from spaniel.health.links import Link


def to_links(mentions: Iterable[Mention], base: str | None = None) -> list[Link]:
    return sort_mentions(mentions, link_filter(keep_private=True, keep_examples=True), base).web

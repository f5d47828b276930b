"""Rules that a registry of official sources needs besides: link classes, and what is stored (document 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import shown
from spaniel.url.rules.query import Names

if TYPE_CHECKING:
    from spaniel.tables import Table
    from spaniel.url.draft import Draft
    from spaniel.url.rules.rule import Act


def classify_link(options: Table) -> Act:
    """Home page, section or informative link (CP-13). The title is asked for only where it can decide (CP-28)."""
    from spaniel.url.links import LinkWords, classify  # its patterns are of use to this rule alone

    words = LinkWords(options.texts("documents"), Names(options.texts("identifiers")), options.texts("procedures", ()))

    def act(draft: Draft) -> str | None:
        link_type, why = classify(draft.path, draft.params or (), words), ""
        if link_type == "section" and draft.web is not None and (title := draft.web.title(draft.text())):
            link_type = classify(draft.path, draft.params or (), words, title)
            why = f", by its title: {shown(title, 120)}" if link_type != "section" else ""
        if draft.notes is not None:
            draft.notes.link_type = link_type
        return f"{link_type}{why}"

    return act


def store(_options: Table) -> Act:
    """The last step: what is kept is the text and its hash (UN-06)."""

    def act(draft: Draft) -> str:
        from hashlib import sha256

        return f"sha256 {sha256(draft.text().encode()).hexdigest()[:16]}…"

    return act

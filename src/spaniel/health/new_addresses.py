"""Which address takes the place of another, by what a check found; and when none may."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.health.verdict import Checked


def _everywhere(_host: str) -> str | None:
    return None


class Wishes(NamedTuple):
    """What may be written."""

    temporary_too: bool = False  # redirects that need not stay
    archive: bool = False  # copies in an archive, for links that are dead
    refused_host: Callable[[str], str | None] = _everywhere  # why a host is not allowed: `Allowlist.refusal`


PERMANENT_ONLY = Wishes()


class Successor(NamedTuple):
    """A new address, or why there is none."""

    url: str = ""
    why: str = ""
    refusal: str = ""
    suggestion: str = ""


def successor(checked: Checked, wishes: Wishes = PERMANENT_ONLY) -> Successor | None:
    """What is to be written in place of a link; None for one with which nothing is wrong."""
    if checked.verdict is Verdict.MOVED and checked.move is not None:
        return _moved(checked, wishes)
    if checked.verdict is Verdict.DEAD and checked.archived:
        if not wishes.archive:
            return Successor(refusal="dead; an archive has a copy (--archive writes it)", suggestion=checked.archived)
        return _allowed(checked.archived, "", wishes, "dead: an archive's copy")
    return None


def _moved(checked: Checked, wishes: Wishes) -> Successor:
    move = checked.move
    if move is None or not move.to:
        return Successor(refusal="nobody knows where it moved to")
    if move.is_suspect:
        why = move.why_suspect or "it may not be the same page"
        return Successor(refusal=f"its end is suspect: {why}", suggestion=move.to)
    if not move.is_permanent and not wishes.temporary_too:
        return Successor(refusal="moved for a time only (--temporary-too writes it)", suggestion=move.to)
    return _allowed(move.to, checked.link.url, wishes, "moved" if move.is_permanent else "moved for a time")


def _allowed(to: str, old: str, wishes: Wishes, why: str) -> Successor:
    """A page of the web, on a host that is allowed, and not one that gives encryption up."""
    from spaniel.url import parse

    try:
        url = parse(to)
    except SpanielError as error:
        return Successor(refusal=f"its new address is none: {error.message}")
    if "@" in to.partition("://")[2].partition("/")[0]:
        return Successor(refusal="its new address has a name and a password in it")
    if old.startswith("https:") and url.scheme == "http":
        return Successor(refusal="it moved from https to http", suggestion=url.href)
    if (refusal := wishes.refused_host(url.host)) is not None:
        return Successor(refusal=f"its new host {url.host} is not written: {refusal}", suggestion=url.href)
    return Successor(url.href, why)

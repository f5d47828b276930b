"""A deeper link for a record whose link is only a home page or a section: the one on the page that fits its title."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.errors import SpanielError
from spaniel.url.hostlists import same_owner
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.reading.metadata.page_facts import PageLink
    from spaniel.url import Canonical, Policy
    from spaniel.url.questions import Web

LEAST = 0.5  # of the title's words that a link must have
_WORD = re.compile(r"[^\W_]{2,}")
_FILLERS = """al ante con de del desde el en la las lo los para por que se sin su sus un una unos unas
and for of or the to"""
FILLERS = frozenset(_FILLERS.split())


class Deeper(NamedTuple):
    """A link that is proposed in the place of another."""

    url: str  # canonical
    text: str  # the words on it
    fit: float  # how well it fits the title, from LEAST to 1


def deeper_link(
    links: Iterable[PageLink], title: str, page: str, policy: Policy, web: Web | None = None
) -> Deeper | None:
    """The informative link of the same site that fits the title best; None where none fits well enough.

    It fits as far as the title's words are on the link or in its last path segment. Words that the title does not
    have count against it a little, so that of two links the plainer one wins. With a `web`, which is what is known of
    hosts, the policy's allowlist holds for what is proposed.
    """
    wanted = _words(title)
    if not wanted:
        return None
    best: Deeper | None = None
    for link in links:
        fit = _fit(wanted, link)
        if fit >= LEAST and (best is None or fit > best.fit) and (found := _informative(link.url, page, policy, web)):
            best = Deeper(found.url, link.text, round(fit, 3))
    return best


def _fit(wanted: frozenset[str], link: PageLink) -> float:
    there = _words(link.text)
    slug = _words(unquote(link.url.partition("?")[0].rstrip("/").rpartition("/")[2]))
    return max(_likeness(wanted, there), _likeness(wanted, slug), _likeness(wanted, there | slug))


def _likeness(wanted: frozenset[str], there: frozenset[str]) -> float:
    shared = len(wanted & there) / len(wanted)
    surplus = len(there - wanted) / max(1, len(there))
    return shared - 0.2 * surplus if shared else 0.0


def _informative(url: str, page: str, policy: Policy, web: Web | None) -> Canonical | None:
    try:
        found = policy.explain(url, web)
        here = policy.explain(page, web)
        same = same_owner(parse(url).host, parse(page).host)
    except SpanielError:
        return None
    return found if same and found.link_type == "informative" and found.url != here.url else None


def _words(text: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return frozenset(word for word in _WORD.findall(plain) if word not in FILLERS)

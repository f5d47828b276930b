"""What becomes of links: each address once, to be asked for; what is on the disk; what is left out, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.health.verdict import Checked, Link, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.health.documents.mention import Mention
    from spaniel.health.excluding import Rules
    from spaniel.health.verdict import Place
    from spaniel.url import Url

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
TEXT_DIRECTIVE = ":~:"  # a piece of text to be shown, not an anchor


class Sorted(NamedTuple):
    """All that was mentioned."""

    web: list[Link]
    local: list[Mention]
    skipped: list[Checked]


def to_links(mentions: Iterable[Mention], base: str | None = None) -> list[Link]:
    """One for each address, in the order of their first mention; fragments apart. Relative ones need a base."""
    fragments: dict[str, dict[str, None]] = {}
    places: dict[str, dict[Place, None]] = {}
    for mention in mentions:
        address = web_address(mention, base)
        if address is None:
            continue
        url, fragment = address
        places.setdefault(url, {})[mention.place] = None
        wanted = fragments.setdefault(url, {})
        if fragment:
            wanted[fragment] = None
    return [Link(url, tuple(fragments[url]), tuple(found)) for url, found in places.items()]


def web_address(mention: Mention, base: str | None = None) -> tuple[str, str] | None:
    """The address in its one spelling, and the fragment; None for what is not on the web.

    What is no URL stays as it is written, for whoever asks for it to say so.
    """
    written = mention.url.strip()
    absolute = SCHEME.match(written) is not None
    around = mention.base if SCHEME.match(mention.base) else base
    if (absolute and not written[:6].lower().startswith(("http:", "https:"))) or not (absolute or around):
        return None
    from spaniel.url import parse

    try:
        origin: Url | None = parse(around) if around and not absolute else None
        href = parse(written, origin).href
    except SpanielError:
        href = written
    url, _, fragment = href.partition("#")
    return url, fragment.partition(TEXT_DIRECTIVE)[0]


def sort(mentions: Iterable[Mention], rules: Rules, base: str | None = None) -> Sorted:
    """Each mention into its heap."""
    web: list[Mention] = []
    local: list[Mention] = []
    left_out: dict[tuple[str, str], list[Place]] = {}
    for mention in mentions:
        address = web_address(mention, base)
        name = address[0] if address else mention.url
        reason = rules.reason(name)
        if not reason and mention.url.startswith("//") and address is None:
            reason = "without a scheme; say what it is relative to: --base"
        if reason:
            left_out.setdefault((name, reason), []).append(mention.place)
        elif address:
            web.append(mention)
        else:
            local.append(mention)
    skipped = [
        Checked(Link(url, places=tuple(dict.fromkeys(places))), Verdict.SKIPPED, reason)
        for (url, reason), places in left_out.items()
    ]
    return Sorted(to_links(web, base), local, skipped)

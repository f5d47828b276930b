"""What becomes of links: each address once, to be asked for; what is on the disk; what is left out, and why."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.health.verdict import Checked, Link
from spaniel.url.parsing import parse
from spaniel.url.value import in_one_spelling
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spaniel.health.documents.mention import Mention
    from spaniel.health.excluding import Rules
    from spaniel.health.verdict import Place
    from spaniel.url.value import Url

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
TEXT_DIRECTIVE = ":~:"  # a piece of text to be shown, not an anchor


WINDOW = 20_000  # mentions that are sorted at a time; what comes again later is joined where links are kept


class Sorted(NamedTuple):
    """Some of what was mentioned."""

    web: list[Link]
    local: list[Mention]
    skipped: list[Checked]


class _Web:
    """Addresses as they come, each once; fragments apart."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[tuple[str, ...], tuple[Place, ...]]] = {}  # of most there is one mention
        self._again: dict[str, tuple[dict[str, None], dict[Place, None]]] = {}

    def add(self, address: tuple[str, str], place: Place) -> None:
        url, fragment = address
        if fragment:
            place = place._replace(fragment=fragment)
        known = self._found.get(url)
        if known is None:
            self._found[url] = ((fragment,) if fragment else (), (place,))
            return
        again = self._again.get(url)
        if again is None:
            again = self._again[url] = dict.fromkeys(known[0]), dict.fromkeys(known[1])
        if fragment:
            again[0][fragment] = None
        again[1][place] = None

    def links(self) -> Iterator[Link]:
        """In the order of their first mention."""
        for url, once in self._found.items():
            fragments, places = self._again.get(url, once)
            yield Link(url, tuple(fragments), tuple(places))


def web_address(mention: Mention, base: str | None = None) -> tuple[str, str] | None:
    """The address in its one spelling, and the fragment; None for what is not on the web.

    What is no URL stays as it is written, for whoever asks for it to say so.
    """
    written = mention.url.strip()
    if (spelled := in_one_spelling(written)) is not None and not spelled[2]:
        return spelled[0], ""
    around = mention.base if mention.base and SCHEME.match(mention.base) else base
    if written.startswith("//") and not around:
        return _without_scheme(written)
    absolute = SCHEME.match(written) is not None
    if (absolute and not written[:6].lower().startswith(("http:", "https:"))) or not (absolute or around):
        return None
    try:
        origin: Url | None = parse(around) if around and not absolute else None
        href = parse(written, origin).href
    except SpanielError:
        href = written
    return _apart(href)


def _without_scheme(written: str) -> tuple[str, str] | None:
    """`//host/x` is what a browser would make of it on a page of the web: https. None where it names no host."""
    try:
        return _apart(parse(f"https:{written}").href)
    except SpanielError:
        return None


def _apart(href: str) -> tuple[str, str]:
    url, _, fragment = href.partition("#")
    return url, fragment.partition(TEXT_DIRECTIVE)[0]


def sort_in_windows(mentions: Iterable[Mention], rules: Rules, base: str | None = None) -> Iterator[Sorted]:
    """All mentions, so many at a time: memory does not grow with their number."""
    waiting = iter(mentions)
    while window := list(islice(waiting, WINDOW)):
        yield sort(window, rules, base)


def sort(mentions: Iterable[Mention], rules: Rules, base: str | None = None) -> Sorted:
    """Each mention into its heap."""
    web = _Web()
    local: list[Mention] = []
    left_out: dict[tuple[str, str], list[Place]] = {}
    for mention in mentions:
        address = web_address(mention, base)
        name = address[0] if address else mention.url
        reason = rules.reason(name)
        if not reason and mention.url.startswith("//") and address is None:
            reason = "without a scheme, and it names no host"
        if reason:
            left_out.setdefault((name, reason), []).append(mention.place)
        elif address:
            web.add(address, mention.place)
        else:
            local.append(mention)
    skipped = [
        Checked(Link(url, places=tuple(dict.fromkeys(places))), Verdict.SKIPPED, reason)
        for (url, reason), places in left_out.items()
    ]
    return Sorted(list(web.links()), local, skipped)

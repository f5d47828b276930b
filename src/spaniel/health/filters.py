"""Selects the links to check: each URL once, without those that rules exclude."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.health.files import read_bytes
from spaniel.health.links import Checked, Link
from spaniel.patterns import Allowance, matcher
from spaniel.url.parsing import parse
from spaniel.url.value import in_one_spelling
from spaniel.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.health.documents.mentions import Mention
    from spaniel.health.links import Place

    Expressions = tuple[tuple[str, Callable[[str], bool]], ...]  # each as written, and as a function of a URL

IGNORE_FILE = ".lycheeignore"
LARGEST_IGNORE_FILE = 1 << 20  # bytes
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
CHECKED_SCHEMES = ("http", "https", "file")
HOST = re.compile(r"(?:https?|ftp)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)", re.IGNORECASE)
# Reserved for documentation and tests (RFC 2606, RFC 6761): these hosts do not exist.
EXAMPLES = re.compile(r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|example|test|invalid)\.?", re.IGNORECASE)
LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa)\.?", re.IGNORECASE)
VOCABULARIES = re.compile(  # names that look like URLs
    r"https?://(?:www\.w3\.org/(?:1999/xhtml|1999/xlink|2000/svg|1998/Math/MathML|2000/xmlns|XML/1998/namespace|2001/XMLSchema)"
    r"|schemas\.(?:microsoft|openxmlformats|xmlsoap)\.(?:com|org)/|www\.sitemaps\.org/schemas/sitemap/)",
    re.IGNORECASE,
)
PLACEHOLDER = re.compile(r"\{\{|\{%|\$\{|<%|%7B%7B", re.IGNORECASE)
TEXT_DIRECTIVE = ":~:"  # in a fragment: text to highlight, not an anchor


class LinkFilter(NamedTuple):
    """What is excluded. `include` overrides everything else; with `include` alone, only that is checked."""

    exclude: Expressions = ()
    include: Expressions = ()
    keep_private: bool = False  # check hosts of private networks, too
    keep_examples: bool = False

    def reason(self, url: str) -> str:
        """Say why a link is not checked; "" if it is checked."""
        scheme = None if url.startswith(("http://", "https://")) else SCHEME.match(url)
        if scheme and scheme[1].lower() not in CHECKED_SCHEMES:
            return f"'{scheme[1].lower()}:' links are not checked"
        if self.include and any(matches(url) for _, matches in self.include):
            return ""
        if reason := self._host_reason(url):
            return reason
        if PLACEHOLDER.search(url):
            return "contains a placeholder"
        for expression, matches in self.exclude:
            if matches(url):
                return f"excluded by {expression}"
        return "not included" if self.include and not self.exclude else ""

    def _host_reason(self, url: str) -> str:
        found = HOST.match(url)
        if found is None:
            return ""
        kind = _host_kind(found[1])
        if kind == "example" and not self.keep_examples:
            return "example host"
        if VOCABULARIES.match(url):
            return "name of a vocabulary, not a page"
        return "host of this machine or a private network" if kind == "private" and not self.keep_private else ""


@lru_cache(maxsize=1024)
def _host_kind(host: str) -> str:
    """Cached, because a document names few hosts, each many times."""
    if EXAMPLES.fullmatch(host):
        return "example"
    return "private" if _is_private(host) else ""


def _is_private(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return not ip_address(host.strip("[]")).is_global
    except ValueError:
        return LOCAL.fullmatch(host) is not None or "." not in host


def link_filter(
    exclude: Iterable[str] = (), include: Iterable[str] = (), *, keep_private: bool = False, keep_examples: bool = False
) -> LinkFilter:
    """Compile the expressions. Raises `bad_args` for an invalid one."""
    allowance = Allowance()
    return LinkFilter(
        tuple((each, matcher(each, "--exclude", allowance)) for each in exclude),
        tuple((each, matcher(each, "--include", allowance)) for each in include),
        keep_private,
        keep_examples,
    )


def read_ignore_file(path: str) -> Expressions:
    """Read the expressions of a `.lycheeignore`, one per line; none if the file does not exist."""
    if not os.path.lexists(path):
        return ()
    lines = read_bytes(path, LARGEST_IGNORE_FILE).decode("utf-8-sig", "replace").splitlines()
    allowance = Allowance()
    return tuple(
        (line, matcher(line, f"{path}, line {number}", allowance))
        for number, line in enumerate(map(str.strip, lines), 1)
        if line and not line.startswith("#")
    )


WINDOW = 20_000  # mentions that are sorted at a time; later mentions of the same link are merged by the run


class SortedMentions(NamedTuple):
    """Mentions by how they are checked."""

    web: list[Link]
    local: list[Mention]
    skipped: list[Checked]


class _WebLinks:
    """Collects each URL once, with its fragments and places."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[tuple[str, ...], tuple[Place, ...]]] = {}  # most are mentioned once: saves memory
        self._again: dict[str, tuple[dict[str, None], dict[Place, None]]] = {}

    def add(self, url: str, fragment: str, place: Place) -> None:
        if fragment:
            place = place._replace(fragment=fragment)
        known = self._first.get(url)
        if known is None:
            self._first[url] = ((fragment,) if fragment else (), (place,))
            return
        again = self._again.get(url)
        if again is None:
            again = self._again[url] = dict.fromkeys(known[0]), dict.fromkeys(known[1])
        if fragment:
            again[0][fragment] = None
        again[1][place] = None

    def links(self) -> Iterator[Link]:
        """Yield the links in the order of their first mention."""
        for url, once in self._first.items():
            fragments, places = self._again.get(url, once)
            yield Link(url, tuple(fragments), tuple(places))


def web_address(mention: Mention, base: str | None = None) -> tuple[str, str] | None:
    """Return the normalized URL and the fragment; None if it is not a web link.

    An invalid URL is returned as written; the error is reported when it is requested.
    """
    written = mention.url.strip()
    if (spelled := in_one_spelling(written)) is not None and not spelled[2]:
        return spelled[0], ""
    base_url = mention.base if mention.base and SCHEME.match(mention.base) else base
    if written.startswith("//") and not base_url:
        return _with_https(written)
    absolute = SCHEME.match(written) is not None
    if (absolute and not written[:6].lower().startswith(("http:", "https:"))) or not (absolute or base_url):
        return None
    try:
        href = parse(written, parse(base_url) if base_url and not absolute else None).href
    except SpanielError:
        href = written
    return _without_fragment(href)


def _with_https(written: str) -> tuple[str, str] | None:
    """Read `//host/x` as https, like a browser on a web page. None if it names no host."""
    try:
        return _without_fragment(parse(f"https:{written}").href)
    except SpanielError:
        return None


def _without_fragment(href: str) -> tuple[str, str]:
    url, _, fragment = href.partition("#")
    return url, fragment.partition(TEXT_DIRECTIVE)[0]


def sort_in_windows(
    mentions: Iterable[Mention], rules: LinkFilter, base: str | None = None
) -> Iterator[SortedMentions]:
    """Sort a limited number of mentions at a time, so that memory does not grow with their number."""
    waiting = iter(mentions)
    while window := list(islice(waiting, WINDOW)):
        yield sort_mentions(window, rules, base)


def sort_mentions(mentions: Iterable[Mention], rules: LinkFilter, base: str | None = None) -> SortedMentions:
    """Divide mentions into web links, local links and skipped links."""
    web = _WebLinks()
    local: list[Mention] = []
    skipped: dict[tuple[str, str], dict[Place, None]] = {}
    for mention in mentions:
        address = web_address(mention, base)
        name = address[0] if address else mention.url
        reason = rules.reason(name)
        if not reason and mention.url.startswith("//") and address is None:
            reason = "no scheme and no host"
        if reason:
            skipped.setdefault((name, reason), {})[mention.place] = None
        elif address:
            web.add(*address, mention.place)
        else:
            local.append(mention)
    results = [
        Checked(Link(url, places=tuple(places)), Verdict.SKIPPED, reason) for (url, reason), places in skipped.items()
    ]
    return SortedMentions(list(web.links()), local, results)

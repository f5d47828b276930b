"""Which links are checked: each address once, without what patterns exclude."""

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
    from collections.abc import Callable, Iterable

    Matches = Callable[[str], bool]
    from collections.abc import Iterator

    from spaniel.health.documents.mentions import Mention
    from spaniel.health.links import Place
    from spaniel.url.value import Url

IGNORE_FILE = ".lycheeignore"
LARGEST = 1 << 20  # bytes of an ignore file
WEB_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
HOST = re.compile(r"(?:https?|ftp)://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)", re.IGNORECASE)
WEB = ("http", "https")
# Reserved for documentation and tests (RFC 2606, RFC 6761): nobody is there.
EXAMPLES = re.compile(r"(?:.*\.)?(?:example\.(?:com|org|net|edu)|example|test|invalid)\.?", re.IGNORECASE)
LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|internal|lan|home\.arpa)\.?", re.IGNORECASE)
NAMES_ONLY = re.compile(  # names of vocabularies, which look like addresses
    r"https?://(?:www\.w3\.org/(?:1999/xhtml|1999/xlink|2000/svg|1998/Math/MathML|2000/xmlns|XML/1998/namespace|2001/XMLSchema)"
    r"|schemas\.(?:microsoft|openxmlformats|xmlsoap)\.(?:com|org)/|www\.sitemaps\.org/schemas/sitemap/)",
    re.IGNORECASE,
)
PLACEHOLDER = re.compile(r"\{\{|\{%|\$\{|<%|%7B%7B", re.IGNORECASE)


class Rules(NamedTuple):
    """What is left out. `include` outweighs all else; with nothing but `include`, only that is checked."""

    exclude: tuple[tuple[str, Matches], ...] = ()
    include: tuple[tuple[str, Matches], ...] = ()
    keep_private: bool = False  # hosts of one's own network are checked too
    keep_examples: bool = False

    def reason(self, url: str) -> str:
        """Why a link is not checked; "" where it is."""
        scheme = None if url.startswith(("http://", "https://")) else WEB_SCHEME.match(url)
        if scheme and scheme[1].lower() not in WEB and scheme[1].lower() != "file":
            return f"addresses of the kind '{scheme[1].lower()}:' are not checked"
        if self.include and any(matches(url) for _, matches in self.include):
            return ""
        if told := self._by_its_host(url):
            return told
        if PLACEHOLDER.search(url):
            return "it has a placeholder"
        for expression, matches in self.exclude:
            if matches(url):
                return f"excluded by {expression}"
        return "not included" if self.include and not self.exclude else ""

    def _by_its_host(self, url: str) -> str:
        found = HOST.match(url)
        if found is None:
            return ""
        kind = _kind_of(found[1])
        if kind == "example" and not self.keep_examples:
            return "an example's host"
        if NAMES_ONLY.match(url):
            return "the name of a vocabulary, not a page"
        return "a host of one's own machine or network" if kind == "private" and not self.keep_private else ""


@lru_cache(maxsize=1024)
def _kind_of(host: str) -> str:
    """A document names few hosts, each many times."""
    if EXAMPLES.fullmatch(host):
        return "example"
    return "private" if _is_private(host) else ""


def _is_private(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return not ip_address(host.strip("[]")).is_global
    except ValueError:
        return LOCAL.fullmatch(host) is not None or "." not in host


def rules(
    exclude: Iterable[str] = (), include: Iterable[str] = (), *, keep_private: bool = False, keep_examples: bool = False
) -> Rules:
    """Rules of expressions. Raises `bad_args` for one that is none."""
    allowance = Allowance()
    return Rules(
        tuple((one, matcher(one, "--exclude", allowance)) for one in exclude),
        tuple((one, matcher(one, "--include", allowance)) for one in include),
        keep_private,
        keep_examples,
    )


def read_ignore_file(path: str) -> tuple[tuple[str, Matches], ...]:
    """The expressions of a `.lycheeignore`, one on a line; none where there is no such file."""
    if not os.path.lexists(path):
        return ()
    lines = read_bytes(path, LARGEST).decode("utf-8-sig", "replace").splitlines()
    wanted = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    allowance = Allowance()
    return tuple(
        (line, matcher(line, f"{path}, line {number}", allowance))
        for number, line in wanted
        if line and not line.startswith("#")
    )


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

"""What a page says about itself and its neighbours: title, language, other versions, last page, links.

The language is detected by short words: enough to see whether a page is what its URL says. Every list is bounded: a
page may have a hundred thousand links."""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import SpanielError
from spaniel.reading.data_files import data_file
from spaniel.reading.html.links import base_of
from spaniel.reading.html.parse import parse_html
from spaniel.reading.text.scrub import one_line
from spaniel.url.parsing import parse
from spaniel.url.value import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turbohtml import Document, Element

    from spaniel.url.value import Url


MIN_HITS = 12  # short words that a text must have before it is judged
LEAD = 1.15  # by how much the best language must lead
MAX_TEXT = 20_000  # characters that are looked at
_WORDS = re.compile(r"[^\W\d_]+(?:·[^\W\d_]+)?")


@cache
def _short_words() -> dict[str, frozenset[str]]:
    return {lang: frozenset(words.split()) for lang, words in data_file("languages").items()}


def detect_language(text: str) -> str | None:
    """`es`, `ca`, … or None where the text is too short, or two languages are as likely."""
    counts = dict.fromkeys(_short_words(), 0)
    for found in _WORDS.finditer(text[:MAX_TEXT].lower()):
        for lang, words in _short_words().items():
            if found[0] in words:
                counts[lang] += 1
    ranked = sorted(counts, key=counts.__getitem__, reverse=True)
    best, second = counts[ranked[0]], counts[ranked[1]]
    return ranked[0] if best >= MIN_HITS and best >= LEAD * second else None


MAX_VERSIONS = 100
MAX_LINKS = 3000
MAX_PIECES = 400  # of text, to judge the language by
MAX_HEADER = 20_000  # characters of a `Link` header
TEXT = "p, li, td, dd, h1, h2, h3, figcaption"
# "Página 3 de 12", "page 3 of 12", "3. orria 12tik" is left to the links
_PAGE_OF = re.compile(
    r"\b(?:p[áàa]gina|p[áàa]x?ina|page|seite|orria|p[áàa]g\.)\s+(\d{1,5})\s+(?:de|of|von|sur|/)\s+(\d{1,5})\b",
    re.IGNORECASE,
)
_LINK_VALUE = re.compile(r"<([^<>]*)>((?:\s*;\s*[\w*-]+\s*(?:=\s*(?:\"[^\"]*\"|[^\s\",;]*))?)*)")
_LINK_PARAM = re.compile(r";\s*([\w*-]+)\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]*))")


class PageLink(NamedTuple):
    """A link of a page: where to, and the words on it."""

    url: str
    text: str


class PageFacts(NamedTuple):
    """Facts about a page for link checks."""

    title: str | None
    language: str | None  # detected in the text, else as declared
    versions: tuple[tuple[str, str], ...]  # language tag and address, as the site names them
    last: tuple[str, ...]  # addresses that it calls its last page
    links: tuple[PageLink, ...]
    page_of: tuple[int, int] | None  # this page and how many there are, in the page's own words


def page_facts(
    body: bytes, url: Url, charset: str | None = None, link_header: str = "", declared: str = ""
) -> PageFacts:
    """The facts of an HTML page. `declared` is the `Content-Language` of its answer, `link_header` its `Link`."""
    tree = parse_html(body, charset).tree
    base = _base(tree, url)
    header = list(_header_links(link_header, base))
    text = _text(tree)
    found = _PAGE_OF.search(text)
    return PageFacts(
        _title(tree),
        detect_language(text) or _primary(_declared(tree) or declared),
        tuple(islice(_versions(tree, base, header), MAX_VERSIONS)),
        tuple(islice(_last(tree, base, header), 4)),
        tuple(islice(_links(tree, base), MAX_LINKS)),
        (int(found[1]), int(found[2])) if found else None,
    )


def _base(tree: Document, url: Url) -> Url:
    try:
        return parse(base_of(tree, url.href), base=url)
    except SpanielError:
        return url


def _title(tree: Document) -> str | None:
    for where in ("head title", "h1"):
        found = tree.select_one(where)
        if found is not None and (text := one_line(found.text)):
            return text
    return None


def _declared(tree: Document) -> str:
    root = tree.root
    return (root.attr("lang") or "") if root is not None and root.tag == "html" else ""


def _primary(tag: str) -> str | None:
    """`es-ES` -> es. Of several languages none is the page's."""
    tag = tag.strip().lower().replace("_", "-")
    first = tag.partition("-")[0]
    return first if 2 <= len(first) <= 3 and first.isalpha() and "," not in tag else None


def _text(tree: Document) -> str:
    return " ".join(piece.text for piece in islice(tree.select(TEXT), MAX_PIECES))


def _absolute(written: str | None, base: Url) -> str | None:
    try:
        found = parse(written.strip(), base=base)._replace(fragment=None).href if written else ""
    except SpanielError:
        return None
    return found if 0 < len(found) <= LONGEST else None


def _versions(tree: Document, base: Url, header: list[tuple[str, dict[str, str]]]) -> Iterator[tuple[str, str]]:
    for url, params in header:
        if "alternate" in params.get("rel", "").lower().split() and params.get("hreflang"):
            yield params["hreflang"].lower(), url
    for link in islice(tree.select("link[rel~=alternate i][hreflang][href], a[hreflang][href]"), MAX_VERSIONS):
        if target := _absolute(link.attr("href"), base):
            yield (link.attr("hreflang") or "").strip().lower(), target


def _last(tree: Document, base: Url, header: list[tuple[str, dict[str, str]]]) -> Iterator[str]:
    yield from (url for url, params in header if "last" in params.get("rel", "").lower().split())
    found: Iterable[Element] = tree.select("link[rel~=last i][href], a[rel~=last i][href]")
    yield from (url for link in islice(found, 4) if (url := _absolute(link.attr("href"), base)))


def _links(tree: Document, base: Url) -> Iterator[PageLink]:
    for link in islice(tree.select("a[href]"), MAX_LINKS):
        if url := _absolute(link.attr("href"), base):
            yield PageLink(url, one_line(link.text) or one_line(link.attr("title")) or "")


def _header_links(value: str, base: Url) -> Iterator[tuple[str, dict[str, str]]]:
    """The links of a `Link` header (RFC 8288), as far as it is written as it should be."""
    for found in islice(_LINK_VALUE.finditer(value[:MAX_HEADER]), MAX_VERSIONS):
        if url := _absolute(found[1], base):
            yield url, {name.lower(): quoted or bare for name, quoted, bare in _LINK_PARAM.findall(found[2])}


def total_pages(facts: PageFacts, url: Url, param: str) -> int | None:
    """How many pages a list has: what it calls its last, else the highest that it links or speaks of (CP-26)."""
    named = [number for link in facts.last if (number := _number(link, url, param))]
    linked = [number for link in facts.links if (number := _number(link.url, url, param))]
    spoken = [facts.page_of[1]] if facts.page_of is not None else []
    total = max(named, default=0) or max([*linked, *spoken], default=0)
    return total if total >= max(1, _number(url.href, url, param), facts.page_of[0] if facts.page_of else 0) else None


def _number(link: str, url: Url, param: str) -> int:
    """The page number in a link of the same list; 0 where it is none."""
    target = parse(link)
    if (target.host, target.path.rstrip("/")) != (url.host, url.path.rstrip("/")):
        return 0
    for pair in (target.query or "").split("&"):
        name, _, value = pair.partition("=")
        if name == param and len(value) <= 5 and value.isascii() and value.isdigit():
            return int(value)
    return 0

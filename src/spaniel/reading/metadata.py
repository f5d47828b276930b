"""What a page says about itself: title, language, author, dates (FR-WF-13e, FR-WF-13f, FG-17)."""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.attributes import SIGNED as SIGNS
from spaniel.reading.attributes import Attributes
from spaniel.reading.dates import day_of, moment_of, shown_day
from spaniel.reading.document import Metadata
from spaniel.reading.headline import headline
from spaniel.reading.hygiene import LONGEST_LINE, one_line
from spaniel.reading.lexicon import lexicon
from spaniel.reading.links import base_of, scheme_of
from spaniel.reading.signals import signals_of
from spaniel.reading.steps import Steps
from spaniel.url.value import recognize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turbohtml import Document

PUBLISHED, MODIFIED, AUTHOR, DESCRIPTION = (
    tuple(lexicon("metadata")[name].split()) for name in ("published", "modified", "author", "description")
)
BY = re.compile(r"^(?:(?:written|posted|post|article|words|story|published|reviewed)\s+)?by\b:?\s*", re.IGNORECASE)
SIGNED = (
    "[itemprop=author] [itemprop=name]", "[itemprop=author]", "[rel=author]", "a.author", ".author-name", ".byline a",
    ".byline", ".author",
)  # fmt: skip
# Where nothing of that is there: the link to the author's page, names of classes that are made of those words.
NAMED_SO = (
    "a[href*='/author/'],[class*=author-name i],[class*=author__name i],[class*=authorname i],[class*=entry-author i],"
    "[class*=post-author i],[class*=the-author i]"
)
ANY_SIGNED = (
    "[itemprop=author],[rel=author],.author,.author-name,.byline"  # one of them is in each of SIGNED, or around it
)
ABOUT_THE_SITE = frozenset({"organization", "website", "webpage", "breadcrumblist", "person", "imageobject"})
ROBOTS = "robots"  # the one name whose values add up
CITED = "meta[name=citation_author i][content]"  # one for each author
MOST_NAMES = 20  # of authors
FEW_NAMES = 3
LONGEST_NAME = 60  # characters of what may be nothing but a name
MOST = 400  # objects of linked data that are looked at
LONGEST_DATA = 1 << 20  # characters of linked data, which takes thirty times as much when it is parsed


class Head(NamedTuple):
    """The head, read once."""

    title: str | None
    titled: bool  # by a `<title>`, not by its first heading
    language: str | None
    metadata: Metadata
    types: list[str]
    open_graph: str
    generator: str
    told: Told | None  # the content as linked data has it
    signals: dict[str, object]
    objects: list[dict[str, object]]  # of linked data


class Told(NamedTuple):
    """What linked data says the page is about."""

    name: str | None
    text: str


def read_head(doc: Document, url: str | None, source: bytes | None = None, steps: Steps | None = None) -> Head:
    """With the source given, the tree is not searched for what is not there.

    The signals are no optional step: what a site says about the use of its page must not be lost.
    """
    steps = steps or Steps()
    attributes = Attributes(source)
    meta = _metas(doc)
    none: list[dict[str, object]] = []
    objects = steps.run("metadata", lambda: list(_linked_data(doc)), none)
    title = steps.run("metadata", lambda: _title(doc), None)
    return Head(
        title=title,
        titled=any(found.text.strip() for found in doc.select("title")[:2]),
        language=_language(doc),
        metadata=steps.run("metadata", lambda: _metadata(title, doc, meta, objects, url, attributes), Metadata()),
        types=[name for thing in objects for name in _names(thing.get("@type"))][:40],
        open_graph=meta.get("og:type", "").lower(),
        generator=meta.get("generator", ""),
        told=steps.run("metadata", lambda: _told(objects), None),
        signals=signals_of(doc, meta, objects),
        objects=objects,
    )


def _told(objects: list[dict[str, object]]) -> Told | None:
    """The longest text that one object has, with the name of that object."""
    found = [
        Told(_first([thing], "headline") or _first([thing], "name"), text)
        for thing in objects
        if not ABOUT_THE_SITE.intersection(name.lower() for name in _names(thing.get("@type")))
        for key in ("articleBody", "text", "description")
        if (text := _first([thing], key))
    ]
    return max(found, key=lambda told: len(told.text), default=None)


def _title(doc: Document) -> str | None:
    """`<title>`, else the first `<h1>` (FR-WF-13e)."""
    for where in ("head title", "title:not(svg title)", "h1"):
        found = doc.select_one(where)
        if found is not None and (text := one_line(found.text)):
            return text
    return None


def _language(doc: Document) -> str | None:
    root = doc.root
    return one_line(root.attr("lang")) if root is not None and root.tag == "html" else None


def _metas(doc: Document) -> dict[str, str]:
    """Every `<meta>` by its lower-case name; the first of a name counts."""
    found: dict[str, str] = {}
    for meta in doc.select("meta[content]"):
        name = meta.attr("property") or meta.attr("name") or meta.attr("itemprop")
        content = meta.attr("content")
        if name and content and content.strip():
            name = name.strip().lower()
            found[name] = f"{found[name]},{content}" if name == ROBOTS and name in found else found.get(name, content)
    return found


def _linked_data(doc: Document) -> Iterator[dict[str, object]]:
    """The objects of JSON-LD, outermost first, `@graph` opened."""
    scripts = doc.select("script[type*='ld+json' i]")
    if not scripts or sum([len(script.text) for script in scripts]) > LONGEST_DATA:
        return
    try:
        waiting: list[object] = [*doc.json_ld()[:MOST]]
    except (ValueError, RecursionError):
        return
    for _ in range(MOST):
        if not waiting:
            return
        thing = waiting.pop(0)
        if isinstance(thing, list):
            waiting[:0] = thing[:MOST]
        elif isinstance(thing, dict):
            yield thing
            waiting += [
                thing[k] for k in ("@graph", "mainEntity", "mainEntityOfPage") if isinstance(thing.get(k), (list, dict))
            ]


def _metadata(
    title: str | None,
    doc: Document,
    meta: dict[str, str],
    objects: list[dict[str, object]],
    url: str | None,
    attributes: Attributes,
) -> Metadata:
    base = base_of(doc, url)
    link = doc.select_one("link[rel~=canonical i][href]")
    told = (_first(objects, "headline"), meta.get("og:title"), meta.get("twitter:title"))
    canonical = (link.attr("href") if link is not None else None) or meta.get("og:url")
    return Metadata(
        title=headline(doc, title, told, site=meta.get("og:site_name"), url=url),
        description=one_line(_named(meta, DESCRIPTION) or _first(objects, "description")),
        author=_author(doc, meta, objects, attributes),
        canonical_url=_absolute(canonical, base),
        published=_published(meta, objects) or shown_day(doc, url, attributes),
        modified=day_of(_first(objects, "dateModified")) or day_of(_named(meta, MODIFIED)),
        site_name=one_line(meta.get("og:site_name") or _publisher(objects) or meta.get("application-name")),
        image=_absolute(meta.get("og:image") or meta.get("twitter:image") or _first(objects, "image"), base),
    )


def _named(meta: dict[str, str], names: Iterable[str]) -> str | None:
    return next((meta[name] for name in names if name in meta), None)


def _first(objects: list[dict[str, object]], key: str) -> str | None:
    """The first plain value of a property; of an image object, its address."""
    for thing in objects:
        value = thing.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, dict):
            value = value.get("url") or value.get("name")
        if isinstance(value, str) and value.strip():
            return value
    return None


def _names(value: object) -> list[str]:
    """Names in a value that may be text, an object with a name, or a list of either."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return _names(value["name"]) if isinstance(value.get("name"), str) else []
    if isinstance(value, list):
        return [name for part in value[:20] if isinstance(part, (str, dict)) for name in _names(part)]
    return []


def _author(
    doc: Document, meta: dict[str, str], objects: list[dict[str, object]], attributes: Attributes
) -> str | None:
    told = [name for thing in objects for name in _names(thing.get("author"))]
    told += [cited.attr("content") or "" for cited in doc.select(CITED)] if "citation_author" in meta else []
    told = told or [meta[name] for name in AUTHOR if name in meta]
    if not any(map(_person, told)) and attributes.may_have(SIGNS) and doc.select_one(ANY_SIGNED) is not None:
        told = _signed(doc)
    if not any(map(_person, told)):
        told = _named_so(doc)
    names: dict[str, str] = {}
    for raw in told[:MOST_NAMES]:
        if name := _person(raw):
            names.setdefault(name.casefold(), name)
    return ", ".join(names.values()) or None


def _signed(doc: Document) -> list[str]:
    """The byline: all its links, else the first of what else may sign a page."""
    line = doc.select_one(".byline")
    if line is not None and doc.select_one("[itemprop=author],[rel=author]") is None:
        links = [link.text for link in line.select("a")[:MOST_NAMES]]
        if links:
            return links
    signed = filter(None, map(doc.select_one, SIGNED))
    return [found.attr("content") or found.text for found in islice(signed, 1)]


def _named_so(doc: Document) -> list[str]:
    """The first name; where there are many, they sign the teasers of a list."""
    texts = (" ".join(islice(element.stripped_strings, 4)) for element in doc.select(NAMED_SO)[:MOST_NAMES])
    names = {name.casefold(): name for text in texts if len(text) <= LONGEST_NAME and (name := _person(text))}
    return list(names.values())[:1] if len(names) <= FEW_NAMES else []


def _person(raw: str) -> str | None:
    name = one_line(unescape(raw))
    if name is None or len(name) > 120 or scheme_of(name) or " » " in name:  # the last: who and when, of a post
        return None
    name = BY.sub("", name).strip(" :,|")
    return None if name.lower() in ("", "author", "admin", "by", "authors") else name


def _publisher(objects: list[dict[str, object]]) -> str | None:
    return next((name for thing in objects for name in _names(thing.get("publisher"))), None)


def _published(meta: dict[str, str], objects: list[dict[str, object]]) -> str | None:
    told = (
        _first(objects, "datePublished"),
        _named(meta, PUBLISHED),
        _first(objects, "dateCreated"),
        _first(objects, "uploadDate"),
    )
    return next((moment for value in told if (moment := moment_of(value))), None)


def _absolute(target: str | None, base: str) -> str | None:
    target = one_line(target) if len(target or "") <= LONGEST_LINE else None  # one that is cut leads elsewhere
    if target is None:
        return None
    if (parts := recognize(target)) is not None:  # most are: the parser takes longer to load than a page to read
        scheme, host, port, path, query, fragment = parts
        rest = ("" if query is None else f"?{query}") + ("" if fragment is None else f"#{fragment}")
        return f"{scheme}://{host}{port}{path}{rest}"
    import ada_url

    try:
        joined = ada_url.join_url(base, target) if base else ada_url.URL(target).href
    except ValueError:
        return None
    return joined if joined.startswith(("http://", "https://")) else None

"""What a page says about itself: title, language, author, dates (FR-WF-13e, FR-WF-13f, FG-17).

The title is the page's own, without the name of its site.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.data_files import data_file
from spaniel.reading.document import Metadata
from spaniel.reading.html.links import base_of, scheme_of
from spaniel.reading.judge.features import HeadFacts
from spaniel.reading.metadata.dates import MAY_NAME_AUTHOR as SIGNS
from spaniel.reading.metadata.dates import AttributeScan, find_day, parse_day, parse_moment
from spaniel.reading.metadata.signals import usage_signals
from spaniel.reading.steps import OptionalSteps
from spaniel.reading.text.scrub import MAX_LINE, one_line
from spaniel.url.value import recognize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turbohtml import Document, Element


TITLE_SEPARATOR = re.compile(r"(\s[|\-–—»·•›/]\s|\s*[|｜]\s*)")
BAR = re.compile(r"\s+[|｜]\s+")
SURE_SEPARATORS = frozenset("|｜—»·•›/")
SITE_WORDS = re.compile(r"\b(?:documentation|forums?|community|manual|wiki|docs)\b", re.IGNORECASE)
WORD = re.compile(r"\w+")
MIN_SHARED_WORDS = 0.5  # of the words of a heading stand in what the head calls the page
MAX_TITLE_HEADING = 200  # characters of a heading that is a title
MIN_SITE_PREFIX = 6  # letters of which the beginning of a site's name says which it is
MAX_HEADINGS = 4  # that may be the title


def page_title(
    doc: Document, title: str | None, titles: tuple[str | None, ...], site: str | None, url: str | None
) -> str | None:
    """The heading that the title repeats, else a heading much like it, else what the head calls it."""
    whole = title or ""
    every, names = _headings(doc), _site_names(site, url)
    headings = [text for text in every if not _is_site_name(text, names, whole)]
    names |= {_letters_only(text) for text in every} - {_letters_only(text) for text in headings}
    for text in headings:
        if text.casefold() in whole.casefold():
            return _after_site(doc, text, whole) or BAR.split(text)[0] or text
    called = one_line(
        unescape(next(filter(None, (*titles, title)), ""))
    )  # plugins write HTML entities in plain text fields
    if called is None or not _letters_only(called):
        return called
    if _is_home(url):
        return _without_last(TITLE_SEPARATOR.split(called), names)
    bare = _without_site(called, names)
    alike = _similar_heading(headings, f"{whole} {called}") if titles[0] is None else None
    if alike is None and len(headings) == 1 and _letters_only(TITLE_SEPARATOR.split(called)[0]) in names:
        return headings[0]  # `Site - what it is for`, on every page of the site
    if (
        alike is None
        or _letters_only(alike).endswith(_letters_only(bare))
        or _letters_only(alike) == _letters_only(called)
    ):
        return bare  # `Thread: bare`, `The bare`
    return alike


def _headings(doc: Document) -> list[str]:
    found = (one_line(" ".join(heading.stripped_strings)) for heading in doc.select("h1")[:MAX_HEADINGS])
    return [text for raw in found if raw and _letters_only(text := raw.rstrip(" ¶#§🔗"))]


def _after_site(doc: Document, heading: str, title: str) -> str | None:
    """Of `Site - Name` the name, where the first heading is the site and the next one links to itself: phpBB."""
    parts = TITLE_SEPARATOR.split(title)
    if len(parts) == 1 or _letters_only(parts[0]) != _letters_only(heading):
        return None
    name = _letters_only("".join(parts[2:]))
    found = (one_line(" ".join(link.stripped_strings)) for link in doc.select("h2 > a")[:MAX_HEADINGS])
    return next((text for text in found if text and _letters_only(text) == name), None)


def _similar_heading(headings: list[str], called: str) -> str | None:
    """The first heading of which at least half of the words stand in what the head says."""
    known = set(WORD.findall(called.casefold()))
    for text in headings:
        words = set(WORD.findall(text.casefold()))
        if len(text) <= MAX_TITLE_HEADING and len(words & known) >= max(2, MIN_SHARED_WORDS * len(words)):
            return text
    return None


def _is_home(url: str | None) -> bool:
    return not (url or "x://x/x").partition("://")[2].partition("/")[2].partition("?")[0]


def _is_site_name(heading: str, names: frozenset[str], title: str) -> bool:
    """A heading that is the site's name, or the last part of a title whose first part is something else."""
    name = _letters_only(heading)
    if name in names or any(known.startswith(name) for known in names if len(name) >= MIN_SITE_PREFIX):
        return True
    parts = TITLE_SEPARATOR.split(title)
    first, last = _letters_only(parts[0]), _letters_only(parts[-1])
    return len(parts) > 1 and bool(name) and last.startswith(name) and name not in first and first not in names


def _site_names(site: str | None, url: str | None) -> frozenset[str]:
    """What the site is called: by itself, and by its address."""
    host = (url or "").partition("://")[2].partition("/")[0].lower().removeprefix("www.")
    labels = host.split(".")
    found = {_letters_only(site or ""), "".join(labels), "".join(labels[:-1]), *labels[:-1]}
    return frozenset(name for name in found if name)


def _letters_only(text: str) -> str:
    return "".join(WORD.findall(text.casefold()))


def _without_site(called: str, names: frozenset[str]) -> str:
    """Of `Name | Part | Site` the name; of `Site - Name` the name, too."""
    parts = TITLE_SEPARATOR.split(called)  # text, sign, text, sign … text
    while len(parts) > 1 and _letters_only(parts[-1]) in names:
        del parts[-2:]
    while len(parts) > 1 and _letters_only(parts[0]) in names:
        del parts[:2]
    if len(parts) > 1 and parts[0].strip() and parts[1].strip() in SURE_SEPARATORS:
        return parts[0].strip()
    return _without_last(parts, names) or called


def _without_last(parts: list[str], names: frozenset[str]) -> str:
    """The parts without the last where that is the site: by its name, by what it says, or short beside the rest."""
    rest, last = "".join(parts[:-2]).strip(), parts[-1]
    short = len(last) < len(rest) / 2 or (len(last) < 2 * len(rest) and SITE_WORDS.search(last))
    if rest and (short or _letters_only(last) in names):
        return rest
    return "".join(parts).strip()


PUBLISHED, MODIFIED, AUTHOR, DESCRIPTION = (
    tuple(data_file("metadata")[name].split()) for name in ("published", "modified", "author", "description")
)
BY = re.compile(r"^(?:(?:written|posted|post|article|words|story|published|reviewed)\s+)?by\b:?\s*", re.IGNORECASE)
AUTHOR_SELECTORS = (
    "[itemprop=author] [itemprop=name]", "[itemprop=author]", "[rel=author]", "a.author", ".author-name", ".byline a",
    ".byline", ".author",
)  # fmt: skip
# Where nothing of that is there: the link to the author's page, names of classes that are made of those words.
AUTHOR_CLASSES = (
    "a[href*='/author/'],[class*=author-name i],[class*=author__name i],[class*=authorname i],[class*=entry-author i],"
    "[class*=post-author i],[class*=the-author i]"
)
ANY_AUTHOR = (
    "[itemprop=author],[rel=author],.author,.author-name,.byline"  # one of them is in each of SIGNED, or around it
)
ABOUT_THE_SITE = frozenset({"organization", "website", "webpage", "breadcrumblist", "person", "imageobject"})
ROBOTS = "robots"  # the one name whose values add up
CITATION_AUTHORS = "meta[name=citation_author i][content]"  # one for each author
MAX_AUTHORS = 20  # of authors
MAX_CLASS_AUTHORS = 3
MAX_AUTHOR_NAME = 60  # characters of what may be nothing but a name
MAX_OBJECTS = 400  # objects of linked data that are looked at
MAX_LINKED_DATA = 1 << 20  # characters of linked data, which takes thirty times as much when it is parsed


class PageHead(NamedTuple):
    """The head, read once."""

    title: str | None
    titled: bool  # by a `<title>`, not by its first heading
    language: str | None
    metadata: Metadata
    types: list[str]
    open_graph: str
    generator: str
    linked_data_text: LinkedDataText | None  # the content as linked data has it
    signals: dict[str, object]
    objects: list[dict[str, object]]  # of linked data


class LinkedDataText(NamedTuple):
    """What linked data says the page is about."""

    name: str | None
    text: str


def read_head(
    doc: Document, url: str | None, source: bytes | None = None, steps: OptionalSteps | None = None
) -> PageHead:
    """With the source given, the tree is not searched for what is not there.

    The signals are no optional step: what a site says about the use of its page must not be lost.
    """
    steps = steps or OptionalSteps()
    attributes = AttributeScan(source)
    meta = _meta_tags(doc)
    none: list[dict[str, object]] = []
    objects = steps.run("metadata", lambda: list(_linked_data(doc)), none)
    title = steps.run("metadata", lambda: _title(doc), None)
    return PageHead(
        title=title,
        titled=any(found.text.strip() for found in doc.select("title")[:2]),
        language=_language(doc),
        metadata=steps.run("metadata", lambda: _metadata(title, doc, meta, objects, url, attributes), Metadata()),
        types=[name for thing in objects for name in _names(thing.get("@type"))][:40],
        open_graph=meta.get("og:type", "").lower(),
        generator=meta.get("generator", ""),
        linked_data_text=steps.run("metadata", lambda: _longest_text(objects), None),
        signals=usage_signals(doc, meta, objects),
        objects=objects,
    )


def _longest_text(objects: list[dict[str, object]]) -> LinkedDataText | None:
    """The longest text that one object has, with the name of that object."""
    found = [
        LinkedDataText(_first([thing], "headline") or _first([thing], "name"), text)
        for thing in objects
        if not ABOUT_THE_SITE.intersection(name.lower() for name in _names(thing.get("@type")))
        for key in ("articleBody", "text", "description")
        if (text := _first([thing], key))
    ]
    return max(found, key=lambda one: len(one.text), default=None)


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


def _meta_tags(doc: Document) -> dict[str, str]:
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
    if not scripts or sum([len(script.text) for script in scripts]) > MAX_LINKED_DATA:
        return
    try:
        waiting: list[object] = [*doc.json_ld()[:MAX_OBJECTS]]
    except (ValueError, RecursionError):
        return
    for _ in range(MAX_OBJECTS):
        if not waiting:
            return
        thing = waiting.pop(0)
        if isinstance(thing, list):
            waiting[:0] = thing[:MAX_OBJECTS]
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
    attributes: AttributeScan,
) -> Metadata:
    base = base_of(doc, url)
    link = doc.select_one("link[rel~=canonical i][href]")
    titles = (_first(objects, "headline"), meta.get("og:title"), meta.get("twitter:title"))
    canonical = (link.attr("href") if link is not None else None) or meta.get("og:url")
    return Metadata(
        title=page_title(doc, title, titles, site=meta.get("og:site_name"), url=url),
        description=one_line(_first_meta(meta, DESCRIPTION) or _first(objects, "description")),
        author=_author(doc, meta, objects, attributes),
        canonical_url=_absolute(canonical, base),
        published=_published(meta, objects) or find_day(doc, url, attributes),
        modified=parse_day(_first(objects, "dateModified")) or parse_day(_first_meta(meta, MODIFIED)),
        site_name=one_line(meta.get("og:site_name") or _publisher(objects) or meta.get("application-name")),
        image=_absolute(meta.get("og:image") or meta.get("twitter:image") or _first(objects, "image"), base),
    )


def _first_meta(meta: dict[str, str], names: Iterable[str]) -> str | None:
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
    doc: Document, meta: dict[str, str], objects: list[dict[str, object]], attributes: AttributeScan
) -> str | None:
    authors = [name for thing in objects for name in _names(thing.get("author"))]
    authors += (
        [cited.attr("content") or "" for cited in doc.select(CITATION_AUTHORS)] if "citation_author" in meta else []
    )
    authors = authors or [meta[name] for name in AUTHOR if name in meta]
    if not any(map(_person, authors)) and attributes.may_have(SIGNS) and doc.select_one(ANY_AUTHOR) is not None:
        authors = _byline(doc)
    if not any(map(_person, authors)):
        authors = _author_by_class(doc)
    names: dict[str, str] = {}
    for raw in authors[:MAX_AUTHORS]:
        if name := _person(raw):
            names.setdefault(name.casefold(), name)
    return ", ".join(names.values()) or None


def _byline(doc: Document) -> list[str]:
    """The byline: all its links, else the first of what else may sign a page."""
    line = doc.select_one(".byline")
    if line is not None and doc.select_one("[itemprop=author],[rel=author]") is None:
        links = [link.text for link in line.select("a")[:MAX_AUTHORS]]
        if links:
            return links
    signed = filter(None, map(doc.select_one, AUTHOR_SELECTORS))
    return [found.attr("content") or found.text for found in islice(signed, 1)]


def _author_by_class(doc: Document) -> list[str]:
    """The first name; where there are many, they sign the teasers of a list."""
    texts = (" ".join(islice(element.stripped_strings, 4)) for element in doc.select(AUTHOR_CLASSES)[:MAX_AUTHORS])
    names = {name.casefold(): name for text in texts if len(text) <= MAX_AUTHOR_NAME and (name := _person(text))}
    return list(names.values())[:1] if len(names) <= MAX_CLASS_AUTHORS else []


def _person(raw: str) -> str | None:
    name = one_line(unescape(raw))
    if name is None or len(name) > 120 or scheme_of(name) or " » " in name:  # the last: who and when, of a post
        return None
    name = BY.sub("", name).strip(" :,|")
    return None if name.lower() in ("", "author", "admin", "by", "authors") else name


def _publisher(objects: list[dict[str, object]]) -> str | None:
    return next((name for thing in objects for name in _names(thing.get("publisher"))), None)


def _published(meta: dict[str, str], objects: list[dict[str, object]]) -> str | None:
    dates = (
        _first(objects, "datePublished"),
        _first_meta(meta, PUBLISHED),
        _first(objects, "dateCreated"),
        _first(objects, "uploadDate"),
    )
    return next((moment for value in dates if (moment := parse_moment(value))), None)


def _absolute(target: str | None, base: str) -> str | None:
    target = one_line(target) if len(target or "") <= MAX_LINE else None  # one that is cut leads elsewhere
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


MAX_LINKED_TEXT = 20_000  # characters of linked data that are compared with blocks


def head_facts(head: PageHead, body: Element, url: str) -> HeadFacts:
    tags = [element.tag for element in body.select("time,img")]
    text = head.linked_data_text
    return HeadFacts(
        url=url or head.metadata.canonical_url or "",
        title=head.title or "",
        titled=head.titled,
        open_graph=head.open_graph,
        linked_data=head.types,
        generator=head.generator,
        times=tags.count("time"),
        images=tags.count("img"),
        description=head.metadata.description or "",
        linked_text=" ".join(text.text[:MAX_LINKED_TEXT].split()) if text is not None else "",
        objects=head.objects,
    )

"""The feed reader: RSS, Atom and JSON Feed as one list of titled links with day, author and text."""

from __future__ import annotations

import re
from html import escape, unescape
from itertools import islice
from typing import NamedTuple

import msgspec

from spaniel.reading.document import READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.formats.html import html_to_markdown
from spaniel.reading.formats.json import read_json
from spaniel.reading.formats.xml import read_xml
from spaniel.reading.html.parse import BYTES_PER_TAG, MAX_TAGS
from spaniel.reading.markdown.writer import MIN_ALLOWANCE, WrittenMarkdown
from spaniel.reading.metadata.dates import parse_day
from spaniel.reading.steps import OptionalSteps
from spaniel.reading.text.charset import decode_xml
from spaniel.reading.text.scrub import one_line
from spaniel.reading.text.words import truncate_markdown

MAX_ENTRIES = 1000  # that are read of a feed


class FeedEntry(NamedTuple):
    """One entry, however its feed spells it."""

    title: str = ""
    link: str = ""
    date: str = ""
    author: str = ""
    text: str = ""  # HTML, or words


class Feed(NamedTuple):
    """What a feed says."""

    title: str
    link: str
    description: str
    entries: tuple[FeedEntry, ...]
    data: str | None = None  # of a JSON Feed


MAX_COMMAS, CHARACTERS_PER_COMMA = 100_000, 16


class _JsonPerson(msgspec.Struct):
    name: str = ""


class _JsonItem(msgspec.Struct):
    """An entry in version 1.1, or 1 with its single author."""

    title: str | None = None
    url: str | None = None
    date_published: str | None = None
    date_modified: str | None = None
    content_html: str | None = None
    content_text: str | None = None
    summary: str | None = None
    author: _JsonPerson | None = None
    authors: list[_JsonPerson] | None = None


class _JsonFeed(msgspec.Struct):
    version: str = ""
    title: str = ""
    home_page_url: str | None = None
    description: str | None = None
    items: msgspec.Raw = msgspec.Raw(b"[]")


def parse_json_feed(data: str) -> Feed | None:
    """The feed that a JSON text is; None if it is another object."""
    try:
        feed = msgspec.json.decode(data, type=_JsonFeed)
        if bytes(feed.items).count(b",") > MAX_COMMAS + len(data) // CHARACTERS_PER_COMMA:  # no text has so many
            return None
        items = msgspec.json.decode(feed.items, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        return None
    if "jsonfeed.org/version/" not in feed.version:
        return None
    entries = tuple(map(_json_entry, islice(items, MAX_ENTRIES + 1)))
    return Feed(feed.title, feed.home_page_url or "", feed.description or "", entries, data)


def _json_entry(raw: msgspec.Raw) -> FeedEntry:
    """An entry that is none is an empty one: the others are still read."""
    try:
        item = msgspec.json.decode(raw, type=_JsonItem)
    except msgspec.MsgspecError:
        return FeedEntry()
    people = [person for person in (item.author, *(item.authors or ())) if person]
    words = escape(item.content_text or item.summary or "").replace("\n\n", "</p><p>")
    return FeedEntry(
        item.title or "",
        item.url or "",
        item.date_published or item.date_modified or "",
        ", ".join(dict.fromkeys(person.name for person in people)),
        item.content_html or (f"<p>{words}</p>" if words else ""),
    )


MAX_ENTRY_HTML = 1 << 16  # characters of an entry's HTML that are looked at
MAX_DATE = 100  # characters
MAX_ENTRY_MARKDOWN = 16 << 10  # bytes of Markdown that an entry may take
HEADING = re.compile(r"<(/?)h[12](?=[\s/>])", re.IGNORECASE)  # of an entry: they stand below its title
TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
AUTHOR_IN_BRACKETS = re.compile(r"[^()]*\(([^()]+)\)")  # how RSS writes an author: mail@example.org (Name)
ROOT_TAG = re.compile(r"<(?P<name>rss|feed)(?=[\s/>])(?P<rest>[^<>]*+)>", re.IGNORECASE)
VERSION = re.compile(r"\sversion\s*=\s*(?:\"[^\"]*\"|'[^']*')")
NAMESPACE = re.compile(r"\sxmlns\s*=\s*(?:\"[^\"]*\"|'[^']*')")
ATOM = "http://www.w3.org/2005/Atom"


def read_feed(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = (body if isinstance(body, str) else decode_xml(body, charset)).lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        document = read_json(text, url, None)
        feed = parse_json_feed(document.data) if document.data is not None else None
        return document if feed is None else feed_document(feed, url, len(body))
    cut, part = limit_feed(text)
    feed = parse_xml_feed(part)
    if feed is None:
        return read_xml(text, url, None)
    document = feed_document(feed, url, len(body))
    return document.noted(READING_CUT) if cut else document


def limit_feed(text: str) -> tuple[bool, str]:
    """As much of a feed as may become a tree; what ends early is read as far as it goes."""
    most = MAX_TAGS + len(text) // BYTES_PER_TAG
    if text.count("<") <= most:
        return False, text
    return True, text[: -len(text.split("<", most + 1)[-1]) - 1]


def parse_xml_feed(text: str) -> Feed | None:
    from turbohtml.extract import feed

    found = feed(ROOT_TAG.sub(_current_version, text, count=1))
    if found is None:
        return None
    entries = (
        FeedEntry(
            e.title or "", e.link or "", e.published or e.updated or "", e.author or "", _body(e.content, e.summary)
        )
        for e in found.entries
    )
    return Feed(found.title or "", found.link or "", found.description or "", tuple(entries))


def _body(content: str | bytes | None, summary: str | None) -> str:
    return content if isinstance(content, str) and content else summary or ""


def _current_version(root: re.Match[str]) -> str:
    """RSS before 2.0 and Atom before 1.0 differ in nothing that is read here, but their readers ask for the version."""
    if root["name"].lower() == "rss":
        return f'<rss version="2.0"{VERSION.sub("", root["rest"])}>'
    return f'<feed xmlns="{ATOM}"{NAMESPACE.sub("", root["rest"])}>'


def feed_document(feed: Feed, url: str | None, size: int) -> Document:
    """A feed as Markdown: no more of it than a page of its size may become."""
    most = 4 * size + MIN_ALLOWANCE
    title, steps = plain_title(feed.title), OptionalSteps()
    base = _base(feed.link, url)
    parts = [
        html_to_markdown(
            f"<h1>{escape(title or '')}</h1><p>{escape(plain_title(feed.description) or '')}</p>", base, steps
        )
    ]
    left = most - len(parts[0].markdown.encode())
    cut = len(feed.entries) > MAX_ENTRIES
    for entry in filter(_says_something, feed.entries[:MAX_ENTRIES]):
        part = _entry_markdown(entry, base, steps)
        left -= len(part.markdown.encode()) + 1
        if left < 0:
            cut = True
            break
        parts.append(part)
    hygiene = Hygiene(0, sum(p.invisible for p in parts), sum(p.controls for p in parts), sum(p.harmful for p in parts))
    return Document(
        markdown="\n".join(part.markdown for part in parts if part.markdown),
        title=title,
        kind="feed",
        metadata=Metadata(title=title, description=plain_title(feed.description)),
        hygiene=hygiene,
        notes=(READING_CUT,) if cut or any(part.cut for part in parts) else (),
        data=feed.data,
    ).with_failures(steps.failures)


def _base(link: str, url: str | None) -> str | None:
    return link if link.startswith(("https://", "http://")) else url


def _says_something(entry: FeedEntry) -> bool:
    return bool(entry.title or entry.link or entry.text)


def _entry_markdown(entry: FeedEntry, base: str | None, steps: OptionalSteps) -> WrittenMarkdown:
    """A heading that is a link, a line with day and author, and the text."""
    link = entry.link.strip()
    title = plain_title(entry.title) or link or "…"
    heading = f'<a href="{escape(link)}">{escape(title)}</a>' if link else escape(title)
    about = " · ".join(filter(None, (_day(entry.date), _person(entry.author))))
    text = entry.text[:MAX_ENTRY_HTML]
    body = HEADING.sub(r"<\1h3", text) if TAG.search(text) else f"<p>{escape(unescape(text))}</p>"
    part = html_to_markdown(f"<h2>{heading}</h2><p>{escape(about)}</p><div>{body}</div>", base, steps)
    short = truncate_markdown(part.markdown, MAX_ENTRY_MARKDOWN)
    return part._replace(markdown=short, cut=part.cut or short is not part.markdown or len(entry.text) > MAX_ENTRY_HTML)


def _day(date: str) -> str:
    return parse_day(date[:MAX_DATE]) or one_line(date[:MAX_DATE]) or ""


def _person(author: str) -> str | None:
    found = AUTHOR_IN_BRACKETS.fullmatch(author)
    return one_line(found[1] if found else author)


def plain_title(text: str) -> str | None:
    """Return a title, which may be text or HTML, as text on one line."""
    bare = TAG.sub("", text[:MAX_ENTRY_HTML])
    return one_line(TAG.sub("", unescape(bare)) if "&" in bare else bare)

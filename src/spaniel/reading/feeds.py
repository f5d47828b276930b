"""The feed reader: RSS, Atom and JSON Feed as one list of titled links with day, author and text."""

from __future__ import annotations

import re
from html import escape, unescape

from spaniel.reading.budgets import BYTES_FOR_A_TAG, TAGS
from spaniel.reading.charset import decode_xml
from spaniel.reading.dates import day_of
from spaniel.reading.document import READING_CUT, Document, Hygiene, Metadata
from spaniel.reading.feed import ENTRIES, Entry, Feed
from spaniel.reading.html import markdown_of
from spaniel.reading.hygiene import one_line
from spaniel.reading.json import read_json
from spaniel.reading.json_feed import json_feed
from spaniel.reading.markdown import AT_LEAST, Written
from spaniel.reading.steps import Steps
from spaniel.reading.whitespace import shortened
from spaniel.reading.xml import read_xml

LONGEST_TEXT = 1 << 16  # characters of an entry's HTML that are looked at
LONGEST_DATE = 100  # characters
LONGEST = 16 << 10  # bytes of Markdown that an entry may take
HEADING = re.compile(r"<(/?)h[12](?=[\s/>])", re.IGNORECASE)  # of an entry: they stand below its title
TAG = re.compile(r"</?[a-zA-Z][^<>]*+>")
NAMED = re.compile(r"[^()]*\(([^()]+)\)")  # how RSS writes an author: mail@example.org (Name)
ROOT_TAG = re.compile(r"<(?P<name>rss|feed)(?=[\s/>])(?P<rest>[^<>]*+)>", re.IGNORECASE)
VERSION = re.compile(r"\sversion\s*=\s*(?:\"[^\"]*\"|'[^']*')")
NAMESPACE = re.compile(r"\sxmlns\s*=\s*(?:\"[^\"]*\"|'[^']*')")
ATOM = "http://www.w3.org/2005/Atom"


def read_feed(body: bytes | str, url: str | None, charset: str | None) -> Document:
    text = (body if isinstance(body, str) else decode_xml(body, charset)).lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        document = read_json(text, url, None)
        feed = json_feed(document.data) if document.data is not None else None
        return document if feed is None else written(feed, url, len(body))
    cut, part = within_budget(text)
    feed = xml_feed(part)
    if feed is None:
        return read_xml(text, url, None)
    document = written(feed, url, len(body))
    return document.noted(READING_CUT) if cut else document


def within_budget(text: str) -> tuple[bool, str]:
    """As much of a feed as may become a tree; what ends early is read as far as it goes."""
    most = TAGS + len(text) // BYTES_FOR_A_TAG
    if text.count("<") <= most:
        return False, text
    return True, text[: -len(text.split("<", most + 1)[-1]) - 1]


def xml_feed(text: str) -> Feed | None:
    from turbohtml.extract import feed

    found = feed(ROOT_TAG.sub(_modern, text, count=1))
    if found is None:
        return None
    entries = (
        Entry(e.title or "", e.link or "", e.published or e.updated or "", e.author or "", _body(e.content, e.summary))
        for e in found.entries
    )
    return Feed(found.title or "", found.link or "", found.description or "", tuple(entries))


def _body(content: str | bytes | None, summary: str | None) -> str:
    return content if isinstance(content, str) and content else summary or ""


def _modern(root: re.Match[str]) -> str:
    """RSS before 2.0 and Atom before 1.0 differ in nothing that is read here, but their readers ask for the version."""
    if root["name"].lower() == "rss":
        return f'<rss version="2.0"{VERSION.sub("", root["rest"])}>'
    return f'<feed xmlns="{ATOM}"{NAMESPACE.sub("", root["rest"])}>'


def written(feed: Feed, url: str | None, size: int) -> Document:
    """A feed as Markdown: no more of it than a page of its size may become."""
    most = 4 * size + AT_LEAST
    title, steps = words(feed.title), Steps()
    base = _base(feed.link, url)
    parts = [markdown_of(f"<h1>{escape(title or '')}</h1><p>{escape(words(feed.description) or '')}</p>", base, steps)]
    left = most - len(parts[0].markdown.encode())
    cut = len(feed.entries) > ENTRIES
    for entry in filter(_says_something, feed.entries[:ENTRIES]):
        part = _entry(entry, base, steps)
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
        metadata=Metadata(title=title, description=words(feed.description)),
        hygiene=hygiene,
        notes=(READING_CUT,) if cut or any(part.cut for part in parts) else (),
        data=feed.data,
    ).with_failures(steps.failures)


def _base(link: str, url: str | None) -> str | None:
    return link if link.startswith(("https://", "http://")) else url


def _says_something(entry: Entry) -> bool:
    return bool(entry.title or entry.link or entry.text)


def _entry(entry: Entry, base: str | None, steps: Steps) -> Written:
    """A heading that is a link, a line with day and author, and the text."""
    link = entry.link.strip()
    title = words(entry.title) or link or "…"
    heading = f'<a href="{escape(link)}">{escape(title)}</a>' if link else escape(title)
    about = " · ".join(filter(None, (_day(entry.date), _person(entry.author))))
    text = entry.text[:LONGEST_TEXT]
    body = HEADING.sub(r"<\1h3", text) if TAG.search(text) else f"<p>{escape(unescape(text))}</p>"
    part = markdown_of(f"<h2>{heading}</h2><p>{escape(about)}</p><div>{body}</div>", base, steps)
    short = shortened(part.markdown, LONGEST)
    return part._replace(markdown=short, cut=part.cut or short is not part.markdown or len(entry.text) > LONGEST_TEXT)


def _day(date: str) -> str:
    return day_of(date[:LONGEST_DATE]) or one_line(date[:LONGEST_DATE]) or ""


def _person(author: str) -> str | None:
    found = NAMED.fullmatch(author)
    return one_line(found[1] if found else author)


def words(text: str) -> str | None:
    """A title, of which nobody knows whether it is text or HTML, as text on one line."""
    bare = TAG.sub("", text[:LONGEST_TEXT])
    return one_line(TAG.sub("", unescape(bare)) if "&" in bare else bare)

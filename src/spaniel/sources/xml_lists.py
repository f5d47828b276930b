"""Sitemaps (urlset and index), RSS and Atom, scanned as a stream: memory stays flat however long they are.

expat reads on without a tree. What makes XML dangerous is refused: entities of its own (billion laughs, external
files), nesting without end, a tag or comment without end, names without end. expat 2.5 reads an unfinished tag again
with each piece, which the limit on its length keeps linear.

Broken XML is searched for URLs and dates, in flat memory too.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING
from xml.parsers import expat

from spaniel.sources.rows import ChildSitemap, SourceRow
from spaniel.sources.streams import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from spaniel.sources.rows import ListOptions, Report

Entry = dict[str, str]

PIECE = 1 << 16
MOST_BYTES = 50 << 20  # of a sitemap, decoded (sitemaps.org)
MOST_URLS = 50_000  # of a sitemap, likewise
DEEPEST = 64
LONGEST_TAG = 1 << 20  # bytes without an event
MOST_NAMES = 1000  # of elements and attributes
LONGEST_TEXT = 1 << 14  # characters of a URL or a date that are gathered

ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "RDF": "item", "feed": "entry"}
WANTED = {  # of an entry: elements whose text is taken
    "urlset": ("loc", "lastmod"),
    "sitemapindex": ("loc", "lastmod"),
    "rss": ("link", "guid", "pubDate", "title"),
    "RDF": ("link", "dc:date", "title"),
    "feed": ("link", "id", "updated", "title"),
}
COLUMNS = {"lastmod": "lastmod", "pubDate": "published", "date": "published", "updated": "updated", "title": "title"}
_ROOT = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex|rss|RDF|feed)\b")
_RECODED = re.compile(rb"<\?xml[^>]{0,200}encoding=.utf-?(?:16|32)", re.IGNORECASE)  # said in bytes that are neither

LONGEST_PART = 1 << 14  # bytes of a tag with its text; what is longer is no address
_LINK = rb"""<link\b[^<>]{0,2000}?\bhref\s*=\s*["'](?P<href>[^"'<>]{1,8192})["'][^<>]{0,2000}>"""
_TEXT = rb"<(?P<name>loc|lastmod|link|pubDate|updated)>\s*(?:<!\[CDATA\[)?(?P<text>[^<\]]{1,8192})"
_BEGIN = rb"<(?P<entry>url|sitemap|item|entry)[ \t\r\n>]"
_PART = re.compile(b"|".join((_BEGIN, _TEXT, _LINK)))
_REL = re.compile(rb"""\brel\s*=\s*["'](?!alternate["'])""")


class XmlRefused(Exception):  # noqa: N818  it is no error of ours
    """XML that is not read any further, and why."""


def read_xml(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow | ChildSitemap]:
    """Pages, or the sitemaps of an index. Broken XML is read as far as what it means is plain."""
    scan = _Scan()
    count = 0
    try:
        for entry in _entries(stream, scan, report):
            if (made := _made(entry, scan.root, count + 1)) is None:
                continue
            count += 1
            if count > MOST_URLS and scan.root in ("urlset", "sitemapindex"):
                limit = f"a sitemap may have {MOST_URLS:,} URLs, and this one has more"
                report("", f"{limit}; the rest was left out. Split it, or write a plain list")
                return
            yield made
    except XmlRefused as refused:
        report("", str(refused))


def _entries(stream: BinaryIO, scan: _Scan, report: Report) -> Iterator[Entry]:
    read = 0
    while piece := stream.read(PIECE):
        read += len(piece)
        if read > MOST_BYTES:
            raise XmlRefused(
                f"has more than {MOST_BYTES >> 20} MB, the most that a sitemap may have; the rest was left out"
            )
        try:
            yield from scan.feed(piece)
        except XmlRefused:
            yield from scan.finished()
            raise
        except (expat.ExpatError, ValueError, LookupError) as error:  # the others: encodings that expat does not know
            yield from scan.finished()
            report(scan.place, f"is broken XML ({error}); read as well as it can be")
            yield from _scan_broken(scan.unread(), stream, scan.root_or_guess(), MOST_BYTES - read)
            return
    whole = scan.end()
    yield from scan.finished()
    if not whole:
        report("", "breaks off before its end; what was whole was read")


def _made(entry: Entry, root: str, number: int) -> SourceRow | ChildSitemap | None:
    name = entry.get("guid") or entry.get("id") or ""  # a name of an entry may be its address too
    url = (entry.get("loc") or entry.get("link") or (name if name.lstrip().startswith("http") else "")).strip()
    if not url:
        return None
    size = sum(map(len, entry.values()))
    if root == "sitemapindex":
        return ChildSitemap(url, size)
    columns: dict[str, object] = {
        COLUMNS[name]: text for name in COLUMNS if name in entry and (text := entry[name].strip())
    }
    return SourceRow(url, columns, size, f"entry {number}")


class _Scan:
    """expat's events, gathered into entries. Names are those of the root's own prefix; other prefixes are foreign."""

    def __init__(self) -> None:
        self.root = ""
        self._entry_name = ""  # with the prefix, as expat tells it
        self._wanted: dict[str, str] = {}  # likewise, to the names of parts
        self._depth = self._entry_depth = 0
        self._entry: Entry | None = None
        self._part = ""
        self._text: list[str] | None = None
        self._gathered = 0
        self._done: list[Entry] = []
        self._fed = 0
        self._begun_at = 0  # the byte at which the entry begins that is not whole yet
        self._window = bytearray()  # what was fed since then
        self._parser = self._new_parser(None)

    def _new_parser(self, encoding: str | None) -> expat.XMLParserType:
        parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse_entities
        return parser

    def feed(self, piece: bytes) -> list[Entry]:
        if not self._fed:
            piece = piece.lstrip(b" \t\r\n")  # before `<?xml`: wrong, frequent, harmless
            if _RECODED.match(piece):
                self._parser = self._new_parser("utf-8")
        self._fed += len(piece)
        self._window += piece
        self._parser.Parse(piece, False)
        if self._fed - max(self._parser.CurrentByteIndex, 0) > LONGEST_TAG:
            raise XmlRefused(f"has a tag or comment of more than {LONGEST_TAG >> 20} MB; nothing after it was read")
        if len(self._parser.intern) > MOST_NAMES:
            raise XmlRefused(f"has more than {MOST_NAMES} different names of elements; nothing after them was read")
        self._forget_what_is_read()
        return self.finished()

    def end(self) -> bool:
        """Whether the end is one."""
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            if not self.root:
                raise XmlRefused("is not XML that can be read") from None
            return False
        return True

    def finished(self) -> list[Entry]:
        done, self._done = self._done, []
        return done

    @property
    def place(self) -> str:
        return f"line {self._parser.CurrentLineNumber}"

    def root_or_guess(self) -> str:
        if not self.root:
            found = _ROOT.search(self._window)
            if found is None:
                raise XmlRefused("is not XML that can be read")
            self.root = found[1].decode()
        return self.root

    def unread(self) -> bytes:
        """From the entry on that is not whole yet."""
        return bytes(self._window[self._begun_at - (self._fed - len(self._window)) :])

    def _forget_what_is_read(self) -> None:
        if self._entry is None:
            self._begun_at = max(self._parser.CurrentByteIndex, 0)
        del self._window[: self._begun_at - (self._fed - len(self._window))]
        if len(self._window) > LONGEST_TAG:
            raise XmlRefused(f"has an entry of more than {LONGEST_TAG >> 20} MB; nothing after it was read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._entry is not None:
            if self._depth == self._entry_depth + 1 and name in self._wanted:
                self._begin_part(self._wanted[name], attributes)
        elif name == self._entry_name:
            self._entry, self._entry_depth = {}, self._depth
            self._begun_at = self._parser.CurrentByteIndex
        elif self._depth == 1:
            self._begin(name)
        if self._depth > DEEPEST:
            raise XmlRefused(f"has elements nested more than {DEEPEST} deep; nothing after them was read")

    def _begin(self, name: str) -> None:
        prefix, colon, root = name.rpartition(":")
        if root not in ENTRIES:
            raise XmlRefused(f"is neither a sitemap nor a feed: it begins with <{name}>")
        own = "" if root == "RDF" else prefix + colon  # RSS 1.0 is written inside of another vocabulary
        self.root, self._entry_name = root, own + ENTRIES[root]
        self._wanted = {own + part: part.removeprefix("dc:") for part in WANTED[root]}

    def _begin_part(self, part: str, attributes: dict[str, str]) -> None:
        if part == "link" and "href" in attributes:  # Atom's
            if self._entry is not None and attributes.get("rel", "alternate") == "alternate":
                self._entry.setdefault("link", attributes["href"])
        elif not (part == "guid" and attributes.get("isPermaLink", "true") == "false"):
            self._part, self._text, self._gathered = part, [], 0

    def _characters(self, text: str) -> None:
        if self._text is not None and self._gathered < LONGEST_TEXT:
            self._text.append(text)
            self._gathered += len(text)

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if self._entry is None:
            return
        if self._depth < self._entry_depth:
            self._done.append(self._entry)
            self._entry = None
            self._begun_at = self._parser.CurrentByteIndex
        elif self._text is not None and self._depth == self._entry_depth:
            self._entry.setdefault(self._part, "".join(self._text))
            self._text = None


def _refuse_entities(*_: object) -> None:
    raise XmlRefused("declares entities of its own, which is how XML is made to explode; it was not read")


def _scan_broken(begun: bytes, stream: BinaryIO, root: str, most: int) -> Iterator[Entry]:
    """Entries from here on; `root` is empty where the XML broke before anything was known."""
    entry: Entry = {}
    for part in _parts(begun, stream, most):
        if part["entry"]:
            if entry:
                yield entry
            entry = {}
        elif part["href"]:
            if root in ("feed", "") and not _REL.search(part[0]):
                entry.setdefault("link", _text(part["href"]))
        else:
            entry.setdefault(part["name"].decode(), _text(part["text"]))
    if entry:
        yield entry


def _parts(begun: bytes, stream: BinaryIO, most: int) -> Iterator[re.Match[bytes]]:
    """What is found, piece by piece; the end of a piece is looked at again with the next, since it may be cut there."""
    held, more = begun, True
    while more:
        piece = stream.read(PIECE) if most > 0 else b""
        most -= len(piece)
        more = bool(piece)
        held += piece
        sure = len(held) - LONGEST_PART if more else len(held)
        at = 0
        while (found := _PART.search(held, at)) and found.start() < sure:
            at = found.end()
            yield found
        held = held[max(at, sure, 0) :]


def _text(raw: bytes) -> str:
    return unescape(decoded(raw)).strip()

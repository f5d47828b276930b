"""Sitemaps (urlset and index), RSS and Atom, parsed as a stream with constant memory.

expat builds no tree. Dangerous XML is refused: entity declarations (billion laughs, external files) and unlimited
nesting, tags, comments or element names. expat 2.5 parses an unfinished tag again with each piece; the limit on its
length keeps that linear.

Broken XML is searched for URLs and dates with regular expressions, also with constant memory.
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
MAX_BYTES = 50 << 20  # of a sitemap, decoded (sitemaps.org)
MAX_URLS = 50_000  # of a sitemap (sitemaps.org)
DEEPEST = 64  # levels of nesting (chosen)
LONGEST_TAG = 1 << 20  # bytes without a parser event (chosen)
MAX_NAMES = 1000  # of elements and attributes (chosen)
LONGEST_TEXT = 1 << 14  # characters of a URL, a date or a title (chosen)

ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "RDF": "item", "feed": "entry"}
WANTED = {  # elements of an entry whose text is read
    "urlset": ("loc", "lastmod"),
    "sitemapindex": ("loc", "lastmod"),
    "rss": ("link", "guid", "pubDate", "title"),
    "RDF": ("link", "dc:date", "title"),
    "feed": ("link", "id", "updated", "title"),
}
COLUMNS = {"lastmod": "lastmod", "pubDate": "published", "date": "published", "updated": "updated", "title": "title"}
_ROOT = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex|rss|RDF|feed)\b")
_RECODED = re.compile(rb"<\?xml[^>]{0,200}encoding=.utf-?(?:16|32)", re.IGNORECASE)  # but the declaration is ASCII

LONGEST_PART = 1 << 14  # bytes of a tag with its text (chosen): far longer than any usable URL
_LINK = rb"""<link\b[^<>]{0,2000}?\bhref\s*=\s*["'](?P<href>[^"'<>]{1,8192})["'][^<>]{0,2000}>"""
_TEXT = rb"<(?P<name>loc|lastmod|link|pubDate|updated)>\s*(?:<!\[CDATA\[)?(?P<text>[^<\]]{1,8192})"
_BEGIN = rb"<(?P<entry>url|sitemap|item|entry)[ \t\r\n>]"
_PART = re.compile(b"|".join((_BEGIN, _TEXT, _LINK)))
_REL = re.compile(rb"""\brel\s*=\s*["'](?!alternate["'])""")


class XmlRefused(Exception):  # noqa: N818  not an error in the program
    """The rest of the XML is not read; the message says why."""


def read_xml(stream: BinaryIO, _options: ListOptions, report: Report) -> Iterator[SourceRow | ChildSitemap]:
    """Yield pages, or the sitemaps of an index. Broken XML is read as far as possible."""
    scan = _Scan()
    count = 0
    try:
        for entry in _entries(stream, scan, report):
            if (made := _made(entry, scan.root, count + 1)) is None:
                continue
            count += 1
            if count > MAX_URLS and scan.root in ("urlset", "sitemapindex"):
                limit = f"a sitemap may have {MAX_URLS:,} URLs, and this one has more"
                report("", f"{limit}; the rest was left out. Split it, or write a plain list")
                return
            yield made
    except XmlRefused as refused:
        report("", str(refused))


def _entries(stream: BinaryIO, scan: _Scan, report: Report) -> Iterator[Entry]:
    read = 0
    while piece := stream.read(PIECE):
        read += len(piece)
        if read > MAX_BYTES:
            raise XmlRefused(
                f"has more than {MAX_BYTES >> 20} MB, the most that a sitemap may have; the rest was left out"
            )
        try:
            yield from scan.feed(piece)
        except XmlRefused:
            yield from scan.finished()
            raise
        except (expat.ExpatError, ValueError, LookupError) as error:  # ValueError, LookupError: unsupported encodings
            yield from scan.finished()
            report(scan.place, f"is broken XML ({error}); read as well as it can be")
            yield from _scan_broken(scan.unread(), stream, scan.root_or_guess(), MAX_BYTES - read)
            return
    whole = scan.end()
    yield from scan.finished()
    if not whole:
        report("", "breaks off before its end; what was whole was read")


def _made(entry: Entry, root: str, number: int) -> SourceRow | ChildSitemap | None:
    name = entry.get("guid") or entry.get("id") or ""  # the id of an entry is often its URL
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
    """Collects entries from expat's events. Only elements with the prefix of the root count."""

    def __init__(self) -> None:
        self.root = ""
        self._entry_name = ""  # with the prefix, as reported by expat
        self._wanted: dict[str, str] = {}  # names with the prefix -> names of parts
        self._depth = self._entry_depth = 0
        self._entry: Entry | None = None
        self._part = ""
        self._text: list[str] | None = None
        self._gathered = 0
        self._done: list[Entry] = []
        self._fed = 0
        self._begun_at = 0  # byte offset of the unfinished entry
        self._window = bytearray()  # the bytes from there on
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
            piece = piece.lstrip(b" \t\r\n")  # blanks before `<?xml` are wrong, but frequent and harmless
            if _RECODED.match(piece):
                self._parser = self._new_parser("utf-8")
        self._fed += len(piece)
        self._window += piece
        self._parser.Parse(piece, False)
        if self._fed - max(self._parser.CurrentByteIndex, 0) > LONGEST_TAG:
            raise XmlRefused(f"has a tag or comment of more than {LONGEST_TAG >> 20} MB; nothing after it was read")
        if len(self._parser.intern) > MAX_NAMES:
            raise XmlRefused(f"has more than {MAX_NAMES} different names of elements; nothing after them was read")
        self._drop_finished()
        return self.finished()

    def end(self) -> bool:
        """Finish parsing; return whether the document is complete."""
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
        """Return the bytes from the unfinished entry on."""
        return bytes(self._window[self._begun_at - (self._fed - len(self._window)) :])

    def _drop_finished(self) -> None:
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
        own = "" if root == "RDF" else prefix + colon  # RSS 1.0: the root has another prefix than the entries
        self.root, self._entry_name = root, own + ENTRIES[root]
        self._wanted = {own + part: part.removeprefix("dc:") for part in WANTED[root]}

    def _begin_part(self, part: str, attributes: dict[str, str]) -> None:
        if part == "link" and "href" in attributes:  # Atom
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
    """Yield entries found by regular expressions. `root` is empty if the XML broke before its root element."""
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
    """Yield matches piece by piece. The end of a piece is searched again with the next, because a tag may be cut."""
    window, more = begun, True
    while more:
        piece = stream.read(PIECE) if most > 0 else b""
        most -= len(piece)
        more = bool(piece)
        window += piece
        complete = len(window) - LONGEST_PART if more else len(window)
        at = 0
        while (found := _PART.search(window, at)) and found.start() < complete:
            at = found.end()
            yield found
        window = window[max(at, complete, 0) :]


def _text(raw: bytes) -> str:
    return unescape(decoded(raw)).strip()

"""Kinds of content in one table: types, magic numbers, reader, size limit (FR-WF-10f to 10h, D2-18, D2-43).

To add a kind, add one row here and one module that reads it. A profile lists the kinds it accepts; other content is
refused by the same function everywhere.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.reading.text.charset import whole_characters

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    Body = TypeVar("Body", bytes, str, bytes | str)


SNIFF_BYTES = 512  # bytes at the beginning that are examined (chosen)
MAX_SKIPPED = 64 << 10  # bytes of white space and comments that are skipped before them (chosen)
MAX_JUNK = 1024  # bytes of junk that are allowed before a magic number, or after the end
CUT, REFUSE = "cut", "refuse"


class ContentKind(NamedTuple):
    """One kind of content."""

    name: str
    types: tuple[str, ...]  # the content types that are read as this kind
    reader: str  # module:function, loaded when the first such page is read
    magic: tuple[bytes, ...] = ()  # beginnings that decide regardless of the header
    starts: tuple[bytes, ...] = ()  # beginnings, in lower case, that decide if there is no type
    cap: int = 32 << 20  # bytes that are read
    over: str = CUT  # for a larger body: CUT, with a note, or REFUSE
    late: bytes = b""  # an end that confirms a magic number after junk
    apart: bool = False  # whether it is read in a separate process, because its parser may crash
    browser: bool = False  # whether the browser may load a document of these types
    suffix: str = ""  # of other content types that are read as this kind: +json
    is_text: bool = False  # whether its beginning is useful alone: a profile may cut it (FG-26)
    proof: str = ""  # module:function that decides whether bytes without a type are this kind
    costly: bytes = b"<"  # bytes that take longer to read than others
    cost: int = 1  # time for one of them, in units of an HTML tag


TABLE: tuple[ContentKind, ...] = (
    ContentKind(
        "html",
        ("text/html", "application/xhtml+xml"),
        "spaniel.reading.formats.html:read_html",
        starts=(b"<!doctype", b"<html"),
        browser=True,
        is_text=True,
    ),
    ContentKind(
        "json",
        (
            "application/json", "text/json", "application/x-ndjson", "application/ndjson", "application/jsonl",
            "application/x-jsonlines", "application/json-lines",
        ),
        "spaniel.reading.formats.json:read_json",
        suffix="+json",
        proof="spaniel.reading.formats.json:is_json",
    ),
    ContentKind(
        "markdown",
        ("text/markdown", "text/x-markdown"),
        "spaniel.reading.formats.markdown:read_markdown",
        is_text=True,
        costly=b"<[]`\\\n",
    ),
    ContentKind(
        "feed",
        ("application/rss+xml", "application/atom+xml", "application/feed+json"),
        "spaniel.reading.formats.feed:read_feed",
        is_text=True,
        costly=b"<&{",
        cost=8,  # a tag may be an entry
    ),
    ContentKind(
        "xml",
        ("application/xml", "text/xml"),
        "spaniel.reading.formats.xml:read_xml",
        suffix="+xml",
        is_text=True,
    ),
    ContentKind(
        "csv",
        ("text/csv", "application/csv", "text/x-csv", "text/tab-separated-values"),
        "spaniel.reading.formats.csv:read_csv",
        is_text=True,
        costly=b'\n"|`*[]_\\<&',
    ),
    ContentKind(
        "pdf",
        ("application/pdf", "application/x-pdf"),
        "spaniel.reading.formats.pdf:read_pdf",
        magic=(b"%PDF-",),
        late=b"%%EOF",
        cap=128 << 20,
        over=REFUSE,
        apart=True,
    ),
    # The last row: everything else that is not binary (FR-WF-10h).
    ContentKind("text", ("text/plain",), "spaniel.reading.formats.plain:read_text", browser=True, is_text=True),
)  # fmt: skip
BY_NAME: dict[str, ContentKind] = {row.name: row for row in TABLE}
BY_TYPE: dict[str, ContentKind] = {essence: row for row in TABLE for essence in row.types}
NAMES = tuple(BY_NAME)
DEFAULT_KINDS = ("html", "text")  # for a profile without a list of kinds
SVG = "svg"  # an image, although it is XML
JSON_FEED = b"jsonfeed.org/version/"

# Beginnings of binary formats without a reader.
BINARY = (
    b"%PDF-", b"\x7fELF", b"MZ", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!",
    b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"OggS", b"ID3", b"fLaC", b"\x00\x00\x01\x00", b"wOFF", b"wOF2",
    b"\xca\xfe\xba\xbe", b"\xd0\xcf\x11\xe0", b"{\\rtf", b"SQLite format 3", b"\x28\xb5\x2f\xfd", b"%!PS",
)  # fmt: skip
TEXTUAL = tuple(
    magic for magic in BINARY if magic.isascii() and magic.decode().isprintable()
)  # a text may begin like these
BETWEEN_COMMAS = re.compile(r'((?:[^,"]|"(?:[^"\\]|\\.)*"?)+)')
UTF16 = (b"\xff\xfe", b"\xfe\xff")
CONTROL_BYTES = 64 << 10  # bytes that are searched for control characters
CONTROLS = bytes(
    {*range(1, 7), *range(14, 27), *range(28, 32), 127}
)  # that are not in text; without NUL, white space, ESC
MAX_CONTROLS = 0.01  # of the bytes; compressed data has 10 %


class DetectedKind(NamedTuple):
    """The kind of some bytes."""

    reader: str  # the name of the kind
    charset: str | None  # as the header declares it


def kind_of(content_type: str | None, body: bytes, kinds: Iterable[str] | None = None) -> DetectedKind:
    """Return the kind of these bytes, one of `kinds` (default: all), or raise a refusal.

    What the header calls text is text, unless it is some binary format for sure (D2-43).
    """
    essence, charset = parse_type(content_type)
    named = None if kinds is None else frozenset(kinds)
    row = _by_magic(essence, body, named) or (_by_type(essence, body, named) if essence else _by_content(body, named))
    if row is None or (named is not None and row.name not in named):
        what = essence or f"none ({'a drawing' if row is None else row.name})"
        raise _unsupported(what, _kind_if_all_wanted(content_type, body) if named else None)
    if not row.magic and is_binary(body, declared=_is_text(essence)):
        raise _unsupported(
            f"{essence or 'none'} (binary data)", _kind_if_all_wanted(content_type, body) if named else None
        )
    return DetectedKind(row.name, charset)


def _kind_if_all_wanted(content_type: str | None, body: bytes) -> str | None:
    """Return the kind of these bytes for a profile that accepts every kind."""
    try:
        return kind_of(content_type, body).reader
    except SpanielError:
        return None


def may_be_cut(content_type: str | None, start: bytes) -> bool:
    """Whether the beginning of such a body is useful alone (FG-26): not for PDF, JSON, images."""
    essence, _ = parse_type(content_type)
    if start[:SNIFF_BYTES].lstrip().startswith(tuple(magic for row in TABLE for magic in row.magic)):
        return False  # too few bytes to confirm that it is text
    row = _by_magic(essence, start, None) or (_kind_of_type(essence) if essence else _by_content(start, None))
    begins_as_data = _text_start(start).startswith((b"{", b"[")) and (not essence or row is BY_NAME["feed"])
    return row is not None and row.is_text and not begins_as_data and not is_binary(start, declared=_is_text(essence))


def _unsupported(what: str, kind: str | None = None) -> SpanielError:
    """Build the refusal; `kind` is the kind that another profile may accept."""
    return SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type=what, kind=kind)


def loadable_types(kinds: Iterable[str] | None = None) -> frozenset[str]:
    """Return the content types that the browser may load for a profile with these kinds."""
    wanted = TABLE if kinds is None else [row for row in TABLE if row.name in frozenset(kinds)]
    return frozenset(essence for row in wanted if row.browser for essence in row.types)


def needs_own_process(kind: DetectedKind) -> bool:
    """Whether this kind is read in a separate process."""
    return BY_NAME[kind.reader].apart


def within_cap(row: ContentKind, body: Body) -> tuple[Body, bool]:
    """Return the part of a body that is read, and whether it was cut."""
    if len(body) <= row.cap:
        return body, False
    if row.over == REFUSE:
        raise SpanielError(Code.RESPONSE_TOO_LARGE, size=len(body), max_bytes=row.cap)
    return body[: row.cap], True


def parse_type(content_type: str | None) -> tuple[str, str | None]:
    """`Text/HTML; charset="utf-8"` -> text/html, utf-8. The same type sent twice counts once (D2-43)."""
    essence, charset = _parse_one(content_type or "")
    if content_type and "," in content_type:
        every = [_parse_one(one) for one in BETWEEN_COMMAS.findall(content_type) if one.strip()]
        if len({name for name, _ in every}) == 1:  # as in the Fetch standard the last charset counts
            return every[0][0], next((label for _, label in reversed(every) if label), None)
    return essence, charset


def _parse_one(content_type: str) -> tuple[str, str | None]:
    essence, *parameters = content_type.split(";")
    charset = None
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if charset is None and name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").strip() or None
    return essence.strip().lower(), charset


def _by_magic(essence: str, body: bytes, kinds: frozenset[str] | None) -> ContentKind | None:
    """Return the accepted kind whose magic number the body begins with, regardless of its type."""
    head = body[:SNIFF_BYTES].lstrip()
    wanted = [row for row in TABLE if row.magic and (kinds is None or row.name in kinds)]
    begun = next((row for row in wanted if head.startswith(row.magic)), None)
    if begun is not None and _is_text(essence) and not (_has_controls(body) or _ends_like(begun, body)):
        return None
    if begun is not None or essence.startswith("text/") or essence in BY_TYPE:
        return begun
    return next((row for row in wanted if has_late_magic(row, body)), None)


def _ends_like(row: ContentKind, body: bytes) -> bool:
    """Whether a body has the end of its kind: a text that begins and ends like a PDF is a PDF."""
    return bool(row.late) and row.late in body[-MAX_JUNK:]


def has_late_magic(row: ContentKind, body: bytes) -> bool:
    """Whether a magic number follows some junk, as PDF programs accept it; then the end is required, too."""
    head = body[: MAX_JUNK + SNIFF_BYTES]
    return any(0 < head.find(magic) <= MAX_JUNK for magic in row.magic) and _ends_like(row, body)


def _kind_of_type(essence: str) -> ContentKind | None:
    """Return the kind of a content type; None for images, although SVG is XML."""
    if (row := BY_TYPE.get(essence)) is not None or essence.startswith("image/"):
        return row
    return next((row for row in TABLE if row.suffix and essence.endswith(row.suffix)), None)


def _by_type(essence: str, body: bytes, named: frozenset[str] | None) -> ContentKind | None:
    """Return the kind of a type, refined by its bytes: XML may be a feed or a page, JSON may be a feed."""
    row = _kind_of_type(essence)
    if row is None:
        return None
    if row.name == "xml" or (essence.endswith("xml") and row.name == "feed"):
        return _xml_kind(row, body, named)
    if row.name == "json" and JSON_FEED in body[:SNIFF_BYTES] and _is_wanted("feed", named):
        return BY_NAME["feed"]
    if row.name == "feed" and not _is_wanted("feed", named):
        return BY_NAME["json"]
    return row


def _xml_kind(row: ContentKind, body: bytes, named: frozenset[str] | None) -> ContentKind | None:
    """Return feed or HTML for XML that is one and if the profile accepts it, else XML."""
    from spaniel.reading.formats.xml import FEEDS, MAX_PROLOG, xml_root

    root = xml_root(_text_start(body, 2 * MAX_PROLOG).decode("latin-1")).name
    if root == SVG:
        return None
    if (root in FEEDS or row.name == "feed") and _is_wanted("feed", named):
        return BY_NAME["feed"]
    if root == "html" and _is_wanted("xml", named) and _is_wanted("html", named):
        return BY_NAME["html"]
    return BY_NAME["xml"]


def _is_wanted(name: str, named: frozenset[str] | None) -> bool:
    return named is None or name in named


def _by_content(body: bytes, named: frozenset[str] | None) -> ContentKind | None:
    """Return the kind of a body without a type (FR-WF-10h); none for SVG, also after an XML declaration.

    Kinds beyond HTML and text are looked for only where a profile names them.
    """
    start = _text_start(body)
    root = _text_start(start.partition(b"?>")[2]) if start.startswith(b"<?xml") else start
    if root.startswith(b"<svg"):
        return None
    row = next((row for row in TABLE if start.startswith(row.starts)), TABLE[-1])
    if named is None or row is not TABLE[-1]:
        return row
    if start.startswith((b"<?xml", b"<rss", b"<feed", b"<rdf:rdf")) and not named.isdisjoint(("xml", "feed")):
        found = _xml_kind(BY_NAME["xml"], body, named)
        return found if found is None or found.name in named else row
    return next((row for row in TABLE if row.proof and row.name in named and _proves_kind(row, start, body)), row)


def _proves_kind(row: ContentKind, start: bytes, body: bytes) -> bool:
    """Whether bytes that begin like structured data are that to the end."""
    module, _, name = row.proof.partition(":")
    return start.startswith((b"{", b"[")) and bool(getattr(import_module(module), name)(body))


def _text_start(body: bytes, looked_at: int = SNIFF_BYTES) -> bytes:
    """Return the bytes after a byte order mark, white space and comments, in lower case (D2-48)."""
    head = body[: MAX_SKIPPED + looked_at]
    if head.startswith(UTF16):
        head = head[2:].replace(b"\0", b"")
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    place = 0
    while head.startswith(b"<!--", place):
        end = head.find(b"-->", place + 2)  # `<!-->` is a comment, too
        if end < 0:
            return b""
        place = end + 3
        while place < len(head) and head[place] in b" \t\n\r\f\v":
            place += 1
    return head[place : place + looked_at].lower()


def is_binary(body: bytes, *, declared: bool) -> bool:
    """Whether bytes are binary: by a magic number, or by a NUL without a UTF-16 byte order mark.

    Bytes that are declared to be text may hold a NUL, or begin with a word that happens to be a magic number: it takes
    both (D2-43).
    """
    head = body[:SNIFF_BYTES]
    if head.startswith(UTF16):
        return False
    start = head.lstrip()
    if not declared:
        return start.startswith(BINARY) or b"\0" in head
    for row in TABLE:
        if row.magic and start.startswith(row.magic):
            return _has_controls(body) or _ends_like(row, body)
    if start.startswith(TEXTUAL):
        return _has_controls(body)
    return start.startswith(BINARY)


def _is_text(essence: str) -> bool:
    """Whether the declared type is plain text."""
    return essence.startswith("text/") or essence == "application/xhtml+xml"


def _has_controls(body: bytes) -> bool:
    """Whether there is a NUL, or many control characters."""
    part = body[:CONTROL_BYTES]
    return b"\0" in part or len(part) - len(part.translate(None, CONTROLS)) > MAX_CONTROLS * len(part)


def text_part(body: bytes, content_type: str | None, charset: str | None, most: int) -> bytes:
    """Return the first `most` bytes of a text (0: all); the body itself if it is not longer."""
    return whole_characters(body, most, charset) if 0 < most < len(body) and may_be_cut(content_type, body) else body

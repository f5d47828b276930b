"""Kinds of content in one table: types, the bytes that betray them, reader, cap (FR-WF-10f to 10h, D2-18).

A kind is added by one row here and one module that reads it. A profile names the kinds it wants; what is not named is
refused, by the same function everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from spaniel.errors import Code, SpanielError

SNIFFED = 512  # bytes of the beginning that are looked at
LATE = 1024  # bytes of junk that may stand before a magic number, or after the end
CUT, REFUSE = "cut", "refuse"


class Row(NamedTuple):
    """One kind of content."""

    name: str
    types: tuple[str, ...]  # the content types that are read as this kind
    reader: str  # module:function, loaded when the first such page is read
    magic: tuple[bytes, ...] = ()  # a beginning that decides whatever the header says
    starts: tuple[bytes, ...] = ()  # a beginning, in lower case, that decides where no type is given
    cap: int = 32 << 20  # bytes that are read
    over: str = CUT  # what happens to a body beyond the cap: CUT, with a note, or REFUSE
    late: bytes = b""  # an end that proves a magic number which stands after junk
    apart: bool = False  # whether only a process of its own may read it: its parser may crash
    browser: bool = False  # whether the browser may load a document of these types


TABLE: tuple[Row, ...] = (
    Row(
        "html",
        ("text/html", "application/xhtml+xml"),
        "spaniel.reading.html:read_html",
        starts=(b"<!doctype", b"<html"),
        browser=True,
    ),
    Row(
        "pdf",
        ("application/pdf", "application/x-pdf"),
        "spaniel.reading.pdf:read_pdf",
        magic=(b"%PDF-",),
        late=b"%%EOF",
        cap=128 << 20,
        over=REFUSE,
        apart=True,
    ),
    # The last row: what nothing else claims and is no binary data (FR-WF-10h).
    Row("text", ("text/plain",), "spaniel.reading.plain:read_text", browser=True),
)
BY_NAME: dict[str, Row] = {row.name: row for row in TABLE}
BY_TYPE: dict[str, Row] = {essence: row for row in TABLE for essence in row.types}
NAMES = tuple(BY_NAME)

# Beginnings of what is no text and has no reader.
BINARY = (
    b"%PDF-", b"\x7fELF", b"MZ", b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!",
    b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"OggS", b"ID3", b"fLaC", b"\x00\x00\x01\x00", b"wOFF", b"wOF2",
    b"\xca\xfe\xba\xbe", b"\xd0\xcf\x11\xe0", b"{\\rtf", b"SQLite format 3", b"\x28\xb5\x2f\xfd", b"%!PS",
)  # fmt: skip
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Kind(NamedTuple):
    """What some bytes are read as."""

    reader: str  # the name of the kind
    charset: str | None  # as the header declares it


def kind_of(content_type: str | None, body: bytes, kinds: Iterable[str] | None = None) -> Kind:
    """The kind that these bytes are read as, one of `kinds` (all there are, if none are named), or a refusal.

    What the header calls text must look like text.
    """
    essence, charset = parse_type(content_type)
    kinds = None if kinds is None else frozenset(kinds)
    row = _betrayed(essence, body, kinds) or (BY_TYPE.get(essence) if essence else _sniffed(body))
    if row is None or (kinds is not None and row.name not in kinds):
        raise _refused(essence or f"none ({'a drawing' if row is None else row.name})")
    if not row.magic and is_binary(body):
        raise _refused(f"{essence or 'none'} (binary data)")
    return Kind(row.name, charset)


def _refused(what: str) -> SpanielError:
    return SpanielError(Code.UNSUPPORTED_CONTENT_TYPE, content_type=what)


def loadable_types(kinds: Iterable[str] | None = None) -> frozenset[str]:
    """The content types of documents that the browser may load for a profile that names these kinds."""
    wanted = TABLE if kinds is None else [row for row in TABLE if row.name in frozenset(kinds)]
    return frozenset(essence for row in wanted if row.browser for essence in row.types)


def is_apart(kind: Kind) -> bool:
    """Whether only a process of its own may read this kind."""
    return BY_NAME[kind.reader].apart


def fitted(row: Row, body: Body) -> tuple[Body, bool]:
    """The part of a body that is read, and whether it was cut."""
    if len(body) <= row.cap:
        return body, False
    if row.over == REFUSE:
        raise SpanielError(Code.RESPONSE_TOO_LARGE, size=len(body), max_bytes=row.cap)
    return body[: row.cap], True


def parse_type(content_type: str | None) -> tuple[str, str | None]:
    """`Text/HTML; charset="utf-8"` -> text/html, utf-8."""
    essence, *parameters = (content_type or "").split(";")
    charset = None
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if charset is None and name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").strip() or None
    return essence.strip().lower(), charset


def _betrayed(essence: str, body: bytes, kinds: frozenset[str] | None) -> Row | None:
    """The kind, among those that are wanted, whose magic number the body begins with, whatever it is called."""
    head = body[:SNIFFED].lstrip()
    wanted = [row for row in TABLE if row.magic and (kinds is None or row.name in kinds)]
    begun = next((row for row in wanted if head.startswith(row.magic)), None)
    if begun is not None or essence.startswith("text/") or essence in BY_TYPE:
        return begun
    return next((row for row in wanted if is_late(row, body)), None)


def is_late(row: Row, body: bytes) -> bool:
    """Whether a magic number follows some junk, as programs accept it; then the end must be there, too."""
    head = body[: LATE + SNIFFED]
    return bool(row.late) and any(0 < head.find(magic) <= LATE for magic in row.magic) and row.late in body[-LATE:]


def _sniffed(body: bytes) -> Row | None:
    """The kind of a body without a type (FR-WF-10h). A drawing is none, also after an XML declaration."""
    start = _without_comments(_text_start(body))
    root = _without_comments(start.partition(b"?>")[2].lstrip()) if start.startswith(b"<?xml") else start
    if root.startswith(b"<svg"):
        return None
    return next((row for row in TABLE if start.startswith(row.starts)), TABLE[-1])


def _without_comments(start: bytes) -> bytes:
    """Comments may stand before the first tag."""
    while start.startswith(b"<!--"):
        start = start.partition(b"-->")[2].lstrip()
    return start


def _text_start(body: bytes) -> bytes:
    head = body[:SNIFFED]
    if head.startswith(UTF16):
        return head.replace(b"\0", b"")[2:].lstrip().lower()
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()


def is_binary(body: bytes) -> bool:
    """Magic numbers at the beginning, or a NUL where no UTF-16 mark explains it."""
    head = body[:SNIFFED]
    if head.startswith(UTF16):
        return False
    return head.lstrip().startswith(BINARY) or b"\0" in head


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    Body = TypeVar("Body", bytes, str, bytes | str)

"""The file format of an entry: JSON (FR-WF-16c) that begins with a checksum, so that damage becomes a cache miss.

    {"checksum":"7f3a09c2","version":1,"canonical_url":…,…,"content":{…}}

The checksum comes first and has a fixed width, so it covers every byte after itself. `content` comes last: no earlier
value can contain the bytes `,"content":` (quotation marks inside a JSON string are escaped), so it is cut out unparsed,
and its reader parses it once, into the type that it needs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from zlib import crc32

import msgspec

if TYPE_CHECKING:
    from spaniel.cache.keys import CacheKey

VERSION = 1
LARGEST = 256 << 20  # bytes of an entry
LONGEST_LIFE = timedelta(days=3650)
HEAD = 32 << 10  # bytes that contain everything but the content: a URL of 8,192 characters, an ETag, some dates
LONGEST_VALIDATOR = 2048  # characters; a header may be longer, and JSON may need six bytes for one
_LEAD = b'{"checksum":"%08x"'
_LEAD_LENGTH = len(_LEAD % 0)
_CONTENT = b',"content":'

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class CacheEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A cached page. `content` is the caller's, as unparsed JSON."""

    version: int
    canonical_url: str
    rendering_method: str
    fetched_at: Moment
    expires_at: Moment
    profile: str | None = None
    overrides: str = ""
    ttl_hours: float | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    content: msgspec.Raw = msgspec.Raw()

    def fresh(self, now: datetime) -> bool:
        """An entry from the future is stale: otherwise a corrected clock would keep it for too long."""
        return self.fetched_at <= now < self.expires_at

    def is_for(self, key: CacheKey) -> bool:
        return (self.canonical_url, self.rendering_method, self.profile) == key[:3] and self.overrides == key.overrides


class Validators(NamedTuple):
    """The validators of a conditional request (FG-37)."""

    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None

    def kept(self) -> Validators:
        """Those that JSON and a list of entries can represent. A server can send anything as an ETag; an entry is
        stored without an unusable one."""
        return Validators(*(value if value is not None and _is_kept(value) else None for value in self))


def _is_kept(value: str) -> bool:
    if len(value) > LONGEST_VALIDATOR:
        return False
    return value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value)


def compose(key: CacheKey, content: object, fetched_at: datetime, ttl: timedelta, validators: Validators) -> CacheEntry:
    return CacheEntry(
        version=VERSION,
        canonical_url=key.canonical_url,
        rendering_method=key.rendering_method,
        profile=key.profile,
        overrides=key.overrides,
        content=msgspec.Raw(msgspec.json.encode(content)),
        **_dated(fetched_at, ttl, validators),
    )


def renewed(
    entry: CacheEntry, fetched_at: datetime, ttl: timedelta, validators: Validators, content: object = None
) -> CacheEntry:
    """The entry after a successful revalidation (FG-40); with new content if there is any."""
    dated = _dated(fetched_at, ttl, validators)
    if content is not None:
        dated["content"] = msgspec.Raw(msgspec.json.encode(content))
    return msgspec.structs.replace(entry, **dated)


def _dated(fetched_at: datetime, ttl: timedelta, validators: Validators) -> dict[str, Any]:
    """Times have a precision of whole seconds, which never makes an entry live longer."""
    fetched_at = fetched_at.astimezone(UTC).replace(microsecond=0)
    ttl = max(timedelta(0), min(ttl, LONGEST_LIFE))
    return {
        "fetched_at": fetched_at,
        "expires_at": (fetched_at + ttl).replace(microsecond=0),
        "ttl_hours": ttl / timedelta(hours=1),
        **validators.kept()._asdict(),
    }


def encode(entry: CacheEntry) -> bytes:
    rest = memoryview(msgspec.json.encode(entry))[1:]
    return b"".join((_LEAD % crc32(rest, crc32(b",")), b",", rest))


def head_length(raw: bytes) -> int:
    """The number of bytes before the content."""
    return raw.find(_CONTENT)


def decode(raw: bytes) -> CacheEntry:
    """The verified entry; a ValueError says what is wrong."""
    if raw[:_LEAD_LENGTH] != _LEAD % crc32(memoryview(raw)[_LEAD_LENGTH:]):
        raise ValueError("the checksum does not match: the file is damaged")
    entry, cut = _head(raw)
    msgspec.structs.force_setattr(entry, "content", msgspec.Raw(memoryview(raw)[cut:-1]))
    return entry


def decode_head(raw: bytes) -> CacheEntry:
    """All but the content, from the first bytes of a file. Not verified: for lists only."""
    return _head(raw)[0]


_decoder = msgspec.json.Decoder(CacheEntry)


def _head(raw: bytes) -> tuple[CacheEntry, int]:
    end = head_length(raw)
    if end < 0:
        raise ValueError("it is not a cache entry")
    try:
        entry = _decoder.decode(raw[:end] + b"}")
    except msgspec.MsgspecError as error:
        raise ValueError(f"it is not a cache entry: {error}") from None
    if entry.version != VERSION:
        raise ValueError(f"it is an entry of version {entry.version}; this Spaniel reads version {VERSION}")
    return entry, end + len(_CONTENT)

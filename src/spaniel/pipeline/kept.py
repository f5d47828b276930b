"""What a fetch found, before it is cut to anybody's measure: also what the cache keeps of it (D2-02, D2-24)."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import msgspec

from spaniel.chunking import Boundaries, Chunk, boundaries, chunk, rebuild

log = logging.getLogger("spaniel.cache")


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The whole document once, and its chunks at the default size as offsets, so that the usual hit counts nothing."""

    final_url: str
    markdown: str
    chunk_tokens: int
    chunks: Boundaries
    title: str | None = None
    language: str | None = None
    notes: list[str] = []
    metadata: dict[str, Any] = {}
    content_type: str = ""


_decoder = msgspec.json.Decoder(Kept)


def from_cache(content: msgspec.Raw) -> Kept | None:
    """What an entry holds; None where it is not ours to read (another version's, or damaged): a miss (D2-22)."""
    try:
        kept = _decoder.decode(content)
    except msgspec.MsgspecError as error:
        log.warning("cache_read_failed: %s", error)
        return None
    return kept


def cut(kept: Kept, max_tokens: int) -> list[Chunk]:
    """The document's chunks of a size: read off where it is the stored one, else counted anew, and equal either way."""
    if max_tokens == kept.chunk_tokens:
        with suppress(LookupError, ValueError):  # offsets that lead nowhere are no offsets
            return rebuild(kept.markdown, kept.chunks)
    return chunk(kept.markdown, max_tokens)


def bounds(markdown: str, max_tokens: int) -> Boundaries:
    return boundaries(chunk(markdown, max_tokens))

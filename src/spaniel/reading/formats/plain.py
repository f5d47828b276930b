"""The plain-text reader: decoded, scrubbed, white space in order, nothing else (FR-WF-13c, D2-44)."""

from __future__ import annotations

from spaniel.reading.document import Document, Hygiene
from spaniel.reading.text.charset import decode_text
from spaniel.reading.text.scrub import scrub
from spaniel.reading.text.words import normalize_newlines, tidy_text

BREAKS = ("\f", "\v", "\x85")  # that end a line and are control characters


def read_text(body: bytes | str, _url: str | None, charset: str | None) -> Document:
    decoded = body if isinstance(body, str) else decode_text(body, charset)
    for sign in BREAKS:
        decoded = decoded.replace(sign, "\n")
    text, invisible, controls = scrub(normalize_newlines(decoded))
    return Document(tidy_text(text), hygiene=Hygiene(invisible_characters=invisible, control_characters=controls))

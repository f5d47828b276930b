"""The plain-text reader: decoded, scrubbed, white space in order, nothing else (FR-WF-13c, D2-44)."""

from __future__ import annotations

from spaniel.reading.charset import decode_text
from spaniel.reading.document import Document, Hygiene
from spaniel.reading.hygiene import scrub
from spaniel.reading.whitespace import tidy_text, unix_lines

BREAKS = ("\f", "\v", "\x85")  # that end a line and are control characters


def read_text(body: bytes | str, _url: str | None, charset: str | None) -> Document:
    decoded = body if isinstance(body, str) else decode_text(body, charset)
    for sign in BREAKS:
        decoded = decoded.replace(sign, "\n")
    text, invisible, controls = scrub(unix_lines(decoded))
    return Document(tidy_text(text), hygiene=Hygiene(invisible_characters=invisible, control_characters=controls))

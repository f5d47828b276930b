"""URLs from a text file, one in each line."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING

from spaniel.batch.ports import Item
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_LINE = 1 << 16  # longer ones are cut here and read to their end; no URL is that long


class TextSource:
    """Empty lines and comments (`#`) are not counted. Bytes that are not UTF-8 come as surrogates."""

    def __init__(self, path: str) -> None:
        self.name = path

    def fingerprint(self) -> str:
        if self.name == "-":
            return ""  # it cannot be read twice; the plan keeps what it held
        digest = blake2b(digest_size=16)
        try:
            with open(self.name, "rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise self._unreadable(error) from None
        return digest.hexdigest()

    def items(self) -> Iterator[Item]:
        ordinal = 0
        try:
            with open(0 if self.name == "-" else self.name, "rb", closefd=self.name != "-") as file:
                while line := file.readline(LONGEST_LINE):
                    rest = line
                    while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                        rest = file.readline(LONGEST_LINE)
                    text = line.decode("utf-8", "surrogateescape").strip()
                    if text and not text.startswith("#"):
                        yield Item(ordinal, text)
                        ordinal += 1
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> SpanielError:
        reason = f"cannot be read: {error.strerror or os.strerror(error.errno or 0)}"
        return SpanielError(Code.BAD_ARGS, field=self.name, reason=reason)

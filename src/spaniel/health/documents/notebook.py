"""Links of Jupyter notebooks: those of their Markdown cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.health.documents import markdown
from spaniel.health.documents.data import COLON, TOKEN, inside, unescaped
from spaniel.health.documents.quoting import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.mentions import Found

PROSE = frozenset({"markdown", "heading"})


CELL = 2  # {"cells": [{


def links(text: str) -> Iterator[Found]:
    cells = _Cells()
    for token in TOKEN.finditer(text):
        if token["string"] is None:
            parts = cells.bracket(token[0])
            if parts:
                yield from inside(unescaped(parts), markdown.links)
        elif COLON.match(text, token.end()):
            cells.key(decode(token["string"], "json"))
        else:
            cells.value(token["string"], token.start("string"))


class _Cells:
    """Collects the sources of cells from brackets, keys and strings: lists of lines, or one string."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._source: list[tuple[int, str]] = []
        self._is_prose = False

    def bracket(self, sign: str) -> list[tuple[int, str]]:
        """The source of a cell of Markdown that ends here."""
        if sign in ("{", "["):
            self._keys.append("")
            if self._depth == CELL + 1:
                self._source, self._is_prose = [], False
            return []
        ended = self._source if self._depth == CELL + 1 and self._is_prose else []
        if self._keys:
            self._keys.pop()
        return ended

    @property
    def _depth(self) -> int:
        """How deep one is in the cells; 0 anywhere else."""
        return len(self._keys) if self._keys and self._keys[0] == "cells" else 0

    def key(self, name: str) -> None:
        if self._keys:
            self._keys[-1] = name

    def value(self, written: str, start: int) -> None:
        if not CELL < self._depth <= CELL + 2:
            return
        if self._keys[CELL] == "cell_type":
            self._is_prose = written in PROSE
        elif self._keys[CELL] == "source":
            self._source.append((start, written))

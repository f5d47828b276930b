"""How far many fetches have come: a line on a terminal while they run, and a summary at their end."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

USUAL_COLUMNS = 80


def columns() -> int:
    """Of the terminal that progress is drawn on, as wide as it is now."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or USUAL_COLUMNS
    except (OSError, ValueError):
        return USUAL_COLUMNS


def fitted(parts: Iterable[str], width: int) -> str:
    """As many parts as a line of the terminal has room for, the first in any case. Wide characters take two columns.

    A line that is as wide as the terminal would wrap, and each redrawing of it would scroll.
    """
    from rich.cells import cell_len, set_cell_size

    line = ""
    for part in parts:
        if cell_len(line + part) > width:
            return line or set_cell_size(part, max(0, width - 1)).rstrip() + "…"
        line += part
    return line


class Progress:
    """Counts, and draws its line where somebody can see it. `total` is None where more may come."""

    def __init__(self, total: int | None, *, drawn: bool) -> None:
        self._total = total
        self._drawn = drawn and sys.stderr.isatty()
        self._under_way = 0
        self.done = 0
        self.cached = 0
        self.failed: Counter[str] = Counter()

    def begin(self) -> None:
        self._under_way += 1
        self.draw()

    def end(self, failure: str, *, cached: bool) -> None:
        """One is done; `failure` is why there is no page, in one word."""
        self._under_way -= 1
        if failure:
            self.failed[failure] += 1
        else:
            self.done += 1
            self.cached += cached
        self.draw()

    def takes_back(self, failure: str) -> None:
        """A page that came, and could not be given out."""
        self.done -= 1
        self.failed[failure] += 1

    def draw(self) -> None:
        if self._drawn:
            finished = self.done + self.failed.total()
            known = f"{finished} of {self._total}" if self._total else str(finished)
            failed = f", {self.failed.total()} failed" if self.failed else ""
            line = fitted((f"{known} done", failed, f", {self._under_way} under way"), columns() - 1)
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Before anything else is written: the terminal may be the same."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def summary(self, *, whole: bool, where: str) -> str:
        """One line: what was fetched, what failed and how, and whether it was all."""
        asked = self.done + self.failed.total()
        told = f"{self.done} of {asked} pages fetched" if self.failed else f"{pages(self.done)} fetched"
        told += f", {self.cached} of them from the cache" if self.cached else ""
        told += f", written to {where}" if where and self.done else ""
        if self.failed:
            told += f"; {self.failed.total()} failed ({', '.join(f'{n} {code}' for code, n in self.failed.items())})"
        left = f"{self._total - asked} not fetched" if self._total else "the rest was not fetched"
        return told if whole else f"stopped: {told}; {left}"


def pages(count: int) -> str:
    return f"{count} page" if count == 1 else f"{count} pages"

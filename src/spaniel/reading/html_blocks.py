"""Raw HTML that begins a line of Markdown: up to a blank line, back-ticks in it are no code."""

from __future__ import annotations

import re

BEGINS = re.compile(r"^[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+<[a-zA-Z/!?]", re.MULTILINE)


class HtmlBlocks:
    """Asked from the beginning of a text to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen = 0
        self._inside = False

    def hold(self, place: int, since: int = 0) -> bool:
        """Whether a place is in such a block; behind `since`, where one that was open is not any more."""
        if since > self._seen:
            self._seen, self._inside = since, False
        if place > self._seen:
            blank = self._text.rfind("\n\n", self._seen, place)
            if blank >= 0:
                self._seen, self._inside = blank + 1, False
            self._inside = self._inside or BEGINS.search(self._text, self._seen, place) is not None
            self._seen = place
        return self._inside

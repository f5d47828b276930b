"""Text whose style keeps its blanks and line breaks (`white-space: pre-wrap`): the writer would take it for code.

Some site builders style every paragraph and heading so; code has a `pre`, or at least a font of its own.
"""

from __future__ import annotations

import re

from turbohtml import Element, Text

STYLED = "[style*=white-space i]"
KEEPING = re.compile(r"white-space(?:-collapse)?\s*:\s*(?:pre|break)", re.IGNORECASE)
CODE_FONTS = ("mono", "courier", "consolas", "menlo")
LONGEST_STYLE = 2000  # characters that are looked at
LINES = 2000  # breaks that may be made on a page: each is an element


def free_kept_blanks(root: Element) -> None:
    """Text stays text, and breaks its lines where a browser does."""
    room = LINES
    for element in root.select(STYLED):
        style = (element.attr("style") or "")[:LONGEST_STYLE]
        if not KEEPING.search(style) or element.tag in ("pre", "code"):
            continue
        if not any(font in style.lower() for font in CODE_FONTS):
            del element.attrs["style"]
            for child in list(element.children):
                if room > 0 and type(child) is Text and "\n" in child.data.strip():
                    room -= _break_lines(child, room)


def _break_lines(text: Text, room: int) -> int:
    """A break for each end of a line; answer how many there are."""
    first, *more = text.data.rstrip().split("\n", room)
    if not first.strip():  # the page's own layout, right behind the tag
        first, *more = more
    text.data = first
    for line in reversed(more):
        text.insert_after(Element("br"), Text(line))
    return len(more)

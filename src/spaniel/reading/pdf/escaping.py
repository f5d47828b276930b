"""What a PDF says is text: nothing in it may become Markdown."""

from __future__ import annotations

import re

# A backslash before what it would take along, code, emphasis, strikes, tags and entities, and the end of what a link
# or a definition would have in brackets. Underscores inside words and stars between blanks mean nothing.
INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|`|\*(?=\S)|(?<=\S)\*|_(?![^\W_])|(?<![^\W_])_|~~|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\](?=[(\[:])"
)
MAY_BE = re.compile(r"[\\`*_~<&\]]")
# At the beginning of a line: headings and their underlines, quotations, lists, rules, tables' second lines.
BLOCK = re.compile(
    r"^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=]+ *$|[-_:| ]{2,}$|~{3,}|(\d{1,9})([.)])(?=\s|$))", re.MULTILINE
)


def escaped(text: str) -> str:
    """Text for a paragraph of one or more lines."""
    return BLOCK.sub(_guarded, in_line(text))


def in_line(text: str) -> str:
    """Text for one line that has its mark, as a heading has."""
    return INLINE.sub(lambda match: "\\" + match[0], text) if MAY_BE.search(text) else text


def _guarded(match: re.Match[str]) -> str:
    if match[1]:
        return f"{match[1]}\\{match[2]}"
    return "\\" + match[0]

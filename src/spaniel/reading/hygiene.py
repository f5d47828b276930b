"""Characters that are not text: invisible ones, bidi controls, terminal controls. They go, and are counted."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from turbohtml import Element, Text

from spaniel.reading.signs import (
    CONTROL,
    CONTROLS,
    EMOJI_SELECTOR,
    INVISIBLE,
    JOINERS,
    NONCHARACTERS,
    PICTURES,
    SEPARATORS,
    STRANGE,
    SUSPECT,
    UNUSUAL,
)
from spaniel.reading.substitution import LONG, subn

try:
    from spaniel.reading.native_signs import signs_in
except ImportError:  # not built here
    from spaniel.reading.signs import signs_in

LONGEST_LINE = 2000  # characters
# A terminal's command goes whole, not only its first character; the writer may have put a backslash before the bracket.
TERMINAL = re.compile("(?:\x1b\\\\?\\[|\x9b)[0-9;:?]*[@-~]|\x1b\\\\?\\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\\\{0,2})?")
# Scripts in which a joiner changes the shape of letters: Hebrew to Thaana, the Indic ones, Tibetan, Mongolian, Khmer.
SHAPED = re.compile("[\u0590-\u08ff\u0900-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\ua87f\ufb1d-\ufdff\ufe70-\ufeff]")
PICTURE = re.compile(
    "[\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff#*0-9\u20e3\U0001f3fb-\U0001f3ff\u2640\u2642]"
)


class Scrubbed(NamedTuple):
    """How many invisible and how many control characters went, and whether there are signs of icon fonts."""

    invisible: int
    controls: int
    pictures: bool


def scrub(text: str) -> tuple[str, int, int]:
    """The text without them, how many invisible, how many control characters."""
    found = signs_in(text)
    if not found & SUSPECT:
        return text, 0, 0
    text, commands = subn(TERMINAL, "", text) if "\x1b" in text or "\x9b" in text else (text, 0)
    text, controls = _without(CONTROL, text)
    controls += commands
    if text.isascii():
        return text, 0, controls
    text, invisible = _without(INVISIBLE, text)
    text, strange = _without(NONCHARACTERS, text) if found & STRANGE else (text, 0)
    text, separators = subn(SEPARATORS, " ", text)
    joined, plain = _keep_needed(JOINERS, text, _joiner_needed)
    shown, bare = _keep_needed(EMOJI_SELECTOR, joined, _selector_needed)
    return shown, invisible + strange + separators + plain + bare, controls


def _without(signs: re.Pattern[str], text: str) -> tuple[str, int]:
    """The text without these signs, and how many went. Of a long one, each part between two would be held as a text."""
    if len(text) <= LONG:
        return signs.subn("", text)
    rest = text.translate(_table(signs))
    return rest, len(text) - len(rest)


@cache
def _table(signs: re.Pattern[str]) -> dict[int, None]:
    """The signs of a character class, one by one."""
    return {
        code: None
        for first, last in re.findall("(.)(?:-(.))?", signs.pattern[1:-1], re.DOTALL)
        for code in range(ord(first), ord(last or first) + 1)
    }


def scrub_tree(root: Element) -> Scrubbed:
    """Scrub every text before it is written: what an invisible character shields from escaping must not come out bare.

    A no-break space is a space, but in code.
    """
    invisible = controls = 0
    found = signs_in(root.text)
    pictures = bool(found & PICTURES)
    if not found & UNUSUAL:
        return Scrubbed(invisible, controls, pictures)
    acts = found & CONTROLS
    for node in root.descendants:
        if type(node) is Text and (not (data := node.data).isascii() or acts) and signs_in(data) & UNUSUAL:
            text, unseen, acting = scrub(data)
            node.data = text if _is_code(node) else text.replace("\u00a0", " ")
            invisible, controls = invisible + unseen, controls + acting
    return Scrubbed(invisible, controls, pictures)


def _is_code(node: Text) -> bool:
    up = node.parent
    return isinstance(up, Element) and up.tag == "code" and isinstance(up.parent, Element) and up.parent.tag == "pre"


def _keep_needed(pattern: re.Pattern[str], text: str, needed: _Needed) -> tuple[str, int]:
    """One of a run stays where it is needed; the rest goes."""
    gone = 0

    def judge(match: re.Match[str]) -> str:
        nonlocal gone
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        kept = match[0][0] if needed(before, after) else ""
        gone += len(match[0]) - len(kept)
        return kept

    kept, _ = subn(pattern, judge, text)
    return kept, gone


def _joiner_needed(before: str, after: str) -> bool:
    if not before or not after:
        return False
    if SHAPED.match(before) and SHAPED.match(after):
        return True
    return bool(PICTURE.match(before) and PICTURE.match(after))


def _selector_needed(before: str, _after: str) -> bool:
    return bool(before and PICTURE.match(before))


def one_line(text: str | None) -> str | None:
    """A title or a name: scrubbed, on one line, no longer than any has a need to be; or nothing."""
    if not text:
        return None
    return scrub(" ".join(text[: 4 * LONGEST_LINE].split())[:LONGEST_LINE])[0].strip() or None


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Needed = Callable[[str, str], bool]

"""Remove characters that are not text: invisible ones, bidi controls, terminal controls. They are counted."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turbohtml import Element, Text

from spaniel.reading.text.characters import (
    CONTROL,
    CONTROLS,
    EMOJI_SELECTOR,
    ICON_FONT,
    INVISIBLE,
    JOINERS,
    NONCHARACTER,
    NONCHARACTERS,
    SEPARATORS,
    SUSPECT,
    UNUSUAL,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    _Needed = Callable[[str, str], bool]


LONG_TEXT = 1 << 16  # characters
JOINED_PIECES = 10_000  # pieces that are held before they are joined


def subn(pattern: re.Pattern[str], replace: str | Callable[[re.Match[str]], str], text: str) -> tuple[str, int]:
    """As pattern.subn for a replacement without references."""
    if len(text) <= LONG_TEXT:
        return pattern.subn(replace, text)
    done: list[str] = []
    some: list[str] = []
    count = end = 0
    for match in pattern.finditer(text):
        some.append(text[end : match.start()])
        some.append(replace if isinstance(replace, str) else replace(match))
        count, end = count + 1, match.end()
        if len(some) >= JOINED_PIECES:
            done.append("".join(some))
            some.clear()
    return "".join((*done, *some, text[end:])), count


def sub(pattern: re.Pattern[str], replace: str | Callable[[re.Match[str]], str], text: str) -> str:
    return subn(pattern, replace, text)[0]


try:
    from spaniel.reading.text.native_characters import characters_in
except ImportError:  # not built here
    from spaniel.reading.text.characters import characters_in

MAX_LINE = 2000  # characters
# A terminal's command goes whole, not only its first character; the writer may have put a backslash before the bracket.
TERMINAL = re.compile("(?:\x1b\\\\?\\[|\x9b)[0-9;:?]*[@-~]|\x1b\\\\?\\][^\x07\x1b\n]{0,300}(?:\x07|\x1b\\\\{0,2})?")
# Scripts in which a joiner changes the shape of letters: Hebrew to Thaana, the Indic ones, Tibetan, Mongolian, Khmer.
JOINING_SCRIPTS = re.compile(
    "[\u0590-\u08ff\u0900-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\ua87f\ufb1d-\ufdff\ufe70-\ufeff]"
)
EMOJI = re.compile("[\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff#*0-9\u20e3\U0001f3fb-\U0001f3ff\u2640\u2642]")


class ScrubCounts(NamedTuple):
    """Counts of removed invisible and control characters, and whether there are icon characters."""

    invisible: int
    controls: int
    pictures: bool


def scrub(text: str) -> tuple[str, int, int]:
    """Return the text without them, and the numbers of invisible and control characters."""
    found = characters_in(text)
    if not found & SUSPECT:
        return text, 0, 0
    text, commands = subn(TERMINAL, "", text) if "\x1b" in text or "\x9b" in text else (text, 0)
    text, controls = _remove(CONTROL, text)
    controls += commands
    if text.isascii():
        return text, 0, controls
    text, invisible = _remove(INVISIBLE, text)
    text, strange = _remove(NONCHARACTERS, text) if found & NONCHARACTER else (text, 0)
    text, separators = subn(SEPARATORS, " ", text)
    joined, plain = _keep_needed(JOINERS, text, _joiner_needed)
    shown, bare = _keep_needed(EMOJI_SELECTOR, joined, _selector_needed)
    return shown, invisible + strange + separators + plain + bare, controls


def _remove(signs: re.Pattern[str], text: str) -> tuple[str, int]:
    """The text without these signs, and how many went. Of a long one, each part between two would be held as a text."""
    if len(text) <= LONG_TEXT:
        return signs.subn("", text)
    rest = text.translate(_removal_table(signs))
    return rest, len(text) - len(rest)


@cache
def _removal_table(signs: re.Pattern[str]) -> dict[int, None]:
    """The signs of a character class, one by one."""
    return {
        code: None
        for first, last in re.findall("(.)(?:-(.))?", signs.pattern[1:-1], re.DOTALL)
        for code in range(ord(first), ord(last or first) + 1)
    }


def scrub_tree(root: Element) -> ScrubCounts:
    """Scrub every text before it is written: what an invisible character shields from escaping must not come out bare.

    A no-break space is a space, but in code.
    """
    invisible = controls = 0
    found = characters_in(root.text)
    pictures = bool(found & ICON_FONT)
    if not found & UNUSUAL:
        return ScrubCounts(invisible, controls, pictures)
    acts = found & CONTROLS
    for node in root.descendants:
        if type(node) is Text and (not (data := node.data).isascii() or acts) and characters_in(data) & UNUSUAL:
            text, unseen, acting = scrub(data)
            node.data = text if _is_code(node) else text.replace("\u00a0", " ")
            invisible, controls = invisible + unseen, controls + acting
    return ScrubCounts(invisible, controls, pictures)


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
    if JOINING_SCRIPTS.match(before) and JOINING_SCRIPTS.match(after):
        return True
    return bool(EMOJI.match(before) and EMOJI.match(after))


def _selector_needed(before: str, _after: str) -> bool:
    return bool(before and EMOJI.match(before))


def one_line(text: str | None) -> str | None:
    """Return a title or a name, scrubbed, on one line and of limited length; None if nothing is left."""
    if not text:
        return None
    return scrub(" ".join(text[: 4 * MAX_LINE].split())[:MAX_LINE])[0].strip() or None

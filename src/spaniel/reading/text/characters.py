"""Classes of characters that are not text, and a fast check which of them a text contains."""

from __future__ import annotations

import re

# Cc but newline and tab; U+FEFF; surrogates cannot come from a decoder.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Zero-width, bidi, invisible operators, soft hyphen, fillers, tags, variation selectors, music and shorthand controls,
# noncharacters.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# The noncharacters of the other planes, two at the end of each. Among the others they would make every search slower: a
# text that may contain one is recognized by its bytes, of which the last two are these.
NONCHARACTERS = re.compile("[" + "".join(f"{chr(p << 16 | 0xFFFE)}{chr(p << 16 | 0xFFFF)}" for p in range(1, 17)) + "]")
NONCHARACTER_ENDINGS = (b"\xbf\xbe", b"\xbf\xbf")
# Line ends in some programs, but not visible: they separate words, so a space replaces them.
SEPARATORS = re.compile("[\u2028\u2029]")
JOINERS = re.compile("[\u200c\u200d]+")
EMOJI_SELECTOR = re.compile("\ufe0f+")
# Private use characters of icon fonts.
ICON_CHARACTERS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
ANY_INVISIBLE = re.compile(f"{INVISIBLE.pattern[:-1]}\u200c\u200d\ufe0f\u2028\u2029]")
PRINTABLE_ASCII = bytes({9, 10, *range(32, 127)})

# Bits for the classes in a text.
CONTROLS, INVISIBLES, NONCHARACTER, NO_BREAK, ICON_FONT = 1, 2, 4, 8, 16
SUSPECT = CONTROLS | INVISIBLES | NONCHARACTER
UNUSUAL = SUSPECT | NO_BREAK


def characters_in(text: str) -> int:
    """Return the classes in a text as bits. `native_characters.pyx` is the compiled version, in one pass."""
    raw = text.encode("utf-8", "surrogatepass").translate(
        None, PRINTABLE_ASCII
    )  # remove printable ASCII, which is most of a text
    if not raw:
        return 0
    rest = raw.decode("utf-8", "surrogatepass")
    return (
        CONTROLS * (CONTROL.search(rest) is not None)
        | INVISIBLES * (ANY_INVISIBLE.search(rest) is not None)
        | NONCHARACTER
        * (
            (NONCHARACTER_ENDINGS[0] in raw or NONCHARACTER_ENDINGS[1] in raw)
            and NONCHARACTERS.search(rest) is not None
        )
        | NO_BREAK * ("\u00a0" in rest)
        | ICON_FONT * (ICON_CHARACTERS.search(rest) is not None)
    )

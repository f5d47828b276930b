# cython: language_level=3
"""Which unwanted characters a text has, compiled: characters.py does the same in Python and explains it.

A module of its own, because plain text needs it and the judge takes longer to load.
"""

import re

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND
from libc.string cimport memcpy

from spaniel.reading.text import characters

cdef unsigned char BITS[65536]  # of the characters of the first plane
cdef unsigned char NONCHARACTER = characters.NONCHARACTER
cdef list BEYOND = []  # (first, last, bit) of the others


def _fill():
    classes = {characters.CONTROLS: characters.CONTROL, characters.INVISIBLES: characters.ANY_INVISIBLE, characters.ICON_FONT: characters.ICON_CHARACTERS}
    for bit, pattern in classes.items():
        for first, last in re.findall("(.)(?:-(.))?", pattern.pattern[1:-1], re.DOTALL):
            end = ord(last or first)
            for code in range(ord(first), min(end, 0xFFFF) + 1):
                BITS[code] |= bit
            if end > 0xFFFF:
                BEYOND.append((max(ord(first), 0x10000), end, bit))
    BITS[0xA0] |= characters.NO_BREAK


_fill()
cdef unsigned int FIRST[16]
cdef unsigned int LAST[16]
cdef unsigned char WHICH[16]
cdef int RANGES = len(BEYOND)
for place, (first, last, bit) in enumerate(BEYOND):
    FIRST[place], LAST[place], WHICH[place] = first, last, bit


cdef unsigned char beyond(unsigned int sign) noexcept nogil:
    cdef int i
    cdef unsigned char found = NONCHARACTER if sign & 0xFFFE == 0xFFFE else 0
    for i in range(RANGES):
        if FIRST[i] <= sign <= LAST[i]:
            found |= WHICH[i]
    return found


cdef bint is_plain(const unsigned char *at, unsigned long long lanes) noexcept nogil:
    """Whether eight bytes are printable ASCII, in lanes of one byte or two: 0x0101… has a bit for each."""
    cdef unsigned long long eight
    memcpy(&eight, at, 8)
    return (
        eight & ~(0x7F * lanes) == 0  # below 0x80
        and (eight + 0x60 * lanes) & (0x80 * lanes) == 0x80 * lanes  # from 0x20
        and (eight + lanes) & (0x80 * lanes) == 0  # and not 0x7F
    )


def characters_in(str text):
    """As characters.characters_in."""
    cdef Py_ssize_t i = 0, k, size = len(text)
    cdef int kind = PyUnicode_KIND(text)
    cdef const void *data = PyUnicode_DATA(text)
    cdef const unsigned char *narrow = <const unsigned char *>data
    cdef const unsigned short *wide = <const unsigned short *>data
    cdef const unsigned int *widest = <const unsigned int *>data
    cdef unsigned char found = 0
    if kind == 1:
        while i < size:
            if i + 8 <= size and is_plain(narrow + i, 0x0101010101010101ULL):
                i += 8
                continue
            for k in range(i, min(i + 8, size)):
                found |= BITS[narrow[k]]
            i += 8
    elif kind == 2:
        while i < size:
            if i + 4 <= size and is_plain(<const unsigned char *>(wide + i), 0x0001000100010001ULL):
                i += 4
                continue
            for k in range(i, min(i + 4, size)):
                found |= BITS[wide[k]]
            i += 4
    else:
        for i in range(size):
            found |= BITS[widest[i]] if widest[i] < 0x10000 else beyond(widest[i])
    return found

# cython: language_level=3
"""The judge for a C compiler: from a cleaned page to the odds of its blocks.

`judge.py` and the modules it calls say the same in Python and explain it; they run where this was not built. That both
agree is a law of the tests. Only what is hot is here: a page has hundreds of blocks.
"""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ, PyUnicode_READ_CHAR
from cython.view cimport array as matrix
from libc.math cimport exp
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp

from turbohtml import Element, Text

from spaniel.reading import learnt
from spaniel.reading.blocks import BLOCKS, CONTAINERS, FULL, INLINE, ITEMS, LISTS, SHORT, drop_from
from spaniel.reading.features import FAR, START, TOO_SHORT
from spaniel.reading.judge import FEW_WORDS, Judged
from spaniel.reading.model import CLEAR
from spaniel.reading.page import COUNTED, GROUPS, PAGE, PRICE, head_numbers
from spaniel.reading.shapes import BEGINNING, ENDS, HEADINGS, LEADS_ON
from spaniel.reading.surroundings import LANDMARKS, TAGS, UNRANKED
from spaniel.reading.whitespace import PIECE
from spaniel.reading.whitespace import one_spaced as well_spaced
from spaniel.reading.words import LONGEST, bit, judge_part

cdef extern from "trees.h":
    enum: BLOCK_CHUNKS, KIND_COUNT
    double block_odds(int chunk, const double *row) nogil
    double kind_score(int kind, const double *page) nogil

cdef enum:  # the columns of a row, in the order of features.NAMES, then the kinds
    WORDS, CHARS, LINKED, ENDING, LEVEL, GOOD, CAPS, TONE, TITLE,
    TAG, EVERY, MARKS, LOW, TOTAL, UP_WEIGHT, HOME_GOOD, HOME_LINKED, TWINS, UP_WORDS, UP_GOOD, UP_SHARE, TRUNK,
    NEAR_WORDS, NEAR_GOOD, BEFORE, AFTER, SAME, SINCE_FIRST, SINCE_HEAD, HEAD_MASK, HEAD_LEVEL, SECTION_LINKED,
    BEFORE_LINKED, BEFORE_ENDING, BEFORE_LEVEL, BEFORE_TONE, NEXT_LINKED, NEXT_ENDING, NEXT_LEVEL, NEXT_TONE,
    LIKE_GOOD, LIKE_LINKED, LIKE_WORDS, SAID, SAID_CHARS,
    KINDS

cdef enum:  # of the page's table of containers
    UP, FIRST, LAST, OWN_MASK, ALL_MASKS, LANDS

cdef enum:  # of running sums
    SUM_WORDS, SUM_LINKED, SUM_GOOD

cdef object TEXT = Text, ELEMENT = Element, ATTRIBUTE = Element.attr
cdef frozenset INSIDE_LINES = INLINE, ITEM_TAGS = ITEMS, LIST_TAGS = LISTS, ENDING_SIGNS = ENDS, LEADING_ON = LEADS_ON
cdef Py_ssize_t SHORT_ITEM = SHORT, FULL_BLOCK = FULL, HEAD = BEGINNING, LONGEST_NAMES = LONGEST, FAR_AWAY = FAR
cdef Py_ssize_t START_OF_BLOCK = START, SHORTEST_START = TOO_SHORT, MOST_BLOCKS = BLOCKS, MOST_CONTAINERS = CONTAINERS, LONG_TEXT = PIECE
cdef Py_ssize_t DEEPEST_OPEN = 512  # as budgets.DEEPEST, which is not loaded before this
cdef dict LEVELS = HEADINGS, RANKS = TAGS, LAND_BITS = LANDMARKS
cdef dict known_parts = {}, known_lists = {}
cdef double CLEAR_SUM = CLEAR
cdef unsigned long long START_OF_HASH = 14695981039346656037ULL, HASH_FACTOR = 1099511628211ULL  # FNV-1a

cdef int GROUP_COUNT = len(GROUPS)
cdef long long GROUP_BITS[32]
for place, group in enumerate(GROUPS):  # no more than there are bits in a mask
    GROUP_BITS[place] = bit(group)

include "native_source.pxi"
include "native_outline.pxi"
include "native_shapes.pxi"
include "native_sheet.pxi"


def judge(body, facts):
    """As judge.judge."""
    cdef Outline out = segment(body)
    cdef Sheet sheet = Sheet(out, facts.title)
    cdef Py_ssize_t i
    cdef list words = [sheet.v[i, WORDS] for i in range(sheet.blocks)]
    if sheet.sums[sheet.blocks, SUM_WORDS] < FEW_WORDS:
        return Judged(out, words, [], [])
    sheet.inherit()
    kinds = sheet.guess_kinds(facts)
    sheet.surround(kinds)
    sheet.compare(facts.told, facts.description)
    return Judged(out, words, sheet.odds(), kinds)

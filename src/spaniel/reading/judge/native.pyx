# cython: language_level=3
"""The compiled judge: from a cleaned page to the probabilities of its blocks.

`model.py` and the modules it calls do the same in Python and explain it; they run where this is not built. Tests check
that both agree. Only hot code is here: a page has hundreds of blocks.
"""

from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ, PyUnicode_READ_CHAR
from cython.view cimport array as matrix
from libc.math cimport exp, log
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from types import GetSetDescriptorType

from turbohtml import Element, Node, Text

from spaniel.reading.judge import learnt
from spaniel.reading.judge.blocks import (
    BLOCK_TAGS, FULL_BLOCK as FULL, INLINE_TAGS, ITEM_TAGS as ITEMS, LIST_TAGS as LISTS, MAX_BLOCKS, MAX_CONTAINERS, SHORT_ITEM as SHORT,
    drop_from, is_inline,
)
from spaniel.reading.judge.class_names import MAX_AFFIX, MAX_NAMES, MIN_AFFIX, affixes, group_bit, word_groups
from spaniel.reading.judge.columns import (
    BEGINNING, COUNTED, FADING, FAR, FEW_WORDS, GROUPS, HARDLY_LINKED, LIGHT, PAGE, PARAGRAPH_LETTERS, PARAGRAPH_WORDS,
    PRICE_LETTERS, START, SURELY, TITLE_WORDS, TOO_SHORT, TRUNK_SHARE, WINDOW,
)
from spaniel.reading.judge.features import (
    COLONS, HEADINGS, LANDMARKS, LINK_ENDS, PRICE, SENTENCE_ENDS, TAG_RANKS, UNRANKED_TAG, head_features, title_words,
)
from spaniel.reading.judge.model import CLEAR, SETTLED, Judgement
from spaniel.reading.text.words import CHUNK, CLOSE_RANGES, FIRST_UNSPACED, WIDE_RANGES
from spaniel.reading.text.words import collapse_spaces as collapse_long

cdef extern from "trees.h":
    enum: BLOCK_CHUNKS, KIND_COUNT
    double block_odds(int chunk, const double *row) nogil
    double again_score(const double *row) nogil
    double kind_score(int kind, const double *page) nogil

cdef extern from "columns.h":  # made of columns.py: a name that is not there does not build
    enum:
        WORDS "COLUMN_S_WORDS", CHARS "COLUMN_S_CHARS", LINKED "COLUMN_S_LINKED", ENDING "COLUMN_S_ENDS", 
        LEVEL "COLUMN_S_LEVEL", GOOD "COLUMN_S_GOOD", CAPS "COLUMN_S_CAPS", TONE "COLUMN_S_TONE", 
        TITLE "COLUMN_S_TITLE", TAG "COLUMN_TAG", EVERY "COLUMN_EVERY", MARKS "COLUMN_MARKS", LOW "COLUMN_LOW", 
        TOTAL "COLUMN_TOTAL", UP_WEIGHT "COLUMN_PWEIGHT", HOME_GOOD "COLUMN_GOOD", HOME_LINKED "COLUMN_LINKED", 
        TWINS "COLUMN_TWINS", UP_WORDS "COLUMN_UP_WORDS", UP_GOOD "COLUMN_UP_GOOD", UP_SHARE "COLUMN_UP_GOODSHARE", 
        TRUNK "COLUMN_TRUNK", NEAR_WORDS "COLUMN_WINDOW_WORDS", NEAR_GOOD "COLUMN_WINDOW_GOOD", 
        BEFORE "COLUMN_PLACE", AFTER "COLUMN_AFTER", SAME "COLUMN_SAME", SINCE_FIRST "COLUMN_SINCE_H1", 
        SINCE_HEAD "COLUMN_SINCE_HEAD", HEAD_MASK "COLUMN_HEAD_MASK", HEAD_LEVEL "COLUMN_HEAD_LEVEL", 
        SECTION_LINKED "COLUMN_SECTION_LINKED", BEFORE_LINKED "COLUMN_BEFORE_LINKED", 
        BEFORE_ENDING "COLUMN_BEFORE_ENDS", BEFORE_LEVEL "COLUMN_BEFORE_LEVEL", BEFORE_TONE "COLUMN_BEFORE_TONE", 
        NEXT_LINKED "COLUMN_NEXT_LINKED", LIKE_GOOD "COLUMN_LIKE_GOOD", LIKE_LINKED "COLUMN_LIKE_LINKED", 
        LIKE_WORDS "COLUMN_LIKE_WORDS", SAID "COLUMN_SAID", SAID_CHARS "COLUMN_SAID_CHARS", KINDS "COLUMNS"
    enum:
        PAGE_WORDS "PAGE_OF_WORDS", PAGE_BLOCKS "PAGE_OF_BLOCKS", PAGE_LINKED "PAGE_OF_LINKED", 
        PAGE_GOOD "PAGE_OF_GOOD", PAGE_GOOD_BLOCKS "PAGE_OF_GOODBLOCKS", PAGE_HEADS "PAGE_OF_HEADS", 
        PAGE_H1 "PAGE_OF_H1", PAGE_TAGS "PAGE_OF_ARTICLE", PAGE_GROUPS "PAGE_OF_IN_FORUM", 
        PAGE_HEAD "PAGE_OF_OPEN_GRAPH", PAGE_TWINS "PAGE_OF_TWINS"
    enum:
        AGAIN_OWN, AGAIN_BEFORE, AGAIN_NEXT, AGAIN_NEAR, AGAIN_HOME, AGAIN_UP, AGAIN_UP_UP, AGAIN_LIKE, AGAIN_PAGE,
        AGAIN_SURE, AGAIN_SURE_BEFORE, AGAIN_SURE_AFTER, AGAIN_WORDS, AGAIN_COLUMNS

cdef extern from "Python.h":  # what a property of a C type runs: to look the property up takes as long as to run it
    ctypedef object (*Getter)(object, void *)
    ctypedef struct PyGetSetDef:
        Getter get
        void *closure
    ctypedef struct PyGetSetDescrObject:
        PyGetSetDef *d_getset

cdef enum:  # of the page's table of containers
    UP, FIRST, LAST, OWN_MASK, ALL_MASKS, LANDS

cdef enum:
    LONGEST_PART = 400  # as MAX_NAMES, for the compiler
    LONGEST_HEAD = 90  # as BEGINNING

cdef enum:
    LONGEST_VALUE = 4000  # bytes of an attribute that are looked at in the source
    TELLS_NAMED = 1  # as MAY_NAME_DATE, MAY_NAME_AUTHOR and MAY_HAVE_ITEMPROP_DATE of metadata/dates.py
    TELLS_SIGNED = 2
    TELLS_DATED = 4
    TELLS_ANY = 7

cdef enum:  # of running sums
    SUM_WORDS, SUM_LINKED, SUM_GOOD

cdef PyGetSetDef *getter_of(kind, str name) except NULL:
    """How this property of this type is read. It may be used for objects of this type alone."""
    found = getattr(kind, name)
    if type(found) is not GetSetDescriptorType:
        raise ImportError(f"{name} is no property of a C type")
    return (<PyGetSetDescrObject *>found).d_getset


cdef PyGetSetDef *DATA = getter_of(Text, "data")
cdef PyGetSetDef *TAG_OF = getter_of(Element, "tag")
cdef PyGetSetDef *PARENT = getter_of(Node, "parent")
cdef object TEXT = Text, ELEMENT = Element, ATTRIBUTE = Element.attr
cdef frozenset INSIDE_LINES = INLINE_TAGS, BETWEEN_LINES = BLOCK_TAGS, ITEM_TAGS = ITEMS, LIST_TAGS = LISTS, ENDING_SIGNS = SENTENCE_ENDS, LEADING_ON = LINK_ENDS, COLON_SIGNS = COLONS
cdef Py_ssize_t SHORT_ITEM = SHORT, FULL_BLOCK = FULL, HEAD = BEGINNING, LONGEST_NAMES = MAX_NAMES, FAR_AWAY = FAR
cdef Py_ssize_t START_OF_BLOCK = START, SHORTEST_START = TOO_SHORT, MOST_BLOCKS = MAX_BLOCKS, MOST_CONTAINERS = MAX_CONTAINERS, LONG_TEXT = CHUNK
cdef Py_ssize_t DEEPEST_OPEN = 512  # as parse.MAX_OPEN, which is not loaded before this
cdef dict LEVELS = HEADINGS, RANKS = TAG_RANKS, LAND_BITS = LANDMARKS
cdef dict known_lists = {}
cdef Py_ssize_t SHORTEST = MIN_AFFIX, LONGEST_AFFIX = MAX_AFFIX
cdef double CLEAR_SUM = CLEAR, FADE = FADING, TRUNK_PART = TRUNK_SHARE, MOST_LINKED = HARDLY_LINKED
cdef double LIGHT_BLOCK = LIGHT, SURE_ODDS = SURELY, SETTLED_ODDS = SETTLED
cdef Py_ssize_t LONG_WORDS = PARAGRAPH_WORDS, LONG_LETTERS = PARAGRAPH_LETTERS, LONGEST_TITLE = TITLE_WORDS
cdef Py_ssize_t NEAR = WINDOW, LONGEST_PRICE = PRICE_LETTERS
cdef unsigned long long START_OF_HASH = 14695981039346656037ULL, HASH_FACTOR = 1099511628211ULL  # FNV-1a
cdef unsigned long long SPREAD = 0x9E3779B97F4A7C15ULL  # 2**64 by the golden ratio: near numbers come far apart

if (MAX_NAMES, BEGINNING) != (LONGEST_PART, LONGEST_HEAD):
    raise ImportError("native.pyx has other lengths than class_names.py and columns.py")

cdef int GROUP_COUNT = len(GROUPS)
cdef long long GROUP_BITS[32]
for place, group in enumerate(GROUPS):  # no more than there are bits in a mask
    GROUP_BITS[place] = group_bit(group)

cdef enum:
    BLANK = 1
    UPPER = 2
    LOWER = 4
    DIGIT = 8

cdef unsigned char LOWERED[256]
cdef unsigned char TRAITS[256]  # of the signs that most texts have none but
for place in range(256):
    LOWERED[place] = ord(chr(place).lower())
    TRAITS[place] = (
        chr(place).isspace() * BLANK | chr(place).isupper() * UPPER | chr(place).islower() * LOWER | chr(place).isdecimal() * DIGIT
    )

cdef int WIDE_COUNT = len(WIDE_RANGES), CLOSE_COUNT = len(CLOSE_RANGES)
cdef unsigned int FIRST_SIGN = FIRST_UNSPACED
cdef unsigned int WIDE_FROM[16]
cdef unsigned int WIDE_TO[16]
cdef unsigned int CLOSE_FROM[16]
cdef unsigned int CLOSE_TO[16]
for place, (first, last) in enumerate(WIDE_RANGES):
    WIDE_FROM[place], WIDE_TO[place] = first, last
for place, (first, last) in enumerate(CLOSE_RANGES):
    CLOSE_FROM[place], CLOSE_TO[place] = first, last

include "native_source.pxi"
include "native_scripts.pxi"
include "native_words.pxi"
include "native_outline.pxi"
include "native_features.pxi"
include "native_sheet.pxi"
include "native_second_pass.pxi"


def judge(body, facts):
    """As model.judge."""
    cdef Outline out = segment(body)
    cdef Sheet sheet = Sheet(out, facts.title)
    cdef Py_ssize_t i
    cdef list words = [sheet.v[i, WORDS] for i in range(sheet.blocks)]
    if sheet.sums[sheet.blocks, SUM_WORDS] < FEW_WORDS:
        return Judgement(out, words, [], [])
    sheet.inherit()
    kinds = sheet.guess_kinds(facts)
    sheet.surround(kinds)
    sheet.compare(facts.linked_text, facts.description)
    return Judgement(out, words, second_pass(sheet, sheet.odds()), kinds)

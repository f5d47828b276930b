"""What both judges count: the columns in their order, and the numbers in their rules. Neither has another table.

The judge in Python reads it as it is. `hatch_build.py` makes C names of the columns, so that the compiled judge does
not build with a column that is not here. A change means to learn anew (`tools/train_reading.py`).
"""

SHAPE = (  # of a block's text
    "words", "chars",
    "linked",  # share of the characters inside links
    "ends",  # 3 like a sentence, 2 with a colon, 1 leading on, 0 like a label
    "level",  # of a heading
    "good",  # 1 for what reads like a paragraph
    "caps",
    "tone",  # mean learnt weight of its words
    "title",  # share of its words that the page's title has
)  # fmt: skip
TREE = (
    "tag",
    "every",  # groups of names on it and above it
    "marks",  # landmarks it stands in
    "low", "total",  # the lowest weight of names above it, and their faded sum
    "pweight",  # the weight of its parent's names
    "good", "linked", "twins",  # of its container: share of words in paragraphs, in links; siblings that look like it
    "up.words", "up.good", "up.goodshare",  # of the parent; the last is its share of the page's paragraphs
    "trunk",  # 1 inside the trunk of the page
)  # fmt: skip
FLOW = (
    "window.words", "window.good",  # in the three blocks before, itself, and the three after
    "place", "after",  # share of the page's words before it, of its paragraphs after it
    "same",  # how often the page has this very text
    "since.h1", "since.head",  # blocks
    "head.mask", "head.level", "section.linked",
)  # fmt: skip
BESIDE = tuple(f"{side}.{name}" for side in ("before", "next") for name in ("linked", "ends", "level", "tone"))
LIKE = (
    "like.good", "like.linked", "like.words",  # of all blocks of its make: share of the page's paragraphs, links, mean
)  # fmt: skip
SAID = (
    "said",  # 3 if the page's linked data has it, 2 if its description has, 1 if neither, 0 if there is neither
    "said.chars",  # of the linked data
)
NAMES = (*(f"s.{name}" for name in SHAPE), *TREE, *FLOW, *BESIDE, *LIKE, *SAID)  # then the likelihood of each kind
SETS = ("every", "marks", "head.mask")  # columns that are sets of bits
KINDS = ("article", "documentation", "forum", "service", "product", "collection", "listing")

AGAIN = (  # of a block at the second look; means are of the odds of the first look, by words
    "own", "before", "next",  # the scores of the first look
    "near",  # mean over the three blocks before, itself, and the three after
    "home", "up", "up.up",  # means over its container and the two above
    "like",  # mean over the blocks of its make
    "page", "sure",  # mean over the page; share of its words in sure blocks
    "sure.before", "sure.after",  # shares of those that stand before it and after it
    "words",
)  # fmt: skip

COUNTED = ("article", "pre", "tr", "form", "main", "li")  # tags
GROUPS = ("forum", "comment", "product", "review", "card", "docs", "content", "service")  # of names
PAGE = (  # of the page as a whole
    "words", "blocks", "linked", "good", "goodblocks", "heads", "h1", *COUNTED, "times", "images", "prices",
    *(f"in.{group}" for group in GROUPS),
    "open graph", "linked data", "url.depth", "url.dash", "url.root", "url.digits", "url.word",
    "generator", "title", "twins",
)  # fmt: skip

BEGINNING = 90  # characters: the beginning of a long text is as informative as the whole
PARAGRAPH_WORDS, PARAGRAPH_LETTERS, HARDLY_LINKED = 15, 120, 0.4  # so many at least, and no more of it in links
TITLE_WORDS = 40  # a longer text does not repeat the title
TRUNK_SHARE = 0.6  # of the page's paragraphs
FADING = 0.75  # what is left of the weight of names one level further down
WINDOW = 3  # blocks before and after
PRICE_LETTERS = 40  # a longer text is no price
FAR = 99
LIGHT = 0.3  # what a block counts beside its words
SURELY = 0.8  # odds
START, TOO_SHORT = 40, 15  # characters of a block that are looked for; so few may stand anywhere
FEW_WORDS = 120  # a page so small is not judged

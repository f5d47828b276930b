"""Limits how much of a page is parsed, so that neither small nor large pages become huge trees.

The source is measured before it is parsed, because a parser allocates all its memory immediately. A source over a
limit is cut at its end. Real pages stay below: the largest of 745 has 22,000 tags, 2,400 blocks and is 52 deep.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.text.charset import decode_utf16, parse_page

if TYPE_CHECKING:
    from turbohtml import Document


# A tag makes an element, a text and, in tables, what stands around cells: up to 300 bytes. It may also begin a block,
# which takes a kilobyte while it is judged. A larger page may take more (64 MB + 12 times its size in all).
MAX_TAGS, BYTES_PER_TAG = 120_000, 100
# A reference that the parser complains about takes 100 bytes of its list of errors.
MAX_REFERENCES, BYTES_PER_REFERENCE = 300_000, 32
LARGE = 4 << 20  # bytes below which neither attributes nor control characters can take much
MAX_ATTRIBUTE_BYTES = 256 << 10  # bytes of bare attributes in long tags: each may take 25 bytes
CONTROLS = bytes({*range(9), 11, *range(14, 32), 127})
MANY_CONTROLS = 100_000

# Formatting elements that are left open are opened again in every paragraph that follows: 500 open ones and 1,000
# paragraphs make 500,000 elements. That is the HTML standard, which also ends it at a depth of 512.
MAX_REOPENED = 100_000
MAX_OPEN = 512
_SPACE = rb"[\t\n\f\r ]"
_ENDS = rb"(?=[\t\n\f\r />])"
_FORMAT = rb"b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
FORMATTING_TAG = re.compile(rb"<(/?)(%b)%b" % (_FORMAT, _ENDS), re.IGNORECASE)
# The rest of a plain tag. One with a stray quote or a "<" in it may end elsewhere for a parser: it is not plain.
_VALUE = rb"%b*+=%b*+(?:\"[^\"<]*+\"|'[^'<]*+'|[^<>\"'=\t\n\f\r ]++)" % (_SPACE, _SPACE)
_REST = rb"%b(?:[\t\n\f\r /]++|[^<>\"'=\t\n\f\r /]++(?:%b)?+)*+>" % (_ENDS, _VALUE)
# A formatting element that is closed where it was opened, with only text and simple elements inside, stays closed.
_PAIR = rb"(%b|a|span|sub|sup)%b[^<]*+</\2%b*+>" % (_FORMAT, _REST, _SPACE)
_INSIDE = rb"[^<]*+(?:<(?:(?:br|img|wbr)%b|%b)[^<]*+)*+" % (_REST, _PAIR)
CLOSED_OR_OPEN = re.compile(
    rb"<(?:(%b)%b%b</\1%b*+>|(?P<open>%b)%b)" % (_FORMAT, _REST, _INSIDE, _SPACE, _FORMAT, _ENDS), re.IGNORECASE
)
SUBSTITUTE = "x-"  # before the name of an element that takes the place of a formatting one
LONG_TAG = re.compile(rb"<[a-zA-Z](?:[^<>\"']|\"[^\"<>]{0,16}\"|'[^'<>]{0,16}'){2048,}+")


class PageSource(NamedTuple):
    """What is parsed of a page."""

    body: bytes
    cut: bool = False
    renamed: bool = False  # formatting elements have stand-ins, which no parser opens again


class ParsedPage(NamedTuple):
    """The tree of a page, or of as much of it as its budgets allow."""

    tree: Document
    cut: bool  # whether something was left out
    guessed: bool  # whether nothing said how its characters are encoded
    source: bytes  # what was parsed


def parse_html(body: bytes | str, label: str | None, url: str | None = None) -> ParsedPage:
    page = decode_utf16(body, label) if isinstance(body, bytes) else body
    given = page.encode("utf-8", "replace") if isinstance(page, str) else page
    source = limit_source(given)
    if source.body is given:
        tree, guessed = parse_page(page, label, url)
    else:
        tree, guessed = parse_page(source.body, "utf-8" if isinstance(page, str) else label, url)
    if source.renamed:
        for name in _FORMAT.decode().split("|"):
            for element in tree.select(SUBSTITUTE + name):
                element.tag = name
    return ParsedPage(tree, source.cut, guessed, source.body)


def limit_source(body: bytes) -> PageSource:
    """The page, or as much of it as its budgets allow."""
    size = len(body)
    tags, reopened = count_tags(body)
    cut = tags > (most := MAX_TAGS + size // BYTES_PER_TAG)
    if cut:
        body, tags = _cut_after(body, b"<", most), most
    if size > LARGE:
        before = body = _without_many_controls(body)
        body = _cut_attribute_flood(_cut_after(body, b"&", MAX_REFERENCES + size // BYTES_PER_REFERENCE))
        cut = cut or len(body) < len(before)
    if reopened <= MAX_REOPENED:
        return PageSource(body, cut)
    return PageSource(FORMATTING_TAG.sub(rb"<\1%b\2" % SUBSTITUTE.encode(), body), cut, renamed=True)


def python_count_tags(body: bytes) -> tuple[int, int]:
    """How many tags there are, and how many formatting elements a parser opens again at most: all, at every tag."""
    times = left_open = done = 0
    for match in CLOSED_OR_OPEN.finditer(body):
        if match["open"] and left_open < MAX_OPEN:
            times += left_open * body.count(b"<", done, match.start())
            left_open, done = left_open + 1, match.start()
    return body.count(b"<"), times + left_open * body.count(b"<", done)


try:
    from spaniel.reading.judge.native import count_tags
except ImportError:  # not built here
    count_tags = python_count_tags


def _cut_after(body: bytes, sign: bytes, most: int) -> bytes:
    """The body up to the first of a sign that is one too many."""
    if body.count(sign) <= most:
        return body
    return body[: -len(body.split(sign, most + 1)[-1]) - 1]


def _without_many_controls(body: bytes) -> bytes:
    """Control characters are scrubbed from what is read: where they are the page, they go before."""
    rest = body.translate(None, CONTROLS)
    return rest if len(body) - len(rest) > MANY_CONTROLS else body


def _cut_attribute_flood(body: bytes) -> bytes:
    """The body up to where long tags have had their share of bare attributes."""
    left = MAX_ATTRIBUTE_BYTES
    for tag in LONG_TAG.finditer(body):
        left -= len(tag[0])
        if left < 0:
            return body[: tag.start()]
    return body

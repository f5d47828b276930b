"""The anchors that a document has: ids that are written, and those that GitHub makes of headings."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING

from spaniel.health.documents import html, markdown, rst
from spaniel.health.documents.quoting import from_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*(?:[^{}]*[ \t])?#(?P<id>[\w:.-]+)[^{}]*\}[ \t]*\Z")
LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]\\]|\\.){0,999}+)\](?:\((?:[^()\\]|\\.|\([^()]{0,999}+\)){0,4999}+\)|\[[^\]]{0,999}+\])"
)
TAG = re.compile(r"<[A-Za-z/!][^<>]{0,999}+>")
STAYS = frozenset({"L", "M", "Nd", "Pc"})  # categories of letters, marks and digits; not those of "①" and "½"
EMOJI_STYLE = "\ufe0f"  # behind a sign that is to be shown as an emoji: a mark, so that GitHub keeps it alone
EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_]{1,999}?)(?<=\S)\1(?!\w)")
UNDERLINES = re.compile(r"([=\-`:'\"~^_*+#<>!$%&(),./;?@\[\\\]{|}])\1*[ \t]*\Z")


def anchors(text: str, kind: str) -> frozenset[str]:
    """Every fragment that leads somewhere in a document."""
    if kind in ("markdown", "mdx"):
        return frozenset(_of_markdown(text, mdx=kind == "mdx"))
    if kind == "html":
        return frozenset(html.ids(text))
    if kind == "rst":
        return frozenset(_of_rst(text))
    return frozenset()


def _of_markdown(text: str, *, mdx: bool) -> Iterator[str]:
    headings: list[str] = []
    for part in markdown.parts(text, mdx=mdx):
        if "<" in part.text:
            yield from html.ids(part.text)
        if isinstance(part, markdown.Heading):
            if named := ATTRIBUTES.search(part.text[-1000:]):
                yield named["id"]
            headings.append(part.text)  # of which GitHub, that has no such ids, takes all
    for name in numbered(slug(heading) for heading in headings):
        yield name
        if EMOJI_STYLE in name:
            yield name.replace(EMOJI_STYLE, "")  # as others have it


def slug(heading: str) -> str:
    """What GitHub makes of a heading: its text in lower case, blanks as hyphens, signs left out."""
    shown = TAG.sub("", LINK.sub(lambda found: found["text"], LINK.sub(lambda found: found["text"], heading)))
    plain = from_markdown(EMPHASIS.sub(r"\2", shown)).strip().lower()
    return "".join(char for char in plain if _stays(char)).replace(" ", "-")


def _stays(char: str) -> bool:
    category = unicodedata.category(char)
    return char in "- " or category in STAYS or category[0] in STAYS


def numbered(slugs: Iterable[str]) -> Iterator[str]:
    """The second of a name gets `-1`, the third `-2`; a number that is taken is left out."""
    taken: dict[str, int] = {}
    for one in slugs:
        name, count = one, taken.get(one, 0)
        while name in taken:
            count += 1
            name = f"{one}-{count}"
        taken[one] = count
        taken.setdefault(name, 0)
        yield name


def _of_rst(text: str) -> Iterator[str]:
    """Titles and targets, as docutils names them."""
    rows = rst.Rows(text)
    for title, line in pairwise(rows):
        shown, under = text[title.start : title.end].strip(), text[line.start : line.end].rstrip()
        if shown and UNDERLINES.fullmatch(under) and len(under) >= len(shown):
            yield _docutils(shown)
    for found in re.finditer(r"^[ \t]*\.\.[ \t]+_`?([^:`\r\n]+)`?:", text, re.MULTILINE):
        yield _docutils(found[1])


def _docutils(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

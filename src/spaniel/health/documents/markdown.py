"""Links in Markdown: in brackets, defined elsewhere, in angles, bare, in raw HTML; in the fields above it too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spaniel.health.documents import bare, html, yaml_fields
from spaniel.health.documents.markdown_blocks import Blocks
from spaniel.health.documents.markdown_inline import Destinations, Inline
from spaniel.health.documents.mention import Stitched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.health.documents.markdown_blocks import Block
    from spaniel.health.documents.mention import Found

FRONT = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*+(?:\r\n|\n|\r)")
FRONT_ENDS = {  # YAML may end with dots too
    "---": re.compile(r"^(?:---|[.]{3})[ \t]*+$", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*+$", re.MULTILINE),
}
DEFINING = ("paragraph", "underlined")
SIGNS = re.compile(r"\]\(|<|://|www\.", re.IGNORECASE)  # without any of these there is no link in a text
LABELLED = re.compile(r"\]:")  # without it nothing is defined
STATEMENT = re.compile(r"^(?:import|export)\b", re.MULTILINE)  # of a program, in MDX
LONGEST_FRONT = 1 << 20


class Leaf:
    """A block as one text, and the links that are in it."""

    def __init__(self, text: str, block: Block) -> None:
        self.kind = block.kind
        self._whole = Stitched(((text[start:end], start, end) for start, end in block.spans), "\n")
        self.text = self._whole.text
        self.begins = 0  # where its text begins behind the definitions

    def define(self, labels: set[str]) -> Iterator[Found]:
        """The definitions at its beginning."""
        destinations = Destinations(self.text)
        while defined := destinations.definition(self.begins):
            name, target = defined
            labels.add(name)
            self.begins = target.end
            if target.found:
                yield self.in_source(target.found)

    def links(self, labels: set[str]) -> Iterator[Found]:
        if self.kind == "html":
            found = html.links(self.text, is_part=True)
        elif SIGNS.search(self.text) is None:
            return
        else:
            found = Inline(self.text, labels).read(self.begins)
        for one in found:
            yield self.in_source(one)

    def in_source(self, found: Found) -> Found:
        return found._replace(start=self._whole.source(found.start), end=self._whole.source_end(found.end))


def links(text: str, *, mdx: bool = False) -> Iterator[Found]:
    """In the order of the text. Blocks are gone through twice where labels are defined, so that they are not kept."""
    front, begin = front_matter(text)
    if front is not None:
        yield from front
    labels: set[str] = set()
    if LABELLED.search(text, begin):
        for block in Blocks(text, begin, mdx=mdx):
            if _may_define(text, block):
                for _ in Leaf(text, block).define(labels):
                    pass
    for block in Blocks(text, begin, mdx=mdx):
        if mdx and STATEMENT.match(text, block.spans[0][0]):
            continue
        leaf = Leaf(text, block)
        if labels and _may_define(text, block):
            yield from leaf.define(labels)
        yield from leaf.links(labels)


def _may_define(text: str, block: Block) -> bool:
    return block.kind in DEFINING and text.startswith("[", block.spans[0][0])


def leaves_of(text: str, begin: int, *, mdx: bool) -> Iterator[Leaf]:
    return (Leaf(text, block) for block in Blocks(text, begin, mdx=mdx))


def front_matter(text: str) -> tuple[Iterator[Found] | None, int]:
    """The links of the fields above the text (YAML, or TOML as text), and where the text begins."""
    opened = FRONT.match(text)
    if opened is None:
        return None, 0
    fence = opened["fence"]
    closed = FRONT_ENDS[fence].search(text[:LONGEST_FRONT].replace("\r", "\n"), opened.end())
    if closed is None:
        return None, 0
    span = opened.end(), closed.start()
    found = yaml_fields.scan(text, *span) if fence == "---" else bare.scan(text, *span)
    return found, closed.end()

"""What the model knows about a block: its text, its containers, what stands before and after it, the kind of page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spaniel.reading.columns import FAR, START, TOO_SHORT, WINDOW
from spaniel.reading.scripts import measure
from spaniel.reading.shapes import ENDS_LIKE, GOOD, LEVEL, LINKED, TONE, WORDS
from spaniel.reading.surroundings import TAGS, UNRANKED, Heritage, Sums, sections, trunk_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spaniel.reading.blocks import Outline
    from spaniel.reading.page import Facts
    from spaniel.reading.shapes import Shape

NOBODY = (-1.0, -1, -1, -1.0)

Row = tuple[float, ...]


def rows(
    out: Outline, shapes: list[Shape], sums: Sums, heritage: Heritage, facts: Facts, kinds: tuple[float, ...]
) -> Iterator[Row]:
    """One row for each block, in the order of columns.NAMES, then the likelihood of each kind of page."""
    homes = [block.container for block in out.blocks]
    tree = _tree_columns(out, set(homes), sums, heritage)
    rest = (_flow_columns(out, shapes, sums), _beside(shapes), _like(out, shapes), _said(out, facts))
    for own, home, flow, beside, like, said in zip(shapes, homes, *rest, strict=True):
        yield own + tree[home] + flow + beside + like + said + kinds


def _tree_columns(out: Outline, homes: set[int], sums: Sums, heritage: Heritage) -> dict[int, Row]:
    """The columns that all blocks of one container share."""
    words, linked, good, paragraphs = sums.words, sums.linked, sums.good, sums.good[-1] or 1
    parent, first, last, weight = out.parent, out.first, out.last, out.weight
    trunk = trunk_of(out, sums)
    begin, end = first[trunk], last[trunk]
    found: dict[int, Row] = {}
    for c in homes:
        a, b = first[c], last[c]
        up = parent[c] if c else 0
        x, y = first[up], last[up]
        size, above, told = words[b] - words[a], words[y] - words[x], good[y] - good[x]
        found[c] = (
            TAGS.get(out.tag[c], UNRANKED), heritage.every[c], heritage.marks[c], heritage.low[c], heritage.total[c],
            weight[up],
            (good[b] - good[a]) / size, (linked[b] - linked[a]) / size, out.twins[out.kin[c]],
            above, told / above, told / paragraphs,
            1 if begin <= a < end else 0,
        )  # fmt: skip
    return found


def _flow_columns(out: Outline, shapes: list[Shape], sums: Sums) -> Iterator[Row]:
    """The columns that depend on what stands before and after a block."""
    words, good, n = sums.words, sums.good, len(shapes)
    whole, paragraphs = words[-1] or 1, good[-1] or 1
    first = next((i for i, s in enumerate(shapes) if s[LEVEL] == 1), None)
    times = Counter(block.text for block in out.blocks)
    for i, (head, mask, level, linked) in enumerate(sections(out, shapes, sums)):
        low, high = max(0, i - WINDOW), min(n, i + WINDOW + 1)
        yield (
            words[high] - words[low], good[high] - good[low],
            words[i] / whole, 1 - good[i + 1] / paragraphs,
            times[out.blocks[i].text],
            FAR if first is None else min(FAR, i - first), i - head if head >= 0 else FAR,
            mask, level, linked,
        )  # fmt: skip


def _beside(shapes: list[Shape]) -> Iterator[Row]:
    """The shapes of the blocks before and after each."""
    some = [NOBODY, *((s[LINKED], s[ENDS_LIKE], s[LEVEL], s[TONE]) for s in shapes), NOBODY]
    return (before + after for before, after in zip(some, some[2:], strict=False))


def _like(out: Outline, shapes: list[Shape]) -> list[Row]:
    """A page gives its paragraphs the same tags and names, and its teasers others: what holds for all holds for one."""
    kin, parent = out.kin, out.parent
    makes = [(kin[b.container][1:], kin[parent[b.container] if b.container else 0][1:]) for b in out.blocks]
    tally: dict[object, list[float]] = {}
    for make, s in zip(makes, shapes, strict=True):
        count = tally.setdefault(make, [0.0, 0.0, 0.0, 0.0])
        words = s[WORDS]
        count[0] += words
        count[1] += words * s[LINKED]
        count[2] += words * s[GOOD]
        count[3] += 1
    paragraphs = sum(good for _, _, good, _ in tally.values()) or 1
    found = {make: (good / paragraphs, linked / words, words / n) for make, (words, linked, good, n) in tally.items()}
    return [found[make] for make in makes]


def _said(out: Outline, facts: Facts) -> list[Row]:
    """Whether the head has the beginning of a block."""
    told, description = facts.told, facts.description
    if not told and not description:
        return [(0, 0)] * len(out.blocks)
    found: list[Row] = []
    for block in out.blocks:
        start = block.text[:START]
        known = 0 if measure(start)[1] < TOO_SHORT else 2 if start in told else 1 if start in description else 0
        found.append((1 + known, len(told)))
    return found

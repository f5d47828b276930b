"""The features of each block: its text, its containers, its neighbours, and the page as a whole."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.data_files import data_file, line_numbers
from spaniel.reading.judge.class_names import group_bit
from spaniel.reading.judge.columns import (
    BEGINNING,
    COUNTED,
    FADING,
    FAR,
    GROUPS,
    HARDLY_LINKED,
    PARAGRAPH_LETTERS,
    PARAGRAPH_WORDS,
    PRICE_LETTERS,
    SHAPE,
    START,
    TITLE_WORDS,
    TOO_SHORT,
    TRUNK_SHARE,
    WINDOW,
)
from spaniel.reading.text.words import count_spaced_words, measure_text, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spaniel.reading.judge.blocks import Block, Outline


HEADINGS = {f"h{level}": level for level in range(1, 7)}
SENTENCE_ENDS = frozenset('.。!?”"’)！？」』）｡।۔؟։።။។')
LINK_ENDS = frozenset("…»>→|＞›")
COLONS = frozenset(":：")

TextFeatures = tuple[float, ...]  # in the order of SHAPE; a plain tuple, for there are hundreds on a page
WORDS, LINKED, ENDS_LIKE, LEVEL, GOOD, TONE = (
    SHAPE.index(name) for name in ("words", "linked", "ends", "level", "good", "tone")
)


def title_words(title: str) -> frozenset[str]:
    return frozenset(split_words(" ".join(title.lower().split())))


def text_features(block: Block, tag: str, title: frozenset[str], tones: dict[str, float]) -> TextFeatures:
    text = block.text
    items = block.items
    count, chars = measure_text(text)
    linked = block.link_chars / len(text) if block.link_chars < len(text) else 1.0
    long = count >= PARAGRAPH_WORDS * items or chars > PARAGRAPH_LETTERS * items
    last = text[-1]
    level = HEADINGS.get(tag, 0)
    head = text[:BEGINNING]
    words = head.split(" ")
    low = split_words(head.lower())
    known = [weight for weight in map(tones.get, low) if weight]
    return (
        count, chars, linked,
        3 if last in SENTENCE_ENDS else 2 if last in COLONS else 1 if last in LINK_ENDS else 0,
        level,
        1 if linked < HARDLY_LINKED and long and not level else 0,
        sum(map(str.istitle, words)) / len(words),
        sum(known) / len(known) if known else 0.0,
        len(title.intersection(low)) / len(low) if count < TITLE_WORDS else 0.0,
    )  # fmt: skip


TAG_RANKS = line_numbers(data_file("tags")["rank"])
UNRANKED_TAG = TAG_RANKS["div"]
LANDMARKS = {tag: 1 << place for place, tag in enumerate(data_file("tags")["landmarks"].split())}


class RunningSums:
    """Running sums over blocks, so that any container's totals are two look-ups."""

    __slots__ = ("good", "linked", "words")

    def __init__(self, shapes: list[TextFeatures]) -> None:
        self.words = [0, *accumulate(s[0] for s in shapes)]
        self.linked = [0.0, *accumulate(s[0] * s[LINKED] for s in shapes)]
        self.good = [0, *accumulate(s[0] * s[GOOD] for s in shapes)]  # words in paragraphs


class Inherited:
    """What each container has from its ancestors: groups of names, landmarks, the weights of names."""

    __slots__ = ("every", "low", "marks", "total")

    def __init__(self, out: Outline) -> None:
        self.every, self.marks, self.low, self.total = [0], [0], [0.0], [0.0]
        every, marks, low, total = self.every, self.marks, self.low, self.total
        own, weights, tags = out.mask, out.weight, out.tag
        for i, up in enumerate(out.parent):
            if i:
                weight, least = weights[i], low[up]
                every.append(every[up] | own[i])
                marks.append(marks[up] | LANDMARKS.get(tags[i], 0))
                low.append(min(least, weight))
                total.append(FADING * total[up] + weight)


def main_container(out: Outline, sums: RunningSums) -> int:
    """The end of the way down from the body as long as one child holds most of the words in paragraphs."""
    good, parent, first, last = sums.good, out.parent, out.first, out.last
    most = TRUNK_SHARE * good[-1]
    here = 0
    for i in range(1, len(parent)):  # children come after their parents, and two cannot both hold most
        if parent[i] == here and 0 < good[last[i]] - good[first[i]] >= most:
            here = i
    return here


Section = tuple[
    int, int, int, float
]  # where its heading is, the groups of the heading's names, its level, share of links


def sections(out: Outline, shapes: list[TextFeatures], sums: RunningSums) -> list[Section]:
    """For each block the section it stands in."""
    result: list[Section] = []
    begin, head = 0, -1
    for stop in [*(i for i, s in enumerate(shapes) if s[LEVEL]), len(shapes)]:
        if stop > begin:
            words = sums.words[stop] - sums.words[begin]
            linked = (sums.linked[stop] - sums.linked[begin]) / words
            level = int(shapes[head][LEVEL]) if head >= 0 else 0
            result += [(head, _groups_near(out, head), level, linked)] * (stop - begin)
        begin = head = stop
    return result


def _groups_near(out: Outline, block: int) -> int:
    """The groups of the names on a block's container and two above it."""
    if block < 0:
        return 0
    c = out.blocks[block].container
    up = out.parent[c]
    return out.mask[c] | out.mask[up] | out.mask[out.parent[up]] if up > 0 else out.mask[c]


PAGE_WORDS = {name: line_numbers(lines, 1) for name, lines in data_file("page").items()}
WORD = re.compile(r"[a-z]+")
PRICE = re.compile(r"[$€£¥₹￥₩฿]\s?\d|\d\s?(?:€|zł|kr\b|USD|EUR|円|元|원|บาท)")
# For a page without a URL: as a root page, an article would be classified as a listing.
UNKNOWN_URL = (2, 5, 0, 0, 0)


def url_features(url: str) -> tuple[float, ...]:
    if not url:
        return UNKNOWN_URL
    host, _, rest = url.partition("://")[2].partition("/")
    path = rest.partition("?")[0].partition("#")[0]
    parts = [part for part in path.split("/") if part]
    last = parts[-1] if parts else ""
    known = [
        PAGE_WORDS["url"][word]
        for word in (*(p.lower() for p in parts), host.lower().partition(".")[0])
        if word in PAGE_WORDS["url"]
    ]
    return (
        len(parts),
        last.count("-") + last.count("_"),
        0 if parts else 1,
        sum(map(str.isdigit, path)),
        known[0] if known else 0,
    )


class HeadFacts(NamedTuple):
    """What the head says about the page."""

    url: str
    title: str
    titled: bool
    open_graph: str
    linked_data: list[str]
    generator: str
    times: int
    images: int
    description: str
    linked_text: str  # the text in linked data
    objects: Sequence[dict[str, object]] = ()  # of linked data


def page_features(
    out: Outline, shapes: list[TextFeatures], sums: RunningSums, heritage: Inherited, facts: HeadFacts
) -> tuple[float, ...]:
    """In the order of columns.PAGE."""
    words = sums.words[-1] or 1
    levels = [s[LEVEL] for s in shapes if s[LEVEL]]
    prices = sum(1 for block in out.blocks if len(block.text) < PRICE_LETTERS and PRICE.search(block.text))
    return (
        words,
        len(shapes),
        sums.linked[-1] / words,
        sums.good[-1] / words,
        sum([s[GOOD] for s in shapes]),
        len(levels),
        levels.count(1),
        *(out.tag.count(tag) for tag in COUNTED),
        facts.times,
        facts.images,
        prices,
        *_group_shares(out, sums, heritage),
        *head_features(facts),
        _largest_group(out) / (len(shapes) or 1),
    )


def head_features(facts: HeadFacts) -> tuple[float, ...]:
    """Return the features of the URL and the head in the order of columns.PAGE: from "open graph" to "title"."""
    types = [
        PAGE_WORDS["linked_data"][t] for name in facts.linked_data if (t := name.lower()) in PAGE_WORDS["linked_data"]
    ]
    makers = [
        PAGE_WORDS["generator"][w] for w in WORD.findall(facts.generator[:80].lower()) if w in PAGE_WORDS["generator"]
    ]
    return (
        PAGE_WORDS["open_graph"].get(facts.open_graph, 6) if facts.open_graph else 0,
        min(types, default=0),
        *url_features(facts.url),
        makers[0] if makers else 0,
        count_spaced_words(facts.title),
    )


def _group_shares(out: Outline, sums: RunningSums, heritage: Inherited) -> list[float]:
    """The share of the words that stands under class names of each of GROUPS."""
    wanted = [group_bit(group) for group in GROUPS]
    under: dict[int, float] = {}
    for block, begin, end in zip(out.blocks, sums.words, sums.words[1:], strict=False):
        groups = heritage.every[block.container]
        under[groups] = under.get(groups, 0) + end - begin
    whole = sums.words[-1] or 1
    return [sum([size for groups, size in under.items() if groups & one]) / whole for one in wanted]


def _largest_group(out: Outline) -> int:
    """The most blocks that any group of like siblings can hold."""
    twins, first, last = out.twins, out.first, out.last
    many = {kin: count_spaced_words for kin, count_spaced_words in twins.items() if count_spaced_words > 2}
    return max([0, *(many[kin] * (last[i] - first[i]) for i, kin in enumerate(out.kin) if kin in many)])


NO_NEIGHBOUR = (-1.0, -1, -1, -1.0)

FeatureRow = tuple[float, ...]


def block_rows(
    out: Outline,
    shapes: list[TextFeatures],
    sums: RunningSums,
    heritage: Inherited,
    facts: HeadFacts,
    kinds: tuple[float, ...],
) -> Iterator[FeatureRow]:
    """One row for each block, in the order of columns.NAMES, then the likelihood of each kind of page."""
    homes = [block.container for block in out.blocks]
    tree = _container_features(out, set(homes), sums, heritage)
    rest = (
        _position_features(out, shapes, sums),
        _neighbour_features(shapes),
        _lookalike_features(out, shapes),
        _head_match_features(out, facts),
    )
    for own, home, flow, beside, like, said in zip(shapes, homes, *rest, strict=True):
        yield own + tree[home] + flow + beside + like + said + kinds


def _container_features(out: Outline, homes: set[int], sums: RunningSums, heritage: Inherited) -> dict[int, FeatureRow]:
    """The columns that all blocks of one container share."""
    words, linked, good, paragraphs = sums.words, sums.linked, sums.good, sums.good[-1] or 1
    parent, first, last, weight = out.parent, out.first, out.last, out.weight
    trunk = main_container(out, sums)
    begin, end = first[trunk], last[trunk]
    found: dict[int, FeatureRow] = {}
    for c in homes:
        a, b = first[c], last[c]
        up = parent[c] if c else 0
        x, y = first[up], last[up]
        size, above, paragraph_words = words[b] - words[a], words[y] - words[x], good[y] - good[x]
        found[c] = (
            TAG_RANKS.get(out.tag[c], UNRANKED_TAG), heritage.every[c], heritage.marks[c], heritage.low[c],
            heritage.total[c],
            weight[up],
            (good[b] - good[a]) / size, (linked[b] - linked[a]) / size, out.twins[out.kin[c]],
            above, paragraph_words / above, paragraph_words / paragraphs,
            1 if begin <= a < end else 0,
        )  # fmt: skip
    return found


def _position_features(out: Outline, shapes: list[TextFeatures], sums: RunningSums) -> Iterator[FeatureRow]:
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


def _neighbour_features(shapes: list[TextFeatures]) -> Iterator[FeatureRow]:
    """The shapes of the blocks before and after each."""
    some = [NO_NEIGHBOUR, *((s[LINKED], s[ENDS_LIKE], s[LEVEL], s[TONE]) for s in shapes), NO_NEIGHBOUR]
    return (before + after for before, after in zip(some, some[2:], strict=False))


def _lookalike_features(out: Outline, shapes: list[TextFeatures]) -> list[FeatureRow]:
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


def _head_match_features(out: Outline, facts: HeadFacts) -> list[FeatureRow]:
    """Whether the head has the beginning of a block."""
    linked_text, description = facts.linked_text, facts.description
    if not linked_text and not description:
        return [(0, 0)] * len(out.blocks)
    found: list[FeatureRow] = []
    for block in out.blocks:
        start = block.text[:START]
        known = (
            0 if measure_text(start)[1] < TOO_SHORT else 2 if start in linked_text else 1 if start in description else 0
        )
        found.append((1 + known, len(linked_text)))
    return found

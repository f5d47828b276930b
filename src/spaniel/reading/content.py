"""Chooses the content blocks of a page and removes the rest from the tree (FR-WF-13 step 4, FG-16).

After the decision, duplicates, values for machines and headings over nothing are dropped from the kept text."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.judge.class_names import group_bit
from spaniel.reading.judge.columns import FEW_WORDS, KINDS
from spaniel.reading.judge.features import HEADINGS
from spaniel.reading.metadata.products import find_product_facts, write_product_facts
from spaniel.reading.posts.threads import PostThread, drop_doubtful_reviews

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from turbohtml import Element

    from spaniel.reading.judge.blocks import Outline
    from spaniel.reading.judge.features import HeadFacts
    from spaniel.reading.steps import OptionalSteps

    T = TypeVar("T")


MIN_ECHO_HEADING, MAX_ECHO = 20, 300  # characters (chosen): a shorter heading may well be repeated
MAX_QUOTE_DEPTH = 12  # ancestors that are searched for a quotation (chosen)
MIN_ECHO = 12  # characters of an immediate repetition (chosen)
MACHINE_VALUE = re.compile(
    r"https?://\S+\.(?:jpe?g|png|gif|webp|svg|avif)(?:\?\S*)?|\d{4}-\d\d-\d\dT\d\d:\d\d\S{0,20}", re.IGNORECASE
)  # the URL of an image, an ISO timestamp


def drop_duplicates(out: Outline, keep: list[bool]) -> None:
    """Skip microdata, which repeats the heading and has invisible values, and duplicates for small screens."""
    heads = {out.first[i] for i, tag in enumerate(out.tag) if tag == "h1" and out.first[i] < out.last[i]}
    titles: dict[str, list[int]] = {
        text.casefold(): [] for i in heads if MIN_ECHO_HEADING <= len(text := out.blocks[i].text) <= MAX_ECHO
    }
    before, kin = -1, out.kin  # the compiled outline builds that list on each access
    for i, block in enumerate(out.blocks):
        if not keep[i] or len(block.text) > MAX_ECHO:
            continue
        if _is_machine_value(out, i):
            keep[i] = False
            continue
        if before >= 0 and _is_repeated(out, kin, before, i):
            if out.tag[block.container] not in HEADINGS or out.tag[out.blocks[before].container] in HEADINGS:
                keep[i] = False
                continue
            keep[before] = False
        if titles and (same := titles.get(block.text.casefold())) is not None:
            same.append(i)
        before = i
    for same in titles.values():
        chosen = next((i for i in same if i in heads), same[0] if same else -1)
        for i in same:
            keep[i] = i == chosen


def _is_machine_value(out: Outline, place: int) -> bool:
    block = out.blocks[place]
    return (
        block.text[0] in "hH12"
        and MACHINE_VALUE.fullmatch(block.text) is not None
        and out.tag[block.container] not in ("pre", "code")
    )


def _is_repeated(out: Outline, kin: list[tuple[int, str, str]], before: int, place: int) -> bool:
    """Only in different elements: the lines of a song repeat in similar elements. Quotations are kept."""
    one, other = out.blocks[before], out.blocks[place]
    if one.text != other.text or len(one.text) < MIN_ECHO:
        return False
    return kin[one.container][1:] != kin[other.container][1:] and not _is_quoted(out, other.container)


def _is_quoted(out: Outline, place: int) -> bool:
    for _ in range(MAX_QUOTE_DEPTH):
        if place < 0 or out.tag[place] == "blockquote":
            break
        place = out.parent[place]
    return place >= 0 and out.tag[place] == "blockquote"


def drop_empty_headings(out: Outline, words: list[float], keep: list[bool]) -> None:
    """Drop headings without text below them; not the title, and not links, which are the content of a list of pages.

    From the end, so that a heading over idle headings is idle itself. Every block is visited once per level.
    """
    blocks, tags = out.blocks, out.tag
    for i in range(len(keep) - 1, -1, -1):
        if not keep[i] or blocks[i].link_chars:
            continue
        tag = tags[blocks[i].container]
        if tag in HEADINGS and tag != "h1" and _is_over_nothing(out, words, keep, i, tag):
            keep[i] = False


def _is_over_nothing(out: Outline, words: list[float], keep: list[bool], heading: int, tag: str) -> bool:
    """Whether there was text below the heading, up to the next of the same or a higher level, and none is kept."""
    gone = 0.0
    for i in range(heading + 1, len(keep)):
        other = out.tag[out.blocks[i].container]
        if other in HEADINGS and other <= tag:
            break
        if keep[i]:
            return False
        gone += words[i]
    return gone > 0  # without text there may be images


try:
    from spaniel.reading.judge.native import judge
except ImportError:  # not built here
    from spaniel.reading.judge.model import judge

MIN_BEST = (
    0.17  # rules and thresholds: ADR 0011. Below it even the likeliest block is not content: the page is a shell that
)
# is filled by scripts, or of an unknown kind
LIKE_AN_ARTICLE = 0.5
LIKE_DOCUMENTATION = 0.5
LIKE_A_FORUM = 0.5
NEARLY_ALL, MIN_DOCUMENTATION = 0.9, 0.12
ARTICLE_RECALL = 0.5
COMMENT_FACTOR, NESTED_ARTICLE_FACTOR = (
    0.05,
    0.3,
)  # factors for the score of a comment, and of an article inside an article (ADR 0011)
HEADLINE, ARTICLE_HEADLINE = 0.25, 0.6  # scores from which a heading that repeats the title is kept (ADR 0011)
LIKELY = 0.6  # share of the score of the page's likeliest block (ADR 0011)
SOME_WORDS = 60  # words that something else must have to be the article (chosen)
CERTAIN = 0.9
SURE = 0.7  # score from which an isolated block is kept (ADR 0011)
WHOLE_TAGS = frozenset({"table", "dl", "blockquote", "ul", "ol"})  # elements that should not lose a part
LARGER_PART, POSSIBLE = 0.6, 0.1
POSSIBLE_FRAMED = 0.3
FRAMED_TAGS = frozenset({"figcaption", "dl", "table", "blockquote"})  # elements outside the text that belong to it
MAIN_TAGS = frozenset({"main", "article"})
APART_TAGS = frozenset(
    {
        "nav",
        "aside",
        "header",
        "footer",
        "form",
        "fieldset",
        "article",
        "figure",
        "figcaption",
        "h1",
        "center",
        "time",
        "address",
        "details",
    }
)  # inside the main part, elements that are rarely part of its text
FOREIGN_GROUPS = (
    "nav", "sidebar", "footer", "header", "comment", "related", "share", "ad", "promo", "meta", "author", "card",
    "search", "form", "popup", "media", "tags", "widget", "toc", "forum", "hidden", "tool", "embed", "boilerplate",
)  # fmt: skip
MIN_UNNAMED, NEVER = 0.1, 2.0  # score from which a part without class names is kept; a score that nothing reaches
MAX_LINK_SHARE = 0.3
TERM_TAGS = frozenset({*HEADINGS, "summary", "dt"})
HEADING_WINDOW = 2  # blocks before and after a heading
MAX_COMPARED = 20_000  # characters of a block that are compared with others (chosen)
MAX_REMEMBERED = 50_000  # word triples that are stored for that (chosen)
MAX_GAP = 20  # words of dropped text that separate two stretches of kept text
WORD = re.compile(r"\w+")
CLAUSE = re.compile("[ ，。、；：！？]")  # in a script without spaces, clauses are compared
MIN_THRESHOLD = 0.2  # lower bound of the threshold with the best expected F1


def is_compiled() -> bool:
    """Whether the compiled judge is used."""
    return judge.__module__.endswith(".native")


class ContentChoice(NamedTuple):
    """The result of choosing the content."""

    kind: str  # of page
    cut: bool  # whether there were too many blocks
    opened: str = ""  # author of the first post of a thread


def keep_content(body: Element, facts: HeadFacts, steps: OptionalSteps) -> ContentChoice:
    """Remove everything from the tree that is not content."""
    out, words, odds, kinds = judge(body, facts)
    keep = decide(out, words, odds, kinds) if odds else _plain_rules(out, words)

    def optional(name: str, step: Callable[[], T], otherwise: T) -> T:
        """Run a step that changes `keep`; if it fails, restore it."""
        before = keep.copy()
        return steps.run(name, step, otherwise, lambda: keep.__setitem__(slice(None), before))

    optional("reviews", lambda: drop_doubtful_reviews(out, words, odds, kinds, keep), None)
    thread = optional("threads", lambda: PostThread(out, words, kinds, keep, facts).chosen(), None)
    none: list[str] = []
    particulars = optional("facts", lambda: find_product_facts(out, keep, kinds, facts), none)
    if odds:
        title = facts.title if facts.titled else ""
        optional("headings", lambda: _keep_heading(out, odds, keep, title, _article_weight(kinds)), None)
        optional("echoes", lambda: drop_duplicates(out, keep), None)
        optional("headings", lambda: drop_empty_headings(out, words, keep), None)
    _prune(out, keep)
    if thread is not None:
        steps.run("threads", thread.write, None)
    steps.run("facts", lambda: write_product_facts(body, particulars), None)
    kind = KINDS[kinds.index(max(kinds))] if odds else "page"
    return ContentChoice(kind, out.cut, thread.opened_by if thread is not None else "")


def decide(out: Outline, words: list[float], odds: list[float], kinds: list[float]) -> list[bool]:
    """Keep blocks above the threshold with the best expected F1; be stricter on articles."""
    best = max(odds)
    if best < MIN_BEST:
        keep = _plain_rules(out, words)  # unknown kind of page: if it has much text, keep more rather than less
        return keep if sum(w for w, k in zip(words, keep, strict=True) if k) >= FEW_WORDS else [False] * len(keep)
    if best < MIN_THRESHOLD:
        return [p >= best / 3 for p in odds]
    firm = _article_weight(kinds)
    if firm:
        odds = _discount_comments(out, words, odds, firm)
    least = threshold(odds, words, ARTICLE_RECALL**firm)
    keep = [p >= least for p in odds]
    before = keep.copy()
    drop_repeats(out, keep)
    repeated = [was and not is_ for was, is_ in zip(before, keep, strict=True)]
    if kinds[0] > LIKE_AN_ARTICLE:
        _drop_strays(words, odds, keep)
    elif kinds[1] > LIKE_DOCUMENTATION:
        _fill_documentation(out, words, odds, keep)
    if kinds[2] <= LIKE_A_FORUM:  # forums: quotes and signatures are not needed
        _complete_lists(out, words, odds, keep)
        _join_headings(out, odds, keep)
    _keep_short_parts(out, words, odds, keep, repeated)
    _prefer_main(out, words, odds, keep)
    return keep


def _article_weight(kinds: list[float]) -> float:
    """Return how much the page is an article, from 0 to 1: the predicted kind is a weight, not a switch."""
    return min(1.0, max(0.0, 2 * kinds[0] - 0.3))


def _keep_heading(out: Outline, odds: list[float], keep: list[bool], title: str, firm: float) -> None:
    """Drop an article's headline that repeats the title; a heading with other words is kept."""
    if out.tag.count("h1") != 1:
        return
    heading = out.tag.index("h1")
    place = out.first[heading]
    if place < out.last[heading] and not keep[place] and True in keep[place:]:
        words = set(WORD.findall(out.blocks[place].text.lower()))
        known = len(words.intersection(WORD.findall(title.lower()))) >= len(words) / 2
        keep[place] = not known or odds[place] >= HEADLINE + (ARTICLE_HEADLINE - HEADLINE) * firm


def threshold(odds: list[float], words: list[float], recall: float) -> float:
    """Return the threshold with the highest expected F score; `recall` below one favours precision."""
    expected = recall * sum(p * w for p, w in zip(odds, words, strict=True))
    right = kept = best = 0.0
    least = MIN_THRESHOLD
    likely = sorted([(p, w) for p, w in zip(odds, words, strict=True) if p >= MIN_THRESHOLD], reverse=True)
    for p, w in likely:
        right, kept = right + p * w, kept + w
        if (value := right / (kept + expected + 1e-9)) > best:
            best, least = value, p
    if likely and least == likely[-1][0]:
        return MIN_THRESHOLD  # it can only fall from here, so the many other blocks are not sorted
    return least


def _discount_comments(out: Outline, words: list[float], odds: list[float], firm: float) -> list[float]:
    """Lower the scores of comments and of articles inside an article."""
    comment = group_bit("comment")
    remarks = [i for i, mask in enumerate(out.mask) if mask & comment and i]
    articles = [i for i, tag in enumerate(out.tag) if tag == "article"]
    if len(articles) < 2 and not remarks:
        return odds
    said, depths = _depths(out, remarks), _depths(out, articles)
    least = LIKELY * max(odds)
    likely = [row for row in zip(words, said, depths, odds, strict=True) if row[3] > least]
    whole = sum([w for w, _, _, _ in likely])
    text_words = sum([w for w, remark, _, _ in likely if not remark])
    outer = sum([w for w, _, depth, _ in likely if depth < 2])
    remark = COMMENT_FACTOR**firm if text_words >= max(SOME_WORDS, 0.15 * whole) else 1.0
    inner = NESTED_ARTICLE_FACTOR**firm if outer >= max(SOME_WORDS, 0.2 * whole) else 1.0
    return [
        p * ((remark if by else 1.0) * (inner if depth > 1 else 1.0))
        for p, by, depth in zip(odds, said, depths, strict=True)
    ]


def _depths(out: Outline, containers: list[int]) -> list[int]:
    """Return for each block the number of these containers around it; they may be nested."""
    steps = [0] * (len(out.blocks) + 1)
    for i in containers:
        if out.last[i] > out.first[i]:
            steps[out.first[i]] += 1
            steps[out.last[i]] -= 1
    return list(accumulate(steps[:-1]))


def drop_repeats(out: Outline, keep: list[bool]) -> None:
    """Drop text that occurs a second time: pages repeat it for scripts or for small screens."""
    starts = [block.text[:40] for block, kept in zip(out.blocks, keep, strict=True) if kept and len(block.text) >= 60]
    if len(starts) == len(set(starts)):
        return
    seen: dict[tuple[str, ...], int] = {}  # three words -> the parent of the block that had them first
    for i, block in enumerate(out.blocks):
        if not keep[i] or len(block.text) < 60 or len(seen) > MAX_REMEMBERED:
            continue
        text, home = block.text[:MAX_COMPARED], out.parent[block.container]
        words = [*(text.split(" ") if text.isascii() else CLAUSE.split(text)), "", ""]
        marks = [(word, words[j + 1], words[j + 2]) for j, word in enumerate(words) if len(word) > 6]
        if len(marks) >= 4 and sum([seen.get(mark, home) != home for mark in marks]) >= 0.8 * len(marks):
            keep[i] = False
        else:
            for mark in marks:
                seen.setdefault(mark, home)


def _drop_strays(words: list[float], odds: list[float], keep: list[bool]) -> None:
    """Drop small, doubtful stretches that are separated from the article by other text: they are teasers."""
    stretches: list[list[int]] = []
    between = MAX_GAP + 1.0
    for i, kept in enumerate(keep):
        if not kept:
            between += words[i]
            continue
        if between > MAX_GAP:
            stretches.append([])
        stretches[-1].append(i)
        between = 0
    sizes = [sum(words[i] for i in stretch) for stretch in stretches]
    for stretch, size in zip(stretches, sizes, strict=True):
        sure = sum(odds[i] * (words[i] + 0.1) for i in stretch) / (size + 0.1 * len(stretch))
        if size < 0.2 * max(sizes) and sure < 0.85:
            for i in stretch:
                keep[i] = odds[i] >= SURE


def _fill_documentation(out: Outline, words: list[float], odds: list[float], keep: list[bool]) -> None:
    """Keep cells and items inside the main element of documentation, even with low scores."""
    kept = [0.0, *accumulate(w if k else 0.0 for w, k in zip(words, keep, strict=True))]
    spans = [
        (a, b) for a, b in zip(out.first, out.last, strict=True) if b > a and kept[b] - kept[a] >= NEARLY_ALL * kept[-1]
    ]
    if spans:
        first, last = spans[-1]  # the deepest: containers come in document order
        for i in range(first, last):
            keep[i] = keep[i] or odds[i] >= MIN_DOCUMENTATION


def _complete_lists(out: Outline, words: list[float], odds: list[float], keep: list[bool]) -> None:
    """Complete tables, lists and quotations of which the larger part is kept."""
    if WHOLE_TAGS.isdisjoint(out.tag):
        return
    total = [0.0, *accumulate(words)]
    kept = [0.0, *accumulate(w if k else 0.0 for w, k in zip(words, keep, strict=True))]
    done = 0
    for tag, first, last in zip(out.tag, out.first, out.last, strict=True):
        if (
            tag in WHOLE_TAGS
            and last > max(first, done)
            and kept[last] - kept[first] >= LARGER_PART * (total[last] - total[first])
        ):
            for i in range(max(first, done), last):  # nested ones are visited once
                keep[i] = keep[i] or odds[i] >= POSSIBLE
            done = last


def _keep_short_parts(
    out: Outline, words: list[float], odds: list[float], keep: list[bool], repeated: list[bool]
) -> None:
    """Keep short parts beside long prose: the best threshold for the whole page drops them even if they are likely.

    Only inside the element that the page itself calls its main part, and nothing that is named or placed like
    boilerplate, mostly link, or a copy of what is kept.
    """
    trunk = _main_part(out, words, keep)
    if trunk is None:
        return
    classes = [names for _, _, names in out.kin]
    foreign = sum(map(group_bit, FOREIGN_GROUPS))
    least: list[float] = []  # score from which a block in this container is kept
    for i, up in enumerate(out.parent):
        above = least[up] if i > trunk else MIN_UNNAMED
        if i > trunk and (out.tag[i] in APART_TAGS or out.mask[i] & foreign):
            above = NEVER
        elif i > trunk and classes[i]:
            above = max(above, MIN_THRESHOLD)
        least.append(above)
    for i in range(out.first[trunk], out.last[trunk]):
        block = out.blocks[i]
        if not keep[i] and odds[i] >= least[block.container] and not repeated[i]:
            keep[i] = block.link_chars <= MAX_LINK_SHARE * len(block.text)


def _prefer_main(out: Outline, words: list[float], odds: list[float], keep: list[bool]) -> None:
    """Outside a `<main>` with most of the text, keep only a title and blocks that are surely content (FR-WF-13).

    `odds` is empty for a page that is too small to be judged.
    """
    mains = [i for i, tag in enumerate(out.tag) if tag == "main" and out.last[i] > out.first[i]]
    if not mains:
        return
    kept = [0.0, *accumulate(w if k else 0.0 for w, k in zip(words, keep, strict=True))]
    best = max(mains, key=lambda i: kept[out.last[i]] - kept[out.first[i]])
    first, last = out.first[best], out.last[best]
    if kept[last] - kept[first] < LARGER_PART * kept[-1]:
        return
    for i in (*range(first), *range(last, len(keep))):
        if (not odds or odds[i] < CERTAIN) and out.tag[out.blocks[i].container] != "h1":
            keep[i] = False


def _main_part(out: Outline, words: list[float], keep: list[bool]) -> int | None:
    """Return the innermost `<main>`, `role="main"` or `<article>` with most of the kept text."""
    kept = [0.0, *accumulate(w if k else 0.0 for w, k in zip(words, keep, strict=True))]
    found = None
    for i, (tag, first, last) in enumerate(zip(out.tag, out.first, out.last, strict=True)):
        if last > first and kept[last] - kept[first] >= NEARLY_ALL * kept[-1] and tag in MAIN_TAGS:
            found = i
    return found


def _join_headings(out: Outline, odds: list[float], keep: list[bool]) -> None:
    """Keep what belongs to kept text: headings (linked ones too), terms, questions, captions."""
    chosen = list(keep)
    for i in range(len(keep) - 1, -1, -1):
        if keep[i] or odds[i] < POSSIBLE:
            continue
        home = out.blocks[i].container
        tag = out.tag[home]
        framed = tag in FRAMED_TAGS or (home > 0 and out.tag[out.parent[home]] in FRAMED_TAGS)
        if tag in TERM_TAGS or out.blocks[i].text[-1] in "?？؟" or (framed and odds[i] >= POSSIBLE_FRAMED):
            keep[i] = True in chosen[max(0, i - HEADING_WINDOW) : i] and True in keep[i + 1 : i + 1 + HEADING_WINDOW]


def _plain_rules(out: Outline, words: list[float]) -> list[bool]:
    """Apply FR-WF-13 steps 1 to 3 as written, for small pages, with the exceptions of D2-08."""
    boilerplate, total = group_bit("boilerplate"), [0, *accumulate(words)]
    dropped: list[bool] = []
    for i, up in enumerate(out.parent):
        tag, element = out.tag[i], out.elements[i]
        named = tag in ("aside", "header") or (
            bool(out.mask[i] & boilerplate) and tag not in ("body", "main", "article", *HEADINGS)
        )
        if named and (tag != "aside" or group_bit("notes") & out.mask[i] or element.attr("role") == "doc-footnote"):
            inside = element.closest("article,main,[role=main]") is not None
            named = not inside or (tag != "aside" and element.select_one("h1") is None)
        holds = total[out.last[i]] - total[out.first[i]] if out.last[i] > out.first[i] else 0
        dropped.append((up >= 0 and dropped[up]) or (named and holds <= total[-1] / 2))
    keep = [not dropped[block.container] for block in out.blocks]
    _prefer_main(out, words, [], keep)
    return keep


def _prune(out: Outline, keep: list[bool]) -> None:
    """Remove containers without a kept block, and the text of dropped blocks inside kept containers."""
    kept = [0, *accumulate(keep)]
    gone: list[bool] = []
    for i, (up, first, last) in enumerate(zip(out.parent, out.first, out.last, strict=True)):
        above = up >= 0 and gone[up]
        empty = above or (last > first and kept[last] == kept[first])
        if empty and not above:
            out.elements[i].decompose() if i else out.elements[i].clear()
        gone.append(empty)
    for block, k in zip(out.blocks, keep, strict=True):
        if not k and not gone[block.container]:
            for node in block.nodes:
                node.data = ""

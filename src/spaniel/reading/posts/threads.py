"""A thread as Markdown: each kept post gets a heading with its author and date.

Where posts begin comes from the tree, what is kept from the judge. Posts are searched only on a page that looks like a
forum, or like a product with reviews. Reviews of a product are kept if the judge is sure of them, or if the page has
little else."""

from __future__ import annotations

from functools import cache
from itertools import accumulate, compress

from turbohtml import Element, Text

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import group_bit
from spaniel.reading.judge.columns import KINDS
from spaniel.reading.posts.finders import posts_by_linked_data, posts_by_microdata, posts_by_siblings, posts_by_software
from spaniel.reading.posts.post import DEEPEST_LEVEL, OPENING, REVIEW, Post, PostOf, post_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turbohtml import Node

    from spaniel.reading.judge.blocks import Outline
    from spaniel.reading.judge.features import HeadFacts


FORUM, PRODUCT = KINDS.index("forum"), KINDS.index("product")
LIKE_A_PRODUCT = 0.5
SURE_REVIEW = 0.5  # of it, that is: likelier content than not
MIN_PRODUCT_WORDS, MIN_PRODUCT_SHARE = 60, 0.15  # of the kept text that must be about the product itself


def drop_doubtful_reviews(
    out: Outline, words: list[float], odds: list[float], kinds: list[float], keep: list[bool]
) -> None:
    if not kinds or kinds[PRODUCT] < LIKE_A_PRODUCT:
        return
    review = group_bit("review")
    under = bytearray(len(keep))
    for i, mask in enumerate(out.mask):
        if mask & review and i:
            first, last = out.first[i], max(out.first[i], out.last[i])
            under[first:last] = b"\1" * (last - first)
    kept = [i for i, chosen in enumerate(keep) if chosen]
    said = [i for i in kept if under[i]]
    whole = sum(words[i] for i in kept)
    if whole - sum(words[i] for i in said) < max(MIN_PRODUCT_WORDS, MIN_PRODUCT_SHARE * whole):
        return
    for i in said:
        keep[i] = odds[i] >= SURE_REVIEW


POSSIBLE_FORUM, LIKELY_FORUM = 0.05, 0.5
LIKELY_PRODUCT = 0.2
MIN_NAMED, ONLY_DATED = (
    0.8,
    2.0,
)  # the share of siblings that are signed where they have no dates; the second is no share
MIN_SHARE = 0.5  # of the kept words stand in posts; else it is an article with some comments
MIN_SHARE_IF_SURE = 0.25  # where it is a thread for sure: its opening may look like no post
COMPARED_START = 60  # characters of a block that are compared
MAX_REVIEWS = 200  # elements named like reviews
SHORT_TEXT = 30  # words; more than that in a post may be a part of it that is not known
MAX_SIGNATURE_TEXT = 120  # characters
LAYOUT_TAGS = frozenset(
    {"table", "thead", "tbody", "tfoot", "tr", "td", "th", "ul", "ol", "menu", "li", "dl", "dt", "dd"}
)
LOWERED_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5"})


@cache
def _thread_types() -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(data_file("threads")["types"].split()), frozenset(data_file("threads")["generators"].split())


class PostThread:
    """The posts of a page, before and after what is no content goes; mostly there are none."""

    def __init__(
        self, out: Outline, words: list[float], kinds: list[float], keep: list[bool], facts: HeadFacts
    ) -> None:
        self._out, self._words, self._keep = out, words, keep
        self.posts: list[Post] = []
        self._surely = False
        if self._is_one(kinds, facts):
            self.posts = self._find(kinds, facts)
        elif self._may_have_reviews(kinds):
            found = posts_by_software(out, out.elements[0]) or posts_by_microdata(out.elements[0])
            self.posts = [post for post in found if post.sort == REVIEW and post.head]

    def _is_one(self, kinds: list[float], facts: HeadFacts) -> bool:
        """Whether to look for posts; a page that is too small to be judged costs little."""
        likely = kinds[FORUM] if kinds else 0.0
        self._surely = not kinds or likely >= LIKELY_FORUM or self._is_told(facts)
        return self._surely or likely > POSSIBLE_FORUM

    def _is_told(self, facts: HeadFacts) -> bool:
        """Whether the page itself says that it is a thread."""
        types, makers = _thread_types()
        return any(name.lower() in types for name in facts.linked_data) or (
            bool(facts.generator) and not makers.isdisjoint(facts.generator[:80].lower().split())
        )

    def _may_have_reviews(self, kinds: list[float]) -> bool:
        """Whether any text is kept that stands in what is named like a review."""
        if kinds and kinds[PRODUCT] <= LIKELY_PRODUCT:
            return False
        review, out = group_bit("review"), self._out
        named = [i for i, mask in enumerate(out.mask) if mask & review]
        return any(True in self._keep[out.first[i] : out.last[i]] for i in named[:MAX_REVIEWS])

    def _find(self, kinds: list[float], facts: HeadFacts) -> list[Post]:
        out, root = self._out, self._out.elements[0]
        found = posts_by_software(out, root)
        if _signed_count(found) < 2:
            found = max(found, posts_by_microdata(root), key=_signed_count)
        if _signed_count(found) < 2 and self._surely:
            found = max(found, posts_by_linked_data(out, facts.objects), key=_signed_count)
        if _signed_count(found) < 2 and self._surely and (kinds or self._is_named("forum")):
            found = max(
                found, posts_by_siblings(out, self._words, MIN_NAMED if kinds else ONLY_DATED), key=_signed_count
            )
        return found

    def _is_named(self, group: str) -> bool:
        wanted = group_bit(group)
        return any(mask & wanted for mask in self._out.mask)

    def chosen(self) -> PostThread:
        """With those of its posts that have a text which is kept: the others get no heading."""
        if self.posts:
            self._choose()
        return self

    def _choose(self) -> None:
        out = self._out
        containers: dict[Node | None, int] = dict(zip(out.elements, range(len(out.elements)), strict=True))
        for post in self.posts:
            post.outer = containers.get(post.element, 0)
            if post.body in containers or next(post.body.stripped_strings, None):
                node: Node | None = post.body
                while node is not None and node not in containers:
                    node = node.parent
                post.place = containers.get(node, 0)
        whole = [post for post in self.posts if post.place]
        if whole and whole[0].sort != REVIEW:
            inside = self._within([(post.place if post.sort == OPENING else post.outer, 1) for post in whole])
            if not self._holds(inside):
                whole = []
            else:
                self._prefer_posts(whole, inside)
                self._drop_around()
        kept = [0, *accumulate(self._keep)]
        self.posts = [post for post in whole if kept[out.last[post.place]] > kept[out.first[post.place]]]

    def _within(self, places: list[tuple[int, int]]) -> bytearray:
        """Of each block, the mark of the last of these containers around it."""
        out, marks = self._out, bytearray(len(self._keep))
        for place, mark in places:
            first = out.first[place]
            size = max(0, out.last[place] - first) if place else 0
            marks[first : first + size] = bytes([mark]) * size
        return marks

    def _holds(self, inside: bytearray) -> bool:
        """Whether the posts are what the page is about: comments do not make a thread of an article."""
        kept = [w if k else 0.0 for w, k in zip(self._words, self._keep, strict=True)]
        return sum(compress(kept, inside)) >= (MIN_SHARE_IF_SURE if self._surely else MIN_SHARE) * sum(kept)

    def _prefer_posts(self, posts: list[Post], inside: bytearray) -> None:
        """Where a page has a post twice, for scripts or for phones, the one that is signed is kept."""
        out, keep = self._out, self._keep
        kept = [0, *accumulate(keep)]
        spans = [(out.first[post.place], out.last[post.place]) for post in posts]
        lost = [i for first, last in spans if kept[first] == kept[last] for i in range(first, last)]
        if not lost:
            return
        copies = {block.text[:COMPARED_START]: i for i, block in enumerate(out.blocks) if keep[i] and not inside[i]}
        for i in lost:
            copy = copies.pop(out.blocks[i].text[:COMPARED_START], None)
            if copy is not None:
                keep[copy], keep[i] = False, True

    def _drop_around(self) -> None:
        """What stands in a post and not in its text: who wrote how much since when, buttons, signatures."""
        out, keep = self._out, self._keep
        marks = [pair for post in self.posts for pair in ((post.outer, 1), (post.place, 0))]  # from outer to inner
        for i in compress(range(len(keep)), self._within(marks)):
            if self._words[i] < SHORT_TEXT and out.tag[out.blocks[i].container] not in ("h1", "h2"):
                keep[i] = False

    @property
    def opened_by(self) -> str:
        """Who signed the first post, unless it is a review."""
        return self.posts[0].author if self.posts and self.posts[0].sort != REVIEW else ""

    def write(self) -> None:
        """Set the headings, and those inside the posts below them."""
        if not self.posts:
            return
        out = self._out
        nearest: PostOf = {out.elements[0]: None}
        nearest.update((post.body, post) for post in self.posts)
        for tag, heading in zip(out.tag, out.elements, strict=True):
            if tag in LOWERED_HEADINGS and (post := post_around(heading, nearest)) is not None:
                heading.tag = f"h{max(int(tag[1]), min(DEEPEST_LEVEL, post.level + 1))}"
        around = _ancestors_of(self.posts)
        seen: set[Node] = set()
        for i, post in enumerate(self.posts):
            if i or post.head:
                _set_heading(post, around)
            _unwrap_layout(post.body, seen)


def _signed_count(posts: list[Post]) -> int:
    return sum(1 for post in posts if post.head)


def _ancestors_of(posts: list[Post]) -> set[Node]:
    """The texts of posts and all that stands around one: no sign there goes, for a text would go with it."""
    around: set[Node] = set()
    for post in posts:
        node: Node | None = post.body
        while node is not None and node not in around:
            around.add(node)
            node = node.parent
    return around


def _set_heading(post: Post, around: set[Node]) -> None:
    """Who signed it and when; a line parts what is not signed from what stands before it."""
    for sign in post.signs:
        if sign.parent is not None and sign not in around and len(sign.text) <= MAX_SIGNATURE_TEXT:
            for beside in (sign.previous_sibling, sign.next_sibling):
                if isinstance(beside, Text) and not any(map(str.isalnum, beside.data)):
                    beside.data = " "
            sign.decompose()
    heading = Element(f"h{post.level}" if post.head else "hr")
    if post.head:
        heading.append(Text(post.head))
    if post.body.tag == "blockquote":
        post.body.tag = "div"
    if post.body.tag in LAYOUT_TAGS:
        post.body.insert(0, heading)
    elif post.body.parent is not None:  # else it went after it was chosen
        post.body.insert_before(heading)


def _unwrap_layout(body: Element, seen: set[Node]) -> None:
    """Lists and tables around a post only place it."""
    node: Node | None = body
    while isinstance(node, Element) and node not in seen:
        seen.add(node)
        if node.tag in LAYOUT_TAGS:
            if node.tag in ("ul", "ol", "menu"):
                for item in node.children:
                    if isinstance(item, Element) and item.tag == "li":
                        item.tag = "div"
            node.tag = "div"
        node = node.parent

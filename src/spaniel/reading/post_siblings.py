"""Posts of programs that nobody knows: like siblings, each with one who signs and mostly with a date."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from spaniel.reading.lexicon import lexicon
from spaniel.reading.posts import PLAIN, Nearest, Post, post_around

if TYPE_CHECKING:
    from turbohtml import Element, Node

    from spaniel.reading.blocks import Outline

FEWEST = 2
SIGNED = 0.6  # the share of them that has a name and a date
TITLED = 0.5  # with a linked title each, they are teasers of other pages
UPWARDS = 4  # siblings around a sign, one around the other, to which it may belong
TEXT = 0.6  # of a post's words stand in its text


def by_siblings(out: Outline, words: list[float], least: float) -> list[Post]:
    """The group of siblings with most words in which posts are signed; `least` is the share if they have no dates."""
    groups = _groups(out)
    if not groups:
        return []
    posts = {i: Post(out.elements[i], PLAIN) for group in groups for i in group}
    titled = _sign(out.elements[0], list(posts.values()))
    total = [0.0, *accumulate(words)]
    best: list[int] = []
    most = 0.0
    for group in groups:
        some = [posts[i] for i in group]
        named = [i for i in group if posts[i].author]
        dated = sum(1 for i in named if posts[i].date)
        size = sum(total[out.last[i]] - total[out.first[i]] for i in named)
        enough = dated >= SIGNED * len(group) or len(named) >= least * len(group)
        teasers = len(titled.intersection(some)) >= TITLED * len(group)
        if size > most and len(named) >= FEWEST and enough and not teasers and _differ(some):
            best, most = named, size
    return _with_texts(out, [posts[i] for i in best], total)


def _groups(out: Outline) -> list[list[int]]:
    """Siblings of one tag and one first name, with text in each."""
    groups: dict[tuple[int, str, str], list[int]] = {}
    for i, (parent, tag, names) in enumerate(out.kin):
        if out.last[i] > out.first[i] and parent >= 0:
            groups.setdefault((parent, tag, names.partition(" ")[0]), []).append(i)
    return [group for group in groups.values() if len(group) >= FEWEST]


def _sign(root: Element, posts: list[Post]) -> set[Post]:
    """Give the posts their signs; answer which of them have a linked title."""
    told = lexicon("threads")["siblings"]
    nearest: Nearest = {root: None}
    nearest.update((post.element, post) for post in posts)
    around = {post: post_around(post.element.parent, nearest) for post in posts}
    titled: set[Post] = set()
    for element in root.select(f"{told['author']},{told['date']},{told['title']}"):
        post = post_around(element, nearest)
        titles = element.matches(told["title"])
        for _ in range(UPWARDS):
            if post is None:
                break
            if titles:
                titled.add(post)
            else:
                post.sign(element, told["author"], told["date"])
            post = around[post]
    return titled


def _differ(posts: list[Post]) -> bool:
    """Whether they are signed by several, or at several times: what stands in each of them alike is a label."""
    return len({post.head for post in posts}) > 1


def _with_texts(out: Outline, posts: list[Post], total: list[float]) -> list[Post]:
    """Find the text of each post: the part with most of its words that holds no sign."""
    places: dict[Node | None, int] = dict(zip(out.elements, range(len(out.elements)), strict=True)) if posts else {}
    below: dict[int, list[int]] = {}
    for i, up in enumerate(out.parent if posts else ()):
        below.setdefault(up, []).append(i)
    for post in posts:
        place, way = places[post.element], set()
        for sign in post.signs:
            node: Node | None = sign
            while node is not None and node != post.element:
                if node in places:
                    way.add(places[node])
                node = node.parent
        least = TEXT * (total[out.last[place]] - total[out.first[place]])
        while True:
            heavy = [i for i in below.get(place, ()) if total[out.last[i]] - total[out.first[i]] >= least]
            if not heavy or not way.intersection(below[place]):
                break
            place = heavy[0]
        post.body = out.elements[place]
    return posts

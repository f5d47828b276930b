"""Find the posts of a page: by the markup of known software, by microdata, by linked data, or by similar siblings.

`data/threads.toml` describes the markup. Texts from linked data are matched with the beginnings of blocks. Posts of
unknown software are siblings that look alike, each with an author and usually a date."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from spaniel.reading.data_files import data_file
from spaniel.reading.judge.class_names import MAX_NAMES
from spaniel.reading.metadata.dates import parse_day
from spaniel.reading.posts.post import (
    COMMENT,
    OPENING,
    PLAIN,
    QUESTION,
    REVIEW,
    TOP_LEVEL,
    Post,
    PostOf,
    PostSelectors,
    assign_signatures,
    post_around,
)
from spaniel.reading.text.scrub import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turbohtml import Element, Node

    from spaniel.reading.judge.blocks import Outline


MAX_SOFTWARE = 3  # programs in whose markup a page may be
SAMPLE_POSTS = 3  # posts that are looked at for that


@cache
def _software_names() -> dict[str, list[int]]:
    """Class words and tags of posts, each with the programs that use it."""
    found: dict[str, list[int]] = {}
    for number, program in enumerate(data_file("threads")["program"]):
        for word in program["post"].split():
            found.setdefault(word, []).append(number)
    return found


@lru_cache(maxsize=20_000)
def _software_of(names: str) -> tuple[int, ...]:
    """The programs of which a class name of an element is a post's."""
    words = _software_names()
    return tuple({number: None for name in names[:MAX_NAMES].split() for number in words.get(name, ())})


@cache
def _schema_types() -> dict[str, int]:
    """Return the schema.org types of posts, each with its sort."""
    rules = data_file("threads")["microdata"]
    return {
        name: sort for sort, key in enumerate(("opening", "asked", "below", "reviews")) for name in rules[key].split()
    }


@cache
def _selectors(number: int) -> PostSelectors:
    """Of a program; those of microdata are at -1."""
    row: dict[str, Any] = data_file("threads")["program"][number] if number >= 0 else data_file("threads")["microdata"]
    return PostSelectors(row["author"], row["date"], row["body"])


def posts_by_software(out: Outline, root: Element) -> list[Post]:
    """Find posts by class names of known forum software. The tree is searched only if a class name matches."""
    every = out.kin  # computed on each access
    hits = {names: programs for names in {kin[2] for kin in every} if (programs := _software_of(names))}
    tags = {tag: programs for tag in set(out.tag) if "-" in tag and (programs := _software_of(tag))}
    places: dict[int, list[int]] = {}  # program -> containers
    # The page itself is not a post, even if the class of `<body>` matches.
    for i in [i for i, (_, tag, names) in enumerate(every) if i and (names in hits or tag in tags)]:
        for number in hits.get(every[i][2]) or tags[out.tag[i]]:
            places.setdefault(number, []).append(i)
    likely = [
        number
        for number in sorted(places, key=lambda number: -len(places[number]))
        if any(out.elements[i].select_one(_selectors(number).body) is not None for i in places[number][:SAMPLE_POSTS])
    ]
    found = (
        _software_posts(number, root, [out.elements[i] for i in places[number]]) for number in likely[:MAX_SOFTWARE]
    )
    return max(found, key=_signature_count, default=[])


def _software_posts(number: int, root: Element, elements: list[Element]) -> list[Post]:
    program = data_file("threads")["program"][number]
    sort = REVIEW if program.get("reviews") else PLAIN
    posts = [Post(element, sort) for element in elements]
    if below := program.get("below"):
        posts += [Post(element, COMMENT) for element in root.select(below)]
    return assign_signatures(root, posts, _selectors(number))


def posts_by_microdata(root: Element) -> list[Post]:
    sorts = _schema_types()
    named = ((e, (e.attr("itemtype") or "").strip().rpartition("/")[2]) for e in root.select("[itemtype]"))
    posts = [Post(element, sorts[name]) for element, name in named if name in sorts]
    return assign_signatures(root, posts, _selectors(-1)) if posts else []


def _signature_count(posts: list[Post]) -> int:
    return sum(bool(post.author) + bool(post.date) for post in posts)


SCHEMA_KINDS = {
    "discussionforumposting": OPENING, "socialmediaposting": OPENING, "question": QUESTION, "answer": QUESTION,
    "comment": COMMENT, "review": REVIEW,
}  # fmt: skip
NESTED_KEYS = ("mainEntity", "acceptedAnswer", "suggestedAnswer", "comment", "review")
TEXT_KEYS = ("text", "articleBody", "reviewBody", "description")
MAX_POSTS = 2000  # posts
COMPARED_LETTERS, MIN_LETTERS = 40, 15  # characters of a text that are looked for; so few may stand anywhere
MAX_BEGINNING = 400  # characters of a text in which its beginning is
MAX_AUTHOR = 60
TAG = re.compile(r"<[^<>]{0,400}>")
NOT_LETTERS = re.compile(r"[\W_]+")


def posts_by_linked_data(out: Outline, objects: Sequence[dict[str, object]]) -> list[Post]:
    """Return the posts of linked data whose text begins like a block of the page."""
    linked = {start: post for post in _linked_posts(objects) if len(start := first_letters(post[0])) >= MIN_LETTERS}
    posts = []
    for block in out.blocks if linked else ():
        found = linked.pop(first_letters(block.text[: 3 * COMPARED_LETTERS]), None)
        if found is not None:
            _, sort, level, author, date = found
            post = Post(out.elements[block.container], sort)
            post.author, post.date, post.level = author, date, level
            posts.append(post)
    return posts


def first_letters(text: str) -> str:
    """Its first letters and digits, without tags."""
    return NOT_LETTERS.sub("", TAG.sub(" ", text[:MAX_BEGINNING]).casefold())[:COMPARED_LETTERS]


def _linked_posts(objects: Sequence[dict[str, object]]) -> Iterator[tuple[str, int, int, str, str]]:
    waiting: list[tuple[object, int]] = [(thing, TOP_LEVEL) for thing in objects]
    for _ in range(MAX_POSTS):
        if not waiting:
            return
        thing, level = waiting.pop()
        if not isinstance(thing, dict):
            continue
        sort = SCHEMA_KINDS.get(str(thing.get("@type")).lower())
        text = next((value for key in TEXT_KEYS if isinstance(value := thing.get(key), str) and value.strip()), "")
        author, date = _name(thing.get("author")), _day(thing)
        if sort is not None and text and (author or date):
            yield text, sort, level, author, date
        under = level + (sort in (QUESTION, COMMENT))
        for key in NESTED_KEYS:
            inner = thing.get(key)
            deeper = under if key == "comment" else level
            waiting += [
                (part, min(deeper, 6)) for part in (inner if isinstance(inner, list) else [inner])[:MAX_POSTS] if part
            ]


def _name(value: object) -> str:
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("name")
    name = (one_line(value) if isinstance(value, str) else None) or ""
    return name if len(name) <= MAX_AUTHOR else ""


def _day(thing: dict[str, object]) -> str:
    dates = (thing.get(key) for key in ("datePublished", "dateCreated"))
    return next((day for value in dates if isinstance(value, str) and (day := parse_day(value[:MAX_BEGINNING]))), "")


MIN_POSTS = 2
MIN_SIGNED = 0.6  # the share of them that has a name and a date
MAX_TITLED = 0.5  # with a linked title each, they are teasers of other pages
MAX_ANCESTORS = 4  # siblings around a sign, one around the other, to which it may belong
MIN_TEXT_SHARE = 0.6  # of a post's words stand in its text


def posts_by_siblings(out: Outline, words: list[float], least: float) -> list[Post]:
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
        enough = dated >= MIN_SIGNED * len(group) or len(named) >= least * len(group)
        teasers = len(titled.intersection(some)) >= MAX_TITLED * len(group)
        if size > most and len(named) >= MIN_POSTS and enough and not teasers and _differ(some):
            best, most = named, size
    return _find_bodies(out, [posts[i] for i in best], total)


def _groups(out: Outline) -> list[list[int]]:
    """Siblings of one tag and one first name, with text in each."""
    groups: dict[tuple[int, str, str], list[int]] = {}
    for i, (parent, tag, names) in enumerate(out.kin):
        if out.last[i] > out.first[i] and parent >= 0:
            groups.setdefault((parent, tag, names.partition(" ")[0]), []).append(i)
    return [group for group in groups.values() if len(group) >= MIN_POSTS]


def _sign(root: Element, posts: list[Post]) -> set[Post]:
    """Assign the elements with author and date to the posts; return the posts with a linked title."""
    selectors = data_file("threads")["siblings"]
    nearest: PostOf = {root: None}
    nearest.update((post.element, post) for post in posts)
    around = {post: post_around(post.element.parent, nearest) for post in posts}
    titled: set[Post] = set()
    for element in root.select(f"{selectors['author']},{selectors['date']},{selectors['title']}"):
        post = post_around(element, nearest)
        titles = element.matches(selectors["title"])
        for _ in range(MAX_ANCESTORS):
            if post is None:
                break
            if titles:
                titled.add(post)
            else:
                post.sign(element, selectors["author"], selectors["date"])
            post = around[post]
    return titled


def _differ(posts: list[Post]) -> bool:
    """Whether they are signed by several, or at several times: what stands in each of them alike is a label."""
    return len({post.head for post in posts}) > 1


def _find_bodies(out: Outline, posts: list[Post], total: list[float]) -> list[Post]:
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
        least = MIN_TEXT_SHARE * (total[out.last[place]] - total[out.first[place]])
        while True:
            heavy = [i for i in below.get(place, ()) if total[out.last[i]] - total[out.first[i]] >= least]
            if not heavy or not way.intersection(below[place]):
                break
            place = heavy[0]
        post.body = out.elements[place]
    return posts

"""A post: a part of a page that somebody signed. Who signed it, and which post it stands below."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.signatures import author_of, date_of

if TYPE_CHECKING:
    from turbohtml import Element, Node

OPENING, ASKED, BELOW, REVIEW, PLAIN = range(5)  # the sorts of posts; the first four as in data/threads.toml
TOP, DEEPEST = 3, 6  # levels of headings


class Rules(NamedTuple):
    """Selectors inside a post."""

    author: str
    date: str
    body: str

    @property
    def any(self) -> str:
        return ",".join(self)


class Post:
    """Where it stands, and who signed it and when, as far as the page tells."""

    __slots__ = ("author", "body", "date", "element", "level", "outer", "place", "signs", "sort")

    def __init__(self, element: Element, sort: int) -> None:
        self.element, self.sort = element, sort
        self.body = element  # the element around its text
        self.author = self.date = ""
        self.level = TOP
        self.place = self.outer = 0  # of its text among the containers, and of all of it; none where it has none
        self.signs: list[Element] = []  # the elements that tell author and date

    @property
    def head(self) -> str:
        return ", ".join(filter(None, (self.author, self.date)))

    def sign(self, element: Element, author: str, date: str) -> None:
        """Take a name and a date from an element that these selectors choose; the first of each counts."""
        if not self.author and element.matches(author) and (name := author_of(element)):
            self.author = name
            self.signs.append(element)
        if not self.date and element.matches(date) and (day := date_of(element)):
            self.date = day
            self.signs.append(element)


Nearest = dict["Node | None", "Post | None"]


def post_around(node: Node | None, nearest: Nearest) -> Post | None:
    """The innermost post that an element stands in. Every way up is walked once, for it is written down."""
    way = []
    while node is not None and node not in nearest:
        way.append(node)
        node = node.parent
    found = nearest.get(node)
    for passed in way:
        nearest[passed] = found
    return found


def signed(root: Element, posts: list[Post], rules: Rules) -> list[Post]:
    """Give each post what is found in it and in no post inside it; those with a text stay.

    One that nobody signed is a post among those that are: an answer inside its question is no part of it.
    """
    nearest: Nearest = {root: None}
    nearest.update((post.element, post) for post in posts)
    whole: set[Post] = set()
    for element in root.select(rules.any):
        post = post_around(element, nearest)
        if post is None or (post.author and post.date and post in whole):
            continue
        if post not in whole and element.matches(rules.body):
            whole.add(post)
            post.body = element
            nearest[element] = None  # what is in the text signs nothing: it may quote another post
        else:
            post.sign(element, rules.author, rules.date)
    found = [post for post in posts if post in whole]
    return levelled(root, found) if any(post.head for post in found) else []


def levelled(root: Element, posts: list[Post]) -> list[Post]:
    """A comment on a post stands one level below it."""
    nearest: Nearest = {root: None}
    for post in posts:
        around = post_around(post.element.parent, nearest)
        if around is not None:
            below = post.sort in (PLAIN, BELOW) and around.sort != OPENING and around.head != ""
            post.level = min(DEEPEST, around.level + below)
        nearest[post.element] = post
    return posts

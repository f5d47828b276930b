"""A post: a part of a page with an author or a date, and the post it replies to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.reading.data_files import data_file
from spaniel.reading.metadata.dates import parse_day
from spaniel.reading.text.scrub import one_line

if TYPE_CHECKING:
    from turbohtml import Element, Node


DATE_LABELS = frozenset(data_file("threads")["labels"].split())
MAX_NAME, MAX_DATE = 60, 40  # characters
MAX_MONTH = 12
MAX_NAME_LINKS = 3  # in the element of a name: the first may be a picture
MAX_SIGNATURE = 400  # characters of an element that should hold nothing but a name or a date
DATE_ATTRIBUTES = ("datetime", "content", "title", "data-time-string")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
TIME = re.compile(r"\d{1,2}[:.hH時시点]\d\d(?:[:.]\d\d)?[a-zA-Z分분]{0,3}[,.]?")
COMMON_DATE = re.compile(  # most of them
    r"[A-Z][a-z]{2,8} \d{1,2}, (?:19|20)\d\d(?:,? (?:at )?\d{1,2}:\d\d ?(?:[ap]m|[AP]M)?)?"
    r"|(?:19|20)\d\d-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?"
)
DAY = re.compile(r"\d{1,2}(?:st|nd|rd|th|er|º|ª|日|月|일|월)?")
HALF_DAY = re.compile(r"[ap]\.?m\.?", re.IGNORECASE)
NAME_PADDING = " \t,:·•|-–—»«"
BY_PREFIX = re.compile(r"(?:by|von|par|por|da|door|av|от)\s+(?=\S)", re.IGNORECASE)


def author_of(element: Element) -> str:
    """Return the name in an element, preferably in a link; "" if there is none or the text is too long for a name."""
    shown = element.attr("content") if element.tag == "meta" else None
    if shown is None:
        named = element.select_one("[itemprop~=name]")
        shown = (named.attr("content") or _text(named)) if named is not None else ""
        linked = element.select("a[href]")[:MAX_NAME_LINKS] if not shown and element.tag != "a" else []
        shown = shown or next(filter(None, map(_text, linked)), "") or _text(element)
    name = _line(shown).strip(NAME_PADDING)
    name = BY_PREFIX.sub("", name, count=1) if BY_PREFIX.match(name) else name
    return name if len(name) <= MAX_NAME and any(map(str.isalnum, name)) else ""


def date_of(element: Element) -> str:
    """Return the visible date of an element; if it only shows an age, the day in its attributes."""
    shown = visible_date(_line(_text(element))) if element.tag != "meta" else ""
    if shown:
        return shown
    inner = element if element.tag in ("time", "meta") else element.select_one("time,[datetime],[title]") or element
    for name in DATE_ATTRIBUTES:
        if day := parse_day((inner.attr(name) or "")[:MAX_SIGNATURE]):
            return day
    return ""


def visible_date(text: str) -> str:
    """`by Joe » Wed Dec 27, 2023 10:00 am` -> Wed Dec 27, 2023 10:00 am. Without a year it is no date."""
    if COMMON_DATE.fullmatch(text):
        return text
    if YEAR.search(text) is None:
        return ""
    words = next(part for part in reversed(text.split("»")) if YEAR.search(part)).split()
    year = next(place for place, word in enumerate(words) if YEAR.search(word))
    first = last = year
    while first and year - first < 5 and _is_date_word(words[first - 1]):
        first -= 1
    while first == year and last + 1 < len(words) and DAY.fullmatch(words[last + 1].strip(",.")) and last - year < 2:
        last += 1
    times = [place for place in range(last + 1, min(len(words), last + 4)) if TIME.fullmatch(words[place])]
    last = times[0] if times else last
    while last + 1 < len(words) and HALF_DAY.fullmatch(words[last + 1].strip(",")):
        last += 1
    date = " ".join(words[first : last + 1]).strip(NAME_PADDING)
    return date if len(date) <= MAX_DATE and not date.isdecimal() else ""


def _line(text: str) -> str:
    """As one_line, which most names and dates do not need."""
    return text.strip() if text.isascii() and text.isprintable() and "  " not in text else one_line(text) or ""


def _text(element: Element) -> str:
    """The beginning of what it holds, with a blank where one element ends and another begins."""
    parts: list[str] = []
    left = MAX_SIGNATURE
    for part in element.stripped_strings:
        parts.append(part[:left])
        left -= len(part)
        if left <= 0:
            break
    return " ".join(parts)


def _is_date_word(word: str) -> bool:
    """Whether a word before the year is a day, a month or a time, as far as that is language-independent."""
    bare = word.strip(",.'’")
    if bare.isalpha():
        return bare.lower() not in DATE_LABELS and len(bare) <= MAX_MONTH
    return bool(DAY.fullmatch(bare) or TIME.fullmatch(bare))


OPENING, QUESTION, COMMENT, REVIEW, PLAIN = range(5)  # the sorts of posts; the first four as in data/threads.toml
TOP_LEVEL, DEEPEST_LEVEL = 3, 6  # levels of headings


class PostSelectors(NamedTuple):
    """Selectors inside a post."""

    author: str
    date: str
    body: str

    @property
    def any(self) -> str:
        return ",".join(self)


class Post:
    """The element of a post, its author and its date, as far as the page contains them."""

    __slots__ = ("author", "body", "date", "element", "level", "outer", "place", "signs", "sort")

    def __init__(self, element: Element, sort: int) -> None:
        self.element, self.sort = element, sort
        self.body = element  # the element around its text
        self.author = self.date = ""
        self.level = TOP_LEVEL
        self.place = self.outer = 0  # of its text among the containers, and of all of it; none where it has none
        self.signs: list[Element] = []  # the elements with author and date

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


PostOf = dict["Node | None", "Post | None"]


def post_around(node: Node | None, nearest: PostOf) -> Post | None:
    """The innermost post that an element stands in. Every way up is walked once, for it is written down."""
    way = []
    while node is not None and node not in nearest:
        way.append(node)
        node = node.parent
    found = nearest.get(node)
    for passed in way:
        nearest[passed] = found
    return found


def assign_signatures(root: Element, posts: list[Post], rules: PostSelectors) -> list[Post]:
    """Give each post what is found in it and in no post inside it; those with a text stay.

    An unsigned post among signed ones counts: an answer inside its question is not part of the question.
    """
    nearest: PostOf = {root: None}
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
    return assign_levels(root, found) if any(post.head for post in found) else []


def assign_levels(root: Element, posts: list[Post]) -> list[Post]:
    """A comment on a post stands one level below it."""
    nearest: PostOf = {root: None}
    for post in posts:
        around = post_around(post.element.parent, nearest)
        if around is not None:
            below = post.sort in (PLAIN, COMMENT) and around.sort != OPENING and around.head != ""
            post.level = min(DEEPEST_LEVEL, around.level + below)
        nearest[post.element] = post
    return posts

"""Posts by their markup: that of known programs, and microdata. `data/threads.toml` says what it looks like."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from spaniel.reading.lexicon import lexicon
from spaniel.reading.posts import BELOW, PLAIN, REVIEW, Post, Rules, signed
from spaniel.reading.words import LONGEST

if TYPE_CHECKING:
    from turbohtml import Element

    from spaniel.reading.blocks import Outline

TRIED = 3  # programs in whose markup a page may be
SAMPLES = 3  # posts that are looked at for that


@cache
def _programs() -> dict[str, list[int]]:
    """Class words and tags of posts, each with the programs that use it."""
    found: dict[str, list[int]] = {}
    for number, program in enumerate(lexicon("threads")["program"]):
        for word in program["post"].split():
            found.setdefault(word, []).append(number)
    return found


@lru_cache(maxsize=20_000)
def _programs_of(names: str) -> tuple[int, ...]:
    """The programs of which a class name of an element is a post's."""
    words = _programs()
    return tuple({number: None for name in names[:LONGEST].split() for number in words.get(name, ())})


@cache
def _types() -> dict[str, int]:
    """Types of schema.org, each with its sort of post."""
    told = lexicon("threads")["microdata"]
    return {
        name: sort for sort, key in enumerate(("opening", "asked", "below", "reviews")) for name in told[key].split()
    }


@cache
def _rules(number: int) -> Rules:
    """Of a program; those of microdata are at -1."""
    row: dict[str, Any] = lexicon("threads")["program"][number] if number >= 0 else lexicon("threads")["microdata"]
    return Rules(row["author"], row["date"], row["body"])


def by_program(out: Outline, root: Element) -> list[Post]:
    """The class names of all containers are at hand already: only where they say so, the tree is looked into."""
    every = out.kin  # made anew for whoever asks
    hits = {names: programs for names in {kin[2] for kin in every} if (programs := _programs_of(names))}
    tags = {tag: programs for tag in set(out.tag) if "-" in tag and (programs := _programs_of(tag))}
    places: dict[int, list[int]] = {}  # program -> containers
    # The page itself is no post, whatever its `<body>` is named.
    for i in [i for i, (_, tag, names) in enumerate(every) if i and (names in hits or tag in tags)]:
        for number in hits.get(every[i][2]) or tags[out.tag[i]]:
            places.setdefault(number, []).append(i)
    likely = [
        number
        for number in sorted(places, key=lambda number: -len(places[number]))
        if any(out.elements[i].select_one(_rules(number).body) is not None for i in places[number][:SAMPLES])
    ]
    found = (_of_program(number, root, [out.elements[i] for i in places[number]]) for number in likely[:TRIED])
    return max(found, key=_told, default=[])


def _of_program(number: int, root: Element, elements: list[Element]) -> list[Post]:
    program = lexicon("threads")["program"][number]
    sort = REVIEW if program.get("reviews") else PLAIN
    posts = [Post(element, sort) for element in elements]
    if below := program.get("below"):
        posts += [Post(element, BELOW) for element in root.select(below)]
    return signed(root, posts, _rules(number))


def by_microdata(root: Element) -> list[Post]:
    sorts = _types()
    named = ((e, (e.attr("itemtype") or "").strip().rpartition("/")[2]) for e in root.select("[itemtype]"))
    posts = [Post(element, sorts[name]) for element, name in named if name in sorts]
    return signed(root, posts, _rules(-1)) if posts else []


def _told(posts: list[Post]) -> int:
    return sum(bool(post.author) + bool(post.date) for post in posts)

"""Pages that say 200 and mean 404: told by a sibling that cannot exist and looks the same (Bar-Yossef et al. 2004).

Texts are compared as they are extracted, without what every page of a site has around them, by shingles of five words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.health.signs import signs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spaniel.url.value import Url

SHINGLE = 5  # words; characters, of scripts that write no blanks between words
ALIKE = 0.9
FEWEST = 20  # words: pages of less are alike only if they are the same
LONGEST = 100_000  # characters of a text that are compared
_WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(f"[{_WITHOUT_BLANKS}]|[^\\W{_WITHOUT_BLANKS}]+")


def sibling_of(url: Url, name: str) -> Url | None:
    """A page of the same directory, and with the same ending, by a name that nobody has given. The root has none."""
    parts = url.path.rstrip("/").split("/")
    if len(parts) < 2:
        return None
    slashes = url.path[len(url.path.rstrip("/")) :]
    stem, dot, ending = parts[-1].rpartition(".")
    known = bool(stem) and ending.isalnum() and len(ending) <= 5
    parts[-1] = f"{name}{dot}{ending}" if known else name
    return url._replace(path="/".join(parts) + slashes, query=None, fragment=None)


class PageText(NamedTuple):
    """What a page says."""

    title: str = ""
    text: str = ""
    has_scripts: bool = False  # which may write what the text has not


def looks_missing(page: PageText, of: Url, other: PageText, sibling: Url) -> bool | None:
    """Whether a page and a page that cannot exist say the same, their own addresses aside; None where none can tell.

    Under 20 words the two must be equal, the title included. A short page with scripts may be a shell that every path
    of an application gets: that is a missing page only if it says so.
    """
    named = frozenset(_words(unquote(f"{of.path} {of.query or ''} {sibling.path}")))
    one, two = _without(page.text, named), _without(other.text, named)
    if min(len(one), len(two)) >= FEWEST:
        return resemblance(one, two) >= ALIKE
    one, two = [*_without(page.title, named), *one], [*_without(other.title, named), *two]
    if not one or not two:
        return None
    if one != two:
        return False
    return True if signs().says_missing(f"{page.title}\n{page.text}") else None if page.has_scripts else True


def resemblance(one: list[str], other: list[str]) -> float:
    """Shared shingles among all of both: 1 for the same text."""
    first, second = _shingles(one), _shingles(other)
    every = len(first | second)
    return len(first & second) / every if every else 0.0


def _shingles(words: list[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _without(text: str, named: frozenset[str]) -> list[str]:
    return [word for word in _words(text[:LONGEST]) if word not in named]


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.casefold())

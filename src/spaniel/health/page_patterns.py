"""What is recognized by patterns (`page_patterns.toml`): challenges, logins, parked domains, soft 404s."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.tables import Table, read_toml
from spaniel.url.hostlists import HostList, domains

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.url.value import Url

LOGIN, FOR_SALE = "it ends at a login", "it ends at a domain that is for sale"
LOOKED_AT = 8_000  # characters of a text in which words are looked for


class Signs(NamedTuple):
    endings: frozenset[str]  # of a page's name, which do not count
    login: frozenset[str]
    login_hosts: frozenset[str]
    root: frozenset[str]
    page_names: frozenset[str]  # of a query that tells pages at one path apart
    error: frozenset[str]
    types: Mapping[str, str]  # an old name to the usual one
    challenge: Mapping[str, tuple[str, ...]]
    missing_text: tuple[str, ...]
    parked_hosts: HostList
    parked_text: tuple[str, ...]
    parked_words: int

    def why_suspect(self, first: Url, last: Url) -> str:
        """Why the end of some redirects is not the page under a new address; "" where nothing speaks against it."""
        if self.is_login(last) and not self.is_login(first):
            return LOGIN
        if last.host != first.host and last.host.partition(".")[0] in self.login_hosts:
            return LOGIN
        if self.is_error(last) and not self.is_error(first):
            return "it ends at a page for errors"
        if self._has_front_path(last) and not self._names_a_page(last) and not self.is_root(first):
            return "it ends at the front page of a site"
        return FOR_SALE if self.is_parking_host(last.host) else ""

    def is_root(self, url: Url) -> bool:
        return self._has_front_path(url) and not url.query

    def is_login(self, url: Url) -> bool:
        return not self.login.isdisjoint(self._segments(url))

    def is_error(self, url: Url) -> bool:
        return not self.error.isdisjoint(self._segments(url))

    def _has_front_path(self, url: Url) -> bool:
        return "/".join(self._segments(url)) in self.root

    def _names_a_page(self, url: Url) -> bool:
        """Whether its query does."""
        names = {part.partition("=")[0].lower() for part in (url.query or "").split("&")}
        return not self.page_names.isdisjoint(names)

    def _segments(self, url: Url) -> list[str]:
        return [self._without_ending(segment) for segment in url.path.lower().split("/")]

    def _without_ending(self, segment: str) -> str:
        stem, _, ending = segment.rpartition(".")
        return stem if stem and ending in self.endings else segment

    def is_parking_host(self, host: str) -> bool:
        return host in self.parked_hosts

    def looks_parked(self, text: str) -> bool:
        """Whether the text of a page says that its domain is for sale."""
        if len(text.split(None, self.parked_words)) > self.parked_words:
            return False
        beginning = text[:LOOKED_AT].lower()
        return any(words in beginning for words in self.parked_text)

    def says_missing(self, text: str) -> bool:
        """Whether a short text says that a page is not there."""
        beginning = text[:LOOKED_AT].lower()
        return any(words in beginning for words in self.missing_text)

    def is_challenge(self, headers: Mapping[str, str]) -> bool:
        """By the headers alone."""
        if self.challenge.keys().isdisjoint(headers):
            return False
        for name, values in self.challenge.items():
            if name in headers and any(value in headers[name].lower() for value in values):
                return True
        return False

    def same_type(self, one: str, other: str) -> bool:
        """Parameters do not count, nor does an old name of the same type."""
        return self._plain(one) == self._plain(other)

    def _plain(self, written: str) -> str:
        essence = written.partition(";")[0].strip().lower()
        return self.types.get(essence, essence)


@cache
def signs() -> Signs:
    """As they are shipped, strictly read."""
    path = os.path.join(os.path.dirname(__file__), "page_patterns.toml")
    table = Table(read_toml(path, "the checker's signs"), "page_patterns.toml")
    parked = table.table("parked")
    found = Signs(
        endings=frozenset(table.texts("endings")),
        login=frozenset(table.texts("login")),
        login_hosts=frozenset(table.texts("login_hosts")),
        root=frozenset(table.texts("root")),
        page_names=frozenset(table.texts("page_names")),
        error=frozenset(table.texts("error")),
        types=table.text_map("same_types"),
        challenge=table.text_lists("challenge"),
        missing_text=table.texts("missing_text"),
        parked_hosts=domains(parked.texts("hosts")),
        parked_text=parked.texts("text"),
        parked_words=parked.number("max_words"),
    )
    parked.close()
    table.close()
    return found


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

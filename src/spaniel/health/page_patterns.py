"""Recognizes challenges, logins, parked domains and soft 404s by the patterns of `page_patterns.toml`."""

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
LOOKED_AT = 8_000  # characters of a text that are searched for words


class PagePatterns(NamedTuple):
    """The patterns. URLs are recognized by their path segments, in lower case and without their ending."""

    endings: frozenset[str]  # of file names, which are ignored
    login: frozenset[str]
    login_hosts: frozenset[str]
    root: frozenset[str]
    page_names: frozenset[str]  # query parameters that name a page
    error: frozenset[str]
    types: Mapping[str, str]  # old content types and their current names
    challenge: Mapping[str, tuple[str, ...]]
    missing_text: tuple[str, ...]
    parked_hosts: HostList
    parked_text: tuple[str, ...]
    parked_words: int

    def why_suspect(self, first: Url, last: Url) -> str:
        """Say why the final URL of redirects is not the page at a new URL; "" if it may be."""
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
        """Whether a page says that its domain is for sale."""
        if len(text.split(None, self.parked_words)) > self.parked_words:
            return False
        beginning = text[:LOOKED_AT].lower()
        return any(words in beginning for words in self.parked_text)

    def says_missing(self, text: str) -> bool:
        """Whether a short text says that a page does not exist."""
        beginning = text[:LOOKED_AT].lower()
        return any(words in beginning for words in self.missing_text)

    def is_challenge(self, headers: Mapping[str, str]) -> bool:
        """Whether the headers show that the response is a challenge."""
        return not self.challenge.keys().isdisjoint(headers) and any(
            value in headers[name].lower()
            for name, values in self.challenge.items()
            if name in headers
            for value in values
        )

    def same_type(self, one: str, other: str) -> bool:
        """Compare content types without parameters; old names are the same type."""
        return self._current_type(one) == self._current_type(other)

    def _current_type(self, written: str) -> str:
        essence = written.partition(";")[0].strip().lower()
        return self.types.get(essence, essence)


@cache
def load_patterns() -> PagePatterns:
    """Read the table that is part of the package."""
    path = os.path.join(os.path.dirname(__file__), "page_patterns.toml")
    table = Table(read_toml(path, "the page patterns"), "page_patterns.toml")
    parked = table.table("parked")
    found = PagePatterns(
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


# -- Soft 404s: compare a page with the response to a URL that does not exist

SHINGLE = 5  # words, or characters in scripts without blanks between words
SAME = 0.9  # resemblance from which two pages are the same (chosen)
FEWEST = 20  # words: shorter pages must be equal
LONGEST = 100_000  # characters of a text that are compared
_WITHOUT_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(f"[{_WITHOUT_BLANKS}]|[^\\W{_WITHOUT_BLANKS}]+")


def sibling_of(url: Url, name: str) -> Url | None:
    """Return a URL in the same directory with a made-up name and the same extension; None for the root."""
    parts = url.path.rstrip("/").split("/")
    if len(parts) < 2:
        return None
    slashes = url.path[len(url.path.rstrip("/")) :]
    stem, dot, ending = parts[-1].rpartition(".")
    is_extension = bool(stem) and ending.isalnum() and len(ending) <= 5
    parts[-1] = f"{name}{dot}{ending}" if is_extension else name
    return url._replace(path="/".join(parts) + slashes, query=None, fragment=None)


class PageText(NamedTuple):
    """The text of a page."""

    title: str = ""
    text: str = ""
    has_scripts: bool = False  # which may add text


def looks_missing(page: PageText, of: Url, other: PageText, sibling: Url) -> bool | None:
    """Whether a page has the same text as a page that cannot exist, ignoring the words of their URLs; None if unclear.

    Under 20 words, the two must be equal, including the title. A short page with scripts may be the shell that an
    application returns for every path; it is missing only if it says so.
    """
    url_words = frozenset(_words(unquote(f"{of.path} {of.query or ''} {sibling.path}")))
    one, two = _words_except(page.text, url_words), _words_except(other.text, url_words)
    if min(len(one), len(two)) >= FEWEST:
        return resemblance(one, two) >= SAME
    one, two = [*_words_except(page.title, url_words), *one], [*_words_except(other.title, url_words), *two]
    if not one or not two:
        return None
    if one != two:
        return False
    return True if load_patterns().says_missing(f"{page.title}\n{page.text}") else None if page.has_scripts else True


def resemblance(one: list[str], other: list[str]) -> float:
    """Return the share of word sequences (shingles) that both texts have: 1 for the same text."""
    first, second = _shingles(one), _shingles(other)
    every = len(first | second)
    return len(first & second) / every if every else 0.0


def _shingles(words: list[str]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _words_except(text: str, excluded: frozenset[str]) -> list[str]:
    return [word for word in _words(text[:LONGEST]) if word not in excluded]


def _words(text: str) -> Iterable[str]:
    return _WORD.findall(text.casefold())

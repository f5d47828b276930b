"""The signs of `signs.toml`: logins, front pages, pages for errors, parked domains, types that are the same."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.tables import Table, read_toml
from spaniel.url.hostlists import HostList, domains

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.url.value import Url

LOOKED_AT = 8_000  # characters of a text in which words are looked for


class Signs(NamedTuple):
    login: frozenset[str]
    root: frozenset[str]
    error: frozenset[str]
    types: Mapping[str, str]  # an old name to the usual one
    challenge: Mapping[str, tuple[str, ...]]
    parked_hosts: HostList
    parked_text: tuple[str, ...]
    parked_words: int

    def is_root(self, url: Url) -> bool:
        return url.path.lower() in self.root and not url.query

    def is_login(self, url: Url) -> bool:
        return not self.login.isdisjoint(url.path.lower().split("/"))

    def is_error(self, url: Url) -> bool:
        return not self.error.isdisjoint(url.path.lower().split("/"))

    def is_parking_host(self, host: str) -> bool:
        return host in self.parked_hosts

    def looks_parked(self, text: str) -> bool:
        """Whether the text of a page says that its domain is for sale."""
        if len(text.split(None, self.parked_words)) > self.parked_words:
            return False
        beginning = text[:LOOKED_AT].lower()
        return any(words in beginning for words in self.parked_text)

    def is_challenge(self, headers: Mapping[str, str]) -> bool:
        """By the headers alone."""
        named = self.challenge.keys() & headers.keys()
        return any(value in headers[name].lower() for name in named for value in self.challenge[name])

    def same_type(self, one: str, other: str) -> bool:
        """Parameters do not count, nor does an old name of the same type."""
        return self._plain(one) == self._plain(other)

    def _plain(self, written: str) -> str:
        essence = written.partition(";")[0].strip().lower()
        return self.types.get(essence, essence)


@cache
def signs() -> Signs:
    """As they are shipped, strictly read."""
    path = os.path.join(os.path.dirname(__file__), "signs.toml")
    table = Table(read_toml(path, "the checker's signs"), "signs.toml")
    parked = table.table("parked")
    found = Signs(
        login=frozenset(table.texts("login")),
        root=frozenset(table.texts("root")),
        error=frozenset(table.texts("error")),
        types=table.text_map("same_types"),
        challenge=table.text_lists("challenge"),
        parked_hosts=domains(parked.texts("hosts")),
        parked_text=parked.texts("text"),
        parked_words=parked.number("max_words"),
    )
    parked.close()
    table.close()
    return found

"""What a rule is: a public name, the part of a URL that it touches, and a small function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from spaniel.tables import Table
from spaniel.url.draft import Draft

Act = Callable[[Draft], str | None]  # what it returns is a remark for --explain
Build = Callable[[Table], Act]  # reads the rule's options out of a policy file


def idle(_draft: Draft) -> None:
    """What a rule does that has nothing left to do."""


class UrlRule(NamedTuple):
    """A rule settles, edits or notes.

    *settle*: it takes over the parser's form of a part; nothing is left to do, but `--explain` shows it where the
    policy has it. *edit*: it may change the canonical URL. *note*: offline it annotates
    and changes nothing.
    """

    name: str
    part: str
    kind: Literal["settle", "edit", "note"]
    build: Build
    what: str  # what it does, in a sentence: for --explain and the reference
    may_ask: bool = False  # whether it can ask the web, where a policy says `asks = true`
    moves: bool = False  # whether it may lead to another URL, for which the rules before it run again

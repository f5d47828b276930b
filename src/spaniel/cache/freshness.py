"""How long a page stays fresh: classes with a TTL, and rules that choose a class (FG-38).

The shipped classes and rules are in `freshness.toml`; a file of the user extends them. A page that no rule matches is
`other`, with the TTL of the profile or the cache.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from spaniel.cache.entry import LONGEST_LIFE
from spaniel.errors import Code, SpanielError
from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.url.hostlists import HostList, host_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.url.value import Url

SHIPPED = os.path.join(os.path.dirname(__file__), "freshness.toml")
OTHER = "other"
MAX_HOURS = LONGEST_LIFE // timedelta(hours=1)
LISTS = ("hosts", "host_labels", "paths", "path_words", "path_ends", "content_types", "types", "generators")


class FreshnessClass(NamedTuple):
    """A class of pages and its TTL."""

    name: str
    ttl: timedelta | None  # None: that of the profile or the cache


class PageTraits(NamedTuple):
    """The properties of a page that rules match, normalized."""

    host: str
    path: str
    segments: frozenset[str]
    content_type: str
    types: frozenset[str]
    generator: str

    @classmethod
    def of(cls, url: Url, content_type: str, types: Iterable[str], generator: str) -> PageTraits:
        path = url.path.lower()
        return cls(
            url.host,
            path,
            frozenset(path.split("/")),
            content_type.partition(";")[0].strip().lower(),
            frozenset(_bare_type(name) for name in types),
            generator.strip().lower(),
        )


class FreshnessRule(NamedTuple):
    """A class and the conditions for a page to be in it. Empty conditions are ignored."""

    name: str
    hosts: HostList
    host_labels: frozenset[str]
    paths: tuple[str, ...]
    path_words: frozenset[str]
    path_ends: tuple[str, ...]
    content_types: frozenset[str]
    types: frozenset[str]
    generators: tuple[str, ...]

    def matches(self, page: PageTraits) -> bool:
        return (
            (not self.hosts or page.host in self.hosts)
            and (not self.host_labels or page.host.partition(".")[0] in self.host_labels)
            and (not self.paths or f"{page.path}/".startswith(self.paths))
            and (not self.path_words or not self.path_words.isdisjoint(page.segments))
            and (not self.path_ends or page.path.endswith(self.path_ends))
            and (not self.content_types or page.content_type in self.content_types)
            and (not self.types or not self.types.isdisjoint(page.types))
            and (not self.generators or page.generator.startswith(self.generators))
        )


class Freshness(NamedTuple):
    """All classes by name, and the rules in order."""

    classes: Mapping[str, FreshnessClass]
    rules: tuple[FreshnessRule, ...]

    def classify(
        self, url: Url, content_type: str = "", types: Iterable[str] = (), generator: str = ""
    ) -> FreshnessClass:
        """The class of a page: that of the first matching rule."""
        page = PageTraits.of(url, content_type, types, generator)
        return self.classes[next((rule.name for rule in self.rules if rule.matches(page)), OTHER)]

    def named(self, name: str) -> FreshnessClass:
        """A class by name; `bad_args` if there is none."""
        if name not in self.classes:
            reason = f"there is no class '{name}'; {nearest(name, self.classes)}"
            raise SpanielError(Code.BAD_ARGS, field="freshness_class", reason=reason)
        return self.classes[name]


def load(path: str = "") -> Freshness:
    """The shipped classes and rules, extended by the user's file if there is one."""
    shipped = from_data(read_toml(SHIPPED, "freshness"), os.path.basename(SHIPPED))
    return from_data(read_toml(path, "freshness"), path, shipped) if path else shipped


def from_data(data: Mapping[str, object], place: str, under: Freshness | None = None) -> Freshness:
    """The classes and rules of a file on top of `under`: its rules come first, its classes are added."""
    table = Table(data, place)
    classes = dict(under.classes) if under else {OTHER: FreshnessClass(OTHER, None)}
    for name, hours in table.number_map("classes").items():
        if not name or not name.isprintable():
            raise complaint(f"{place}.classes", "a name must be text in one line")
        classes[name] = FreshnessClass(name, _ttl(hours, f"{place}.classes.{name}"))
    rules = tuple(_rule(part, classes) for part in table.tables("rules", []))
    table.close()
    return Freshness(classes, rules + (under.rules if under else ()))


def _ttl(hours: int, place: str) -> timedelta:
    if not 1 <= hours <= MAX_HOURS:
        raise complaint(place, f"{hours} hours are not between 1 and {MAX_HOURS}")
    return timedelta(hours=hours)


def _rule(table: Table, classes: Mapping[str, FreshnessClass]) -> FreshnessRule:
    name = table.text("class")
    if name not in classes:
        raise complaint(f"{table.place}.class", f"there is no class '{name}'; {nearest(name, classes)}")
    hosts, labels, paths, words, ends, content_types, types, generators = (_texts(table, key) for key in LISTS)
    table.close()
    if not any((hosts, labels, paths, words, ends, content_types, types, generators)):
        raise complaint(table.place, f"matches every page; to say how long all others are fresh, set classes.{OTHER}")
    return FreshnessRule(
        name,
        HostList(hosts),
        frozenset(labels),
        tuple(f"/{path.strip('/')}/" for path in paths),
        frozenset(words),
        ends,
        frozenset(content_types),
        frozenset(_bare_type(name) for name in types),
        generators,
    )


def _texts(table: Table, key: str) -> tuple[str, ...]:
    """Normalized values. An empty one is refused, since it would match everything."""
    texts = tuple(text.strip().lower() for text in table.texts(key, ()))
    for text in texts:
        if not text.strip("/") or (key == "hosts" and not _is_host(text)):
            raise complaint(f"{table.place}.{key}", f"'{text}' is not a value to look for")
    return texts


def _is_host(text: str) -> bool:
    """A name, or `*.` and a name; no other wildcards."""
    name = host_key(text.removeprefix("*."))
    return bool(name) and "*" not in name and "/" not in name


def _bare_type(name: str) -> str:
    """`Article` for `https://schema.org/Article` and `schema:Article`."""
    return name.strip().lower().rpartition("/")[2].rpartition(":")[2]

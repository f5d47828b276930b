"""Links of a registry: which URL is requested for a record, how often it is checked, and when it is due."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from spaniel.health.links import Checked, Link, Place
from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.verdicts import DAY, Expected, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from spaniel.health.history import Observed
    from spaniel.registry.record import LinkRecord

SHIPPED = os.path.join(os.path.dirname(__file__), "priorities.toml")
EARLY = 0.1  # of the time between two checks: a job that runs daily does not run at the same second
PRIORITY = "priority"  # the key of a record


class Priorities(NamedTuple):
    default: str
    days: Mapping[str, int]
    sooner: Mapping[str, int]
    categories: Mapping[str, str]

    def of(self, said: object, categories: Iterable[str]) -> str:
        """The priority of a record, by its key or a category; the most frequent of several."""
        if said in self.days:
            return str(said)
        found = [self.categories[name] for name in categories if name in self.categories]
        return min(found, key=self.days.__getitem__, default=self.default)

    def is_due(self, priority: str, last: Observed | None, now: float) -> bool:
        """Whether it is time for a link of this priority. One that was never checked is due."""
        if last is None:
            return True
        days = self.days[priority or self.default]
        days = min(days, self.sooner.get(last.verdict, days))
        return now - last.last_at >= days * DAY * (1 - EARLY)


def load(file: str = "") -> Priorities:
    path = file or SHIPPED
    table = Table(read_toml(path, "priorities"), path)
    read = Priorities(
        table.text("default"), table.number_map("days"), table.number_map("sooner"), table.text_map("categories")
    )
    table.close()
    for place, name in (("default", read.default), *((f"categories.{key}", of) for key, of in read.categories.items())):
        if name not in read.days:
            raise complaint(f"{path}.{place}", f"there is no priority '{name}'; {nearest(name, read.days)}")
    for verdict in read.sooner:
        if verdict not in set(Verdict):
            raise complaint(f"{path}.sooner.{verdict}", f"no such verdict; {nearest(verdict, set(Verdict))}")
    return read


REDIRECT_OK, TYPE_OK = "redirect-ok", "content-type-change-ok"  # categories that others' tools know
_PATH_LINE = re.compile(r"""^_path:[ \t]*["']?""", re.MULTILINE)
_WEB = ("http", "https")


class Wanted(NamedTuple):
    """Which links, by what their last check told. What is empty is not asked for."""

    verdicts: frozenset[str] = frozenset()  # 'never': those without a check
    not_since: float | None = None  # those whose last check was before
    due_at: float | None = None  # those that are due by then

    def takes(self, link: Link, last: Observed | None, priorities: Priorities) -> bool:
        if self.verdicts and ("never" if last is None else last.verdict) not in self.verdicts:
            return False
        if self.not_since is not None and last is not None and last.last_at >= self.not_since:
            return False
        return self.due_at is None or priorities.is_due(link.priority, last, self.due_at)

    @property
    def asks_history(self) -> bool:
        return self != Wanted()


def links(records: Iterable[LinkRecord], priorities: Priorities, scheme: str = "") -> Iterator[Link | Checked]:
    """A link for each record; `scheme` rules over what files say. One that is deprecated is skipped, and told so."""
    from spaniel.registry.record import DEPRECATED

    for record in records:
        link = _link(record, priorities, scheme)
        if record.is_deprecated:
            yield Checked(link, Verdict.SKIPPED, f"the record is of the category '{DEPRECATED}'")
        else:
            yield link


def wanted(
    found: Iterable[Link | Checked], which: Wanted, last: Callable[[str], Observed | None], priorities: Priorities
) -> Iterator[Link | Checked]:
    """Those of them that are wanted."""
    for link in found:
        if isinstance(link, Checked):
            if not which.asks_history:
                yield link
        elif not which.asks_history or which.takes(link, last(link.url), priorities):
            yield link


def _link(record: LinkRecord, priorities: Priorities, scheme: str) -> Link:
    url = f"{scheme}://{record.host}{record.path}" if scheme else record.url
    priority = priorities.of(record.keys.get(PRIORITY), record.categories)
    return Link(url, (), (_place(record),), expected_of(record), priority)


def expected_of(record: LinkRecord) -> Expected:
    """What a record asserts: alone, that it is answered by content or a redirect (DB-06); else its content (DB-07).

    `content-type: X-301-Redirect` is kept as it is: it asserts that the URL redirects, and how.
    """
    kind = (record.content_type or "").partition(";")[0].strip().lower() or None
    length, sha256 = record.content_length, record.content_sha256
    asserts = length is not None or sha256 is not None or kind is not None
    return Expected(
        length=length,
        sha256=sha256,
        content_type=kind,
        may_redirect=not asserts or REDIRECT_OK in record.categories,
        type_may_change=TYPE_OK in record.categories,
        redirect_is_fine=REDIRECT_OK in record.categories,
    )


def _place(record: LinkRecord) -> Place:
    """The path itself, where somebody would change it."""
    found = _PATH_LINE.search(record.text)
    if found is None:
        return Place(record.file, record.line)
    before = record.text[: found.start()]
    return Place(record.file, record.line + before.count("\n"), found.end() - found.start() + 1)


def read_aliases(texts: Iterable[str]) -> dict[str, str]:
    """`--map ORIGINAL=ALIAS`: hosts, and what is asked in their place: a host, or a scheme and a host."""
    aliases: dict[str, str] = {}
    for text in texts:
        from spaniel.registry.folder import authority  # a check of documents loads no registry

        original, found, alias = text.partition("=")
        scheme, named, host = alias.rpartition("://")
        if not found or authority(original) is None or authority(host) is None or (named and scheme not in _WEB):
            reason = f"'{text}' must be two hosts, as in www.example.com=staging.example.com"
            raise complaint("--map", f"{reason}, or www.example.com=http://127.0.0.1:8000")
        aliases[str(authority(original))] = f"{scheme}://{authority(host)}" if named else str(authority(host))
    return aliases


def asked_as(aliases: Mapping[str, str]) -> Callable[[str], str]:
    """Which URL is asked in place of another."""
    if not aliases:
        return str

    def mapped(url: str) -> str:
        scheme, _, rest = url.partition("://")
        host, slash, path = rest.partition("/")
        alias = aliases.get(host)
        if alias is None:
            return url
        return f"{alias}{slash}{path}" if "://" in alias else f"{scheme}://{alias}{slash}{path}"

    return mapped

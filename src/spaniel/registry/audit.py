"""Classifies cited links: which lead to specific content, and which only to a home page or section (CP-13 to CP-15)."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spaniel.errors import SpanielError
from spaniel.tables import Table, complaint, read_toml
from spaniel.url.links import cite, unaccented

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from spaniel.url.canonical import Canonical
    from spaniel.url.policy import Policy
    from spaniel.url.questions import Web


INFORMATIVE = "informative"
REFUSED = "refused"  # the class of invalid links
_GENERIC = os.path.join(os.path.dirname(__file__), "generic_slugs.toml")


class CitedLink(NamedTuple):
    """A link as found in a data file."""

    file: str
    where: str
    url: str
    entity: str = ""  # whose page it is, where the data say so
    title: str = ""  # what the record is about, likewise


class AuditFinding(NamedTuple):
    """The finding for a cited link. `gap`: a deeper link is needed."""

    file: str
    where: str
    url: str
    canonical: str
    link_class: str
    gap: bool
    note: str  # why it is refused, how it may be cited, or what is to be reviewed
    deeper: str = ""  # a link that is proposed instead, from the page itself

    @property
    def is_fine(self) -> bool:
        return not self.gap and not self.note


class GenericSlugs(NamedTuple):
    """Generic words and endings."""

    words: frozenset[str]
    endings: tuple[str, ...]


def audit(links: Iterable[CitedLink], policy: Policy, web: Web | None = None) -> Iterator[AuditFinding]:
    """Each link in its canonical form, with its class; no requests are made. `web` is what was learnt before."""
    for link in links:
        try:
            found = policy.explain(link.url, web)
        except SpanielError as error:
            yield refused(link, error)
        else:
            yield judged(link, found, policy)


def refused(link: CitedLink, error: SpanielError) -> AuditFinding:
    return AuditFinding(link.file, link.where, link.url, "", REFUSED, True, error.message)


def judged(link: CitedLink, found: Canonical, policy: Policy) -> AuditFinding:
    """The finding for a link whose canonical form is known. The policy must have link classes, as `clara` does."""
    if found.link_type is None:
        raise complaint("policy", f"'{policy.name}' has no link classes; 'clara' has")
    gap, note = _judged(found.url, found.link_type, link.entity, policy)
    return AuditFinding(link.file, link.where, link.url, found.url, found.link_type, gap, note)


def _judged(url: str, link_class: str, entity: str, policy: Policy) -> tuple[bool, str]:
    citation = cite(url, link_class, entity)
    if citation.qualifier:
        return citation.gap, f'cite as "{citation.qualifier}"' if entity else "look for a deeper link"
    slug = generic_slug(url, policy)
    return citation.gap, f"review: '{slug}' is all that makes it informative, and is generic" if slug else ""


def generic_slug(url: str, policy: Policy) -> str | None:
    """The generic path segment that alone makes a link informative; None if something else does."""
    generic = generic_slugs()
    head, mark, query = url.partition("?")
    scheme, _, rest = head.partition("://")
    host, *segments = rest.split("/")
    found = [segment for segment in segments if segment and _is_generic(segment, generic)]
    if not found or policy.explain(url).link_type != INFORMATIVE:  # its title may have made it so, online
        return None
    left = "/".join([host, *(segment for segment in segments if segment not in found)])
    without = policy.explain(f"{scheme}://{left}{mark}{query}" if "/" in left else f"{scheme}://{left}/{mark}{query}")
    return found[-1] if without.link_type != INFORMATIVE else None


def _is_generic(segment: str, generic: GenericSlugs) -> bool:
    name = unaccented(unquote(segment))
    for ending in generic.endings:
        name = name.removesuffix(ending)
    words = [word for word in re.split(r"[^a-z0-9]+", name) if word]
    return bool(words) and all(word in generic.words for word in words)


@lru_cache(maxsize=1)
def generic_slugs() -> GenericSlugs:
    table = Table(read_toml(_GENERIC, "generic slugs"), "generic_slugs.toml")
    found = GenericSlugs(frozenset(table.texts("words")), table.texts("endings"))
    table.close()
    return found


_NAMES = os.path.join(os.path.dirname(__file__), "field_names.toml")
MAX_NAMES = 16  # of a path that a field may have
LONGEST_TITLE = 500  # characters; longer ones are texts, and their words would be on any page


class LinkContext(NamedTuple):
    """Facts about a link from the data: the entity and the title of the record."""

    entity: str = ""
    title: str = ""


NOTHING = LinkContext()


class FieldNames(NamedTuple):
    """The names of the fields with these facts; the first that is present counts."""

    entities: tuple[str, ...]
    titles: tuple[str, ...]
    languages: tuple[str, ...]

    def about(self, keys: Mapping[str, object], above: LinkContext) -> LinkContext:
        """From the fields beside a link, or from those above them."""
        by_name = {unaccented(str(key)): value for key, value in keys.items()}
        entity = self._first(by_name, self.entities)
        return LinkContext(entity or above.entity, self._first(by_name, self.titles) or above.title)

    def _first(self, by_name: Mapping[str, object], names: Sequence[str]) -> str:
        found = (self._text(by_name[name]) for name in names if name in by_name)
        return next((text for text in found if text), "")

    def _text(self, value: object) -> str:
        """A text, or the one of several languages that is wanted most."""
        if isinstance(value, dict):
            texts = {unaccented(str(key)): text for key, text in value.items() if isinstance(text, str)}
            value = next((texts[lang] for lang in self.languages if lang in texts), next(iter(texts.values()), ""))
        return " ".join(value[:LONGEST_TITLE].split()) if isinstance(value, str) else ""


@lru_cache(maxsize=8)
def field_names(titles: tuple[str, ...] = ()) -> FieldNames:
    """The shipped names; `titles` replaces those of titles."""
    table = Table(read_toml(_NAMES, "field names"), "field_names.toml")
    entities, shipped = table.texts("entities"), table.texts("titles")
    found = FieldNames(entities, tuple(map(unaccented, titles)) or shipped, table.texts("languages"))
    table.close()
    return found


def cited(file: str, where: str, record: object, fields: Collection[str], names: FieldNames) -> Iterator[CitedLink]:
    """Every text of a record that is under one of the fields, however deep, with what is said of it next to it.

    A field is a name or a path of names (`page.url`). No recursion: the data may be hostile, and deep.
    """
    left: list[tuple[str, tuple[str, ...], object, bool, LinkContext]] = [(where, (), record, False, NOTHING)]
    while left:
        place, keys, value, wanted, about = left.pop()
        if isinstance(value, str) and wanted and value.strip():
            yield CitedLink(file, place, value.strip(), *about)
        elif isinstance(value, dict):
            own = names.about(value, about)
            for key in reversed(value):
                path = (*keys[-MAX_NAMES:], str(key))
                inner = f"{place}.{key}" if place else str(key)
                left.append((inner, path, value[key], _is_wanted(path, fields), own))
        elif isinstance(value, list):
            left += [(f"{place}[{i}]", keys, value[i], wanted, about) for i in reversed(range(len(value)))]


def _is_wanted(path: tuple[str, ...], fields: Collection[str]) -> bool:
    return path[-1] in fields or any(f".{'.'.join(path)}".endswith(f".{field}") for field in fields if "." in field)

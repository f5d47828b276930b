"""Records of data files as links to audit: the fields that hold links, and those that say what they are about."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.audit import CitedLink
from spaniel.tables import Table, read_toml
from spaniel.url.links import unaccented

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

_NAMES = os.path.join(os.path.dirname(__file__), "field_names.toml")
MOST_NAMES = 16  # of a path that a field may have
LONGEST_TITLE = 500  # characters; longer ones are texts, and their words would be on any page


class LinkContext(NamedTuple):
    """What the data say of a link: whose page it is, and what the record is about."""

    entity: str = ""
    title: str = ""


NOTHING = LinkContext()


class FieldNames(NamedTuple):
    """The fields that say so; the first that is there counts."""

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
    """The names as shipped; `titles` rule over those of titles."""
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
                path = (*keys[-MOST_NAMES:], str(key))
                inner = f"{place}.{key}" if place else str(key)
                left.append((inner, path, value[key], _is_wanted(path, fields), own))
        elif isinstance(value, list):
            left += [(f"{place}[{i}]", keys, value[i], wanted, about) for i in reversed(range(len(value)))]


def _is_wanted(path: tuple[str, ...], fields: Collection[str]) -> bool:
    return path[-1] in fields or any(f".{'.'.join(path)}".endswith(f".{field}") for field in fields if "." in field)

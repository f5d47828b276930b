"""Which records are wanted: the filters that users of this format know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.registry.record import CATEGORIES

if TYPE_CHECKING:
    from spaniel.registry.record import Record


class Selection(NamedTuple):
    """Records with one of the categories, of one of the hosts, whose path begins so. An empty filter takes all.

    A host may be asked for by any of its names; `Registry.records` reads the files of those, and no others.
    """

    categories: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    prefix: str = ""
    deprecated: bool = True  # whether records of the category 'deprecated' are among them

    def takes(self, record: Record) -> bool:
        if not record.path.startswith(self.prefix):
            return False
        if not self.deprecated and record.is_deprecated:
            return False
        return not self.categories or any(word in record.keys.get(CATEGORIES, ()) for word in self.categories)


ALL = Selection()

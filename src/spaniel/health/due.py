"""How often a link is to be checked, and whether it is time: data in `priorities.toml`, or in a file of the user's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from spaniel.tables import Table, complaint, nearest, read_toml
from spaniel.verdicts import DAY, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spaniel.health.observations import Observed

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

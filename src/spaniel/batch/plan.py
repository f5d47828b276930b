"""A plan that was written: its hosts, and its tasks by their offsets."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, NamedTuple

from spaniel.batch.frames import read_frame_at
from spaniel.batch.planning import HOSTS, TASKS
from spaniel.batch.ports import Item

if TYPE_CHECKING:
    from collections.abc import Iterator

_BYTES = 8  # of a number in the list of hosts
_COLUMNS = 3


class Task(NamedTuple):
    """A page to fetch, for everyone who asked for it; one that has a refusal is no URL."""

    offset: int
    following: int  # the offset of what stands behind this frame
    url: str
    items: tuple[Item, ...]
    refusal: dict[str, object] | None
    continues: bool  # more items stand in the frames behind


class Plan:
    """The files of a plan, open for reading. Some 24 bytes a host are held in memory, and nothing of a task."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, HOSTS)
        count = os.path.getsize(path) // (_BYTES * _COLUMNS)
        self.starts, self.counts, self.numbers = (array("Q") for _ in range(_COLUMNS))
        with open(path, "rb") as file:
            for column in (self.starts, self.counts, self.numbers):
                column.fromfile(file, count)
        self._tasks = os.open(os.path.join(folder, TASKS), os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def __len__(self) -> int:
        """How many hosts there are."""
        return len(self.starts)

    def close(self) -> None:
        os.close(self._tasks)

    def task(self, offset: int) -> Task:
        """The task whose first frame is there."""
        found = read_frame_at(self._tasks, offset)
        if found is None:
            raise EOFError(f"the plan ends before {offset}")
        (url, items, refusal, continues), following = found
        made = tuple(Item(ordinal, url if raw is None else raw, columns or {}) for ordinal, raw, columns in items)
        return Task(offset, following, url, made, refusal, continues)

    def all_items(self, task: Task) -> Iterator[Item]:
        """Everyone who asked for the page, in the order of the input, however many they are."""
        yield from task.items
        while task.continues:
            task = self.task(task.following)
            yield from task.items

    def url_to_ask(self, task: Task) -> str:
        """With the scheme that the first to ask over HTTP gave: HTTPS is tried first all the same (FG-45)."""
        return (
            f"http{task.url.removeprefix('https')}" if any(map(self.is_over_http, self._over_https(task))) else task.url
        )

    def is_mixed(self, task: Task) -> bool:
        """Whether some gave HTTP and others HTTPS, who must not get what came without TLS."""
        return len({self.is_over_http(item) for item in self._over_https(task)}) > 1

    def _over_https(self, task: Task) -> Iterator[Item]:
        return self.all_items(task) if task.url.startswith("https://") else iter(())

    @staticmethod
    def is_over_http(item: Item) -> bool:
        return item.raw[:7].lower() == "http://"

    def behind(self, task: Task) -> int:
        """The offset of the next task."""
        while task.continues:
            task = self.task(task.following)
        return task.following

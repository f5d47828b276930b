"""The plan of a run: every URL of the input, in its canonical spelling, in the shard that owns its registrable domain.

The input is read once. Memory depends neither on how long it is nor on how it is distributed over hosts.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.errors import Code, SpanielError
from spaniel.runs.run import PlanCounts
from spaniel.runs.store import Shard
from spaniel.url.hostlists import registrable
from spaniel.url.parsing import has_credentials, requested
from spaniel.url.value import plain_host, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spaniel.runs.store import Item, Row
    from spaniel.url.canonical import Canonical
    from spaniel.url.policy import Policy

log = logging.getLogger("spaniel.batch")

HAD_CREDENTIALS = "\0credentials"  # a column of the plan alone: the URL was written with credentials (FG-03)
SHARDS_PER_WORKER = 4
LEAST_SHARDS, MOST_SHARDS = 16, 64  # of one run: it may be resumed with more workers than it was planned with
MOST_INPUT_SHARDS = 10_000  # that `--shard` can name
TOGETHER = 200  # rows of a shard that are added at once
REPORT = 10_000  # URLs after which progress is reported
_HALF = 32  # bits; `--shard` looks at one half of a domain's number, the shards of a run at the other


@lru_cache(maxsize=1 << 16)
def domain_number(host: str) -> int:
    """64 bits that depend on nothing but the registrable domain: the same on every machine."""
    return int.from_bytes(blake2b(registrable(host.rstrip(".")).encode(), digest_size=8).digest(), "big")


def shard_of(host: str, shards: int) -> int:
    """The shard of a run that owns a host, whether or not the plan has it."""
    return (domain_number(host) >> _HALF) % shards


def shards_for(workers: int) -> int:
    """Into how many shards a run is divided."""
    return min(max(LEAST_SHARDS, SHARDS_PER_WORKER * workers), MOST_SHARDS)


class InputShard(NamedTuple):
    """One of N parts of the input (`--shard`); together they are the whole, and no domain is in two."""

    place: int = 0  # from 0
    shards: int = 1

    def has(self, number: int) -> bool:
        return (number & ((1 << _HALF) - 1)) % self.shards == self.place

    def __str__(self) -> str:
        return f"{self.place + 1}/{self.shards}"


WHOLE = InputShard()


def read_shard(text: str) -> InputShard:
    """From `2/5`: the second of five."""
    index, slash, count = text.partition("/")
    is_number = slash and index.isdecimal() and count.isdecimal()
    if not is_number or not 1 <= int(index) <= int(count) <= MOST_INPUT_SHARDS:
        raise SpanielError(Code.BAD_ARGS, field="--shard", reason=f"'{text}' must be like 2/5: the second of five")
    return InputShard(int(index) - 1, int(count))


class PlannedShards(NamedTuple):
    """What was planned, and the shards that have items, with how many pages each has."""

    counts: PlanCounts
    shards: dict[int, int]


class PlanRows(Protocol):
    """The planned rows of an input. `seen` is the number of URLs of the whole input, once all rows were read."""

    seen: int

    def __iter__(self) -> Iterator[Row]: ...


class ListRows:
    """Rows of a list of URLs. Of the other shards' URLs, only those are canonicalized whose host is not obvious."""

    def __init__(
        self,
        items: Iterable[Item],
        policy: Policy,
        input_shard: InputShard = WHOLE,
        report: Callable[[int], None] | None = None,
    ) -> None:
        self._items, self._policy, self._shard, self._report = items, policy, input_shard, report
        self.seen = 0

    def __iter__(self) -> Iterator[Row]:
        shard, apply, report = self._shard, self._policy.apply, self._report
        is_whole = shard.shards == 1
        is_filtered = not is_whole and self._policy.keeps_hosts
        for self.seen, item in enumerate(self._items, 1):  # noqa: B020  the last one's stays
            if report is not None and not self.seen % REPORT:
                report(self.seen)
            if is_filtered and (host := plain_host(item.raw)) and not shard.has(domain_number(host)):
                continue
            row = _row(item, apply)
            if is_whole or shard.has(row_number(row)):
                yield row


def row_number(row: Row) -> int:
    """The number of a row's domain. What is not a URL goes with the host that it names plainly, or by its own text."""
    _, host, _, raw, *_ = row
    return domain_number(host or plain_host(raw or "") or (raw or "")[:200])


def make_plan(rows: PlanRows, folder: str, *, shards: int = 1, is_spread: bool = False) -> PlannedShards:
    """Write the shards of these rows into a folder. `is_spread`: the pages of one host go into all of them."""
    planner = _Planner(folder, shards)
    try:
        for row in rows:
            _, host, url, *_ = row
            planner.add(hash(url) % shards if is_spread and host else (row_number(row) >> _HALF) % shards, row)
        return planner.finish(rows.seen)
    except BaseException:
        planner.discard()
        raise


def _row(item: Item, apply: Callable[[str], Canonical]) -> Row:
    try:
        url = apply(item.raw).url
    except SpanielError as error:
        return _refused(item, error)
    except Exception as error:
        log.exception("unexpected_error ordinal=%d", item.ordinal)  # a bug costs its URL, not the run
        return _refused(item, SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}"))
    columns = item.columns
    if "@" in item.raw and has_credentials(item.raw):
        columns = {**item.columns, HAD_CREDENTIALS: True}
    return item.ordinal, split(url).host, url, None if item.raw == url else requested(item.raw), columns or None, None


def _refused(item: Item, error: SpanielError) -> Row:
    return item.ordinal, "", "", requested(item.raw), item.columns or None, error.as_dict()


class _Planner:
    """Shards that are created when their first item comes."""

    def __init__(self, folder: str, count: int) -> None:
        self._folder = folder
        self._shards: list[Shard | None] = [None] * count
        self._rows: list[list[Row]] = [[] for _ in range(count)]

    def add(self, number: int, row: Row) -> None:
        rows = self._rows[number]
        rows.append(row)
        if len(rows) >= TOGETHER:
            self._flush(number)

    def _flush(self, number: int) -> Shard:
        shard = self._shards[number] or Shard.create(self._folder, number)
        self._shards[number] = shard
        shard.add(self._rows[number])
        self._rows[number].clear()
        return shard

    def finish(self, seen: int) -> PlannedShards:
        counts, pages = PlanCounts(seen), {}
        for number, rows in enumerate(self._rows):
            if rows or self._shards[number] is not None:
                shard = self._flush(number)
                own = shard.finish_planning()
                shard.close()
                self._shards[number] = None
                pages[number] = own.tasks
                counts = counts.with_shard(own)
        return PlannedShards(counts, pages)

    def discard(self) -> None:
        for shard in self._shards:
            if shard is not None:
                shard.discard()

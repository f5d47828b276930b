"""Who owns a host: its registrable domain decides; which shard has it is the same on every machine."""

from __future__ import annotations

from array import array
from functools import lru_cache
from hashlib import blake2b
from heapq import heapreplace
from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.url.hosts import is_ipv4

if TYPE_CHECKING:
    from collections.abc import Iterable

    from publicsuffixlist import PublicSuffixList

_HALF = 32  # bits; shards look at one half of a domain's number, workers at the other, so that neither thins the other
_GROUPS = 4096
MOST_SHARDS = 10_000


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=False)  # users of github.io are as foreign to one another as companies


@lru_cache(maxsize=1 << 14)
def registrable_domain(host: str) -> str:
    """The part of a name that somebody registered. An address, or what nobody can register, stands for itself."""
    if host.startswith("[") or is_ipv4(host):
        return host
    found: str | None = _suffixes().privatesuffix(host.rstrip("."))
    return found or host


@lru_cache(maxsize=1 << 14)
def domain_number(host: str) -> int:
    """64 bits that depend on nothing but the registrable domain."""
    return int.from_bytes(blake2b(registrable_domain(host).encode(), digest_size=8).digest(), "big")


class Owners:
    """Which worker has which domain: each about as many pages.

    Domains fall into groups by their numbers, and the groups are dealt out, the heaviest first, each to whoever has the
    least. So a few big sites are spread as well as a million small ones, and memory does not depend on their number.
    """

    def __init__(self, pages: Iterable[tuple[int, int]], workers: int) -> None:
        """By domains' numbers: how many pages each has. A number may come several times."""
        weights = array("Q", bytes(8 * _GROUPS))
        for number, count in pages:
            weights[_group(number)] += count
        self._workers = array("H", bytes(2 * _GROUPS))
        loads = [(0, worker) for worker in range(workers)]  # a heap
        for group in sorted(range(_GROUPS), key=weights.__getitem__, reverse=True):
            load, worker = loads[0]
            self._workers[group] = worker
            heapreplace(loads, (load + (weights[group] or 1), worker))  # a group without pages may get some: redirects

    def of(self, number: int) -> int:
        """The worker of a domain, whether or not the plan has it."""
        return self._workers[_group(number)]


def _group(number: int) -> int:
    return (number >> _HALF) % _GROUPS


class Shard(NamedTuple):
    """One of N parts of the input; together they are the whole, and no domain is in two."""

    place: int = 0  # from 0
    shards: int = 1

    def has(self, number: int) -> bool:
        return (number & ((1 << _HALF) - 1)) % self.shards == self.place

    def __str__(self) -> str:
        return f"{self.place + 1}/{self.shards}"


WHOLE = Shard()


def read_shard(text: str) -> Shard:
    """From `2/5`: the second of five."""
    index, slash, count = text.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal()) or not 1 <= int(index) <= int(count) <= MOST_SHARDS:
        raise SpanielError(Code.BAD_ARGS, field="--shard", reason=f"'{text}' must be like 2/5: the second of five")
    return Shard(int(index) - 1, int(count))

"""The registrable domain of a host: what its owner has registered, by the public suffix list."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # the list has 10,000 lines: read by those who need it

    return PublicSuffixList()


@lru_cache(maxsize=4096)
def registrable(host: str) -> str:
    """`sede.agencia.gob.es` -> `agencia.gob.es`. An address, and a name that nobody can register, is its own."""
    if host.startswith("[") or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


def same_owner(host: str, other: str) -> bool:
    return registrable(host) == registrable(other)

"""Lists of hosts in policies and settings, and registrable domains."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from publicsuffixlist import PublicSuffixList


def host_key(name: str) -> str:
    """The normal form of a host in a list: lower case, IDNA's ASCII form, no trailing dot."""
    name = name.strip().removesuffix(".")
    if name.isascii():
        return name.lower()
    import ada_url

    try:
        return ada_url.idna_to_ascii(name).decode("ascii")
    except (ValueError, UnicodeError):
        return ""


class HostList:
    """Hosts of a list: `example.com` is that host, `*.example.com` every host below it, `*` any."""

    __slots__ = ("_exact", "_suffixes")

    def __init__(self, patterns: Iterable[str]) -> None:
        names = [p.strip() for p in patterns]
        self._exact = frozenset(host_key(p) for p in names if not p.startswith("*"))
        self._suffixes = tuple("." + host_key(p[2:]) if p != "*" else "" for p in names if p.startswith("*"))

    def __contains__(self, host: object) -> bool:
        return isinstance(host, str) and (host in self._exact or host.endswith(self._suffixes))

    def __bool__(self) -> bool:
        return bool(self._exact or self._suffixes)


def domains(names: Iterable[str]) -> HostList:
    """A domain means itself and all below it, also where it is written `.example.com` or `*.example.com`."""
    bare = (name.strip().removeprefix("*").removeprefix(".") for name in names)
    return HostList(pattern for name in bare if name for pattern in (name, f"*.{name}"))


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # the list has 10,000 lines: read by those who need it

    return PublicSuffixList()


@lru_cache(maxsize=4096)
def registrable(host: str) -> str:
    """`sede.agencia.gob.es` -> `agencia.gob.es`. Addresses and public suffixes are returned unchanged."""
    if host.startswith("[") or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


def same_owner(host: str, other: str) -> bool:
    return registrable(host) == registrable(other)

"""Whether two addresses are one owner's: of one registrable domain, as the public suffix list draws the line."""

from __future__ import annotations

from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

    from spaniel.url.value import Url


def same_owner(one: Url, other: Url) -> bool:
    return one.host == other.host or _owner(one.host) == _owner(other.host)


def _owner(host: str) -> str:
    """`docs.example.co.uk` is `example.co.uk`'s; `a.github.io` is its own; an address is nobody else's."""
    bare = host.rstrip(".")
    if _is_address(bare.strip("[]")):
        return bare
    return _suffixes().privatesuffix(bare) or bare


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()  # the list that comes with it, some 10 MB and a third of a second


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True

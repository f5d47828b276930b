"""Which addresses may be connected to: the port of the guard, and what judges by the table of ranges (FR-WF-06b)."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Protocol

from spaniel.errors import Code, SpanielError
from spaniel.net.addresses import Address, blocked
from spaniel.net.resolver import MOST_ADDRESSES, failed
from spaniel.url.parsing import is_ipv4

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.net.resolver import Resolver

MOST_PASSED = 4096  # hosts


class SsrfValidator(Protocol):
    """What judges addresses; tests may put their own in its place."""

    def validate_ip(self, ip: Address) -> None:
        """Raises `ssrf_blocked`."""

    async def resolve_and_validate(self, host: str) -> Sequence[Address]:
        """All addresses of a host, each of which passed."""


class AddressValidator:
    """The table of ranges, but for the blocks that are switched off."""

    def __init__(self, resolver: Resolver, off: frozenset[str] = frozenset()) -> None:
        self._resolver = resolver
        self._off = off
        self._passed: dict[str, Sequence[Address]] = {}  # what was judged last, by its host

    def validate_ip(self, ip: Address) -> None:
        if found := blocked(ip, self._off):
            raise SpanielError(
                Code.SSRF_BLOCKED, blocked_ip=str(ip), cidr=found.cidr, toggle=found.toggle, what=found.what
            )

    async def resolve_and_validate(self, host: str) -> Sequence[Address]:
        literal = literal_address(host)
        addresses = [literal] if literal else await self._resolver.resolve(host)
        if self._passed.get(host) is addresses:  # the very same, which is no other now than when it passed
            return addresses
        if not addresses:
            raise failed(host, "it has no address")
        if len(addresses) > MOST_ADDRESSES:
            raise failed(host, f"more than {MOST_ADDRESSES} addresses")
        for address in addresses:  # one bad answer spoils them all: which one would be dialled is not ours to say
            self.validate_ip(address)
        if isinstance(addresses, tuple):  # which nobody can change
            if len(self._passed) >= MOST_PASSED:
                self._passed.clear()
            self._passed[host] = addresses
        return addresses


@lru_cache(maxsize=4096)
def literal_address(host: str) -> Address | None:
    """The address that a URL's host is, if it is one."""
    if host.startswith("["):
        return IPv6Address(host[1:-1])
    return IPv4Address(host) if is_ipv4(host) else None

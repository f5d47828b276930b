"""Classifies IP addresses by the table in ranges.toml.

Python's `ipaddress.is_global` calls multicast and several reserved ranges global, so only its parsing and arithmetic
are used here.
"""

from __future__ import annotations

import os
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import NamedTuple

from spaniel.tables import Table, complaint, read_toml

Address = IPv4Address | IPv6Address

TOGGLES = ("block_private_ips", "block_loopback", "block_link_local", "block_reserved")
INHERIT = "inherit"


class Range(NamedTuple):
    """A row of ranges.toml."""

    cidr: str
    what: str
    toggle: str


# IPv6 blocks that IANA has not assigned; with the table, everything outside 2000::/3.
UNASSIGNED = (
    "::/8", "100::/8", "200::/7", "400::/6", "800::/5", "1000::/4", "4000::/3", "6000::/3", "8000::/3", "a000::/3",
    "c000::/3", "e000::/4", "f000::/5", "f800::/6", "fe00::/9",
)  # fmt: skip
_OUTSIDE = "not global unicast (outside 2000::/3)"
_GLOBAL_UNICAST = 0b001  # the first three bits of 2000::/3


class _Row(NamedTuple):
    first: int
    last: int
    range: Range


@lru_cache(maxsize=1)
def _table() -> dict[int, list[_Row]]:
    """The rows of each IP version, most specific first."""
    path = os.path.join(os.path.dirname(__file__), "ranges.toml")
    rows: dict[int, list[tuple[int, _Row]]] = {4: [], 6: []}
    for row in Table(read_toml(path, "ranges"), "ranges.toml").tables("range"):
        known = Range(row.text("cidr"), row.text("what"), row.text("toggle"))
        row.text("source")  # required: every range says where it comes from
        row.close()
        net = ip_network(known.cidr)  # strict: host bits that are set (a typo) raise
        if known.toggle not in (*TOGGLES, INHERIT):
            raise complaint(f"{row.place}.toggle", f"there is no toggle '{known.toggle}'")
        ends = int(net.network_address), int(net.broadcast_address)
        rows[net.version].append((net.prefixlen, _Row(*ends, known)))
    return {v: [row for _, row in sorted(found, key=lambda r: -r[0])] for v, found in rows.items()}


def name_address(address: Address) -> Range | None:
    """The special range that contains an address; None if it is public."""
    value = int(address)
    for first, last, found in _table()[address.version]:
        if first <= value <= last:
            return found
    if address.version == 6 and value >> 125 != _GLOBAL_UNICAST:
        block = next((cidr for cidr in UNASSIGNED if address in ip_network(cidr)), "::/0")
        return Range(block, _OUTSIDE, "block_reserved")
    return None


def carried_ipv4(address: Address) -> IPv4Address | None:
    """The IPv4 address embedded in an IPv6 one (RFC 4291, 6052, 3056, 5214), if any."""
    if isinstance(address, IPv4Address):
        return None
    value = int(address)
    if value >> 112 == 0x2002:  # 6to4
        return IPv4Address((value >> 80) & 0xFFFFFFFF)
    if value >> 32 in (0xFFFF, 0x64FF9B << 64) or (value >> 32) & 0xFDFFFFFF == 0x5EFE:  # mapped, NAT64, ISATAP
        return IPv4Address(value & 0xFFFFFFFF)
    return None


@lru_cache(maxsize=4096)
def blocked(address: Address, off: frozenset[str] = frozenset()) -> Range | None:
    """The range that blocks an address, with some toggles off; None if it may be dialled."""
    named = name_address(address)
    if named is not None and named.toggle != INHERIT:
        return None if named.toggle in off else named
    inner = carried_ipv4(address)
    return blocked(inner, off) if inner is not None else None

"""Addresses: just inside and just outside every range, in every disguise."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import SpanielError
from spaniel.net import addresses as module
from spaniel.net.addresses import TOGGLES, Address, _table, blocked, carried_ipv4, name_address

# cidr, toggle, is the address before it public?, is the one after it?   (SRD FR-WF-05, then D2-07)
IPV4 = [
    ("0.0.0.0/8", "block_reserved", None, True),
    ("10.0.0.0/8", "block_private_ips", True, True),
    ("100.64.0.0/10", "block_reserved", True, True),
    ("127.0.0.0/8", "block_loopback", True, True),
    ("168.63.129.16/32", "block_reserved", True, True),
    ("169.254.0.0/16", "block_link_local", True, True),
    ("172.16.0.0/12", "block_private_ips", True, True),
    ("192.0.0.0/24", "block_reserved", True, True),
    ("192.0.2.0/24", "block_reserved", True, True),
    ("192.88.99.0/24", "block_reserved", True, True),
    ("192.168.0.0/16", "block_private_ips", True, True),
    ("198.18.0.0/15", "block_reserved", True, True),
    ("198.51.100.0/24", "block_reserved", True, True),
    ("203.0.113.0/24", "block_reserved", True, True),
    ("224.0.0.0/4", "block_reserved", True, False),
    ("240.0.0.0/4", "block_reserved", False, None),
    ("255.255.255.255/32", "block_reserved", False, None),
]
IPV6 = [
    ("::/128", "block_reserved", None, False),
    ("::1/128", "block_loopback", False, False),
    ("::/96", "block_reserved", None, False),
    ("::ffff:0:0:0/96", "block_reserved", False, False),
    ("64:ff9b:1::/48", "block_reserved", False, False),
    ("100::/64", "block_reserved", False, False),
    ("100:0:0:1::/64", "block_reserved", False, False),
    ("2001::/23", "block_reserved", True, True),
    ("2001:db8::/32", "block_reserved", True, True),
    ("3ffe::/16", "block_reserved", True, False),
    ("3fff::/20", "block_reserved", False, True),
    ("5f00::/16", "block_reserved", False, False),
    ("fc00::/7", "block_private_ips", False, False),
    ("fe80::/10", "block_link_local", False, False),
    ("fec0::/10", "block_reserved", False, False),
    ("ff00::/8", "block_reserved", False, None),
]
INHERITING = {"::ffff:0:0/96", "64:ff9b::/96", "2002::/16"}


def disguises(inner: IPv4Address) -> dict[str, IPv6Address]:
    """Every form of IPv6 address that carries an IPv4 address and may reach it."""
    v4 = int(inner)
    host = 0x2A00145040010000 << 64
    return {
        "mapped": IPv6Address((0xFFFF << 32) | v4),
        "NAT64": IPv6Address((0x64FF9B << 96) | v4),
        "6to4": IPv6Address((0x2002 << 112) | (v4 << 80) | 1),
        "ISATAP": IPv6Address(host | (0x5EFE << 32) | v4),
        "ISATAP, universal": IPv6Address(host | (0x02005EFE << 32) | v4),
    }


def blocked_whole(inner: IPv4Address) -> dict[str, IPv6Address]:
    v4 = int(inner)
    return {
        "compatible": IPv6Address(v4),
        "translated": IPv6Address((0xFFFF << 48) | v4),
        "NAT64 local": IPv6Address((0x64FF9B0001 << 80) | v4),
        "Teredo server": IPv6Address((0x20010000 << 96) | (v4 << 64)),
        "Teredo client": IPv6Address((0x20010000 << 96) | (v4 ^ 0xFFFFFFFF)),
    }


@pytest.mark.req("FR-WF-05", "D2-07", "T-WF-SSRF-02", "T-WF-SSRF-03", "T-WF-SSRF-04")
@pytest.mark.parametrize(("cidr", "toggle", "before", "after"), IPV4 + IPV6, ids=str)
def test_a_range_is_blocked_from_its_first_to_its_last_address(
    cidr: str, toggle: str, before: bool | None, after: bool | None
) -> None:
    net = ip_network(cidr)
    first, last = net.network_address, net.broadcast_address
    if cidr == "::/96":  # its first two addresses have rows of their own
        first += 2
    for inside in (first, last if cidr != "240.0.0.0/4" else last - 1):
        found = blocked(inside)
        assert found is not None
        assert (found.cidr, found.toggle) == (cidr, toggle)
    if before is not None:
        assert (blocked(net.network_address - 1) is None) is before
    if after is not None:
        assert (blocked(net.broadcast_address + 1) is None) is after


def test_the_table_of_this_test_is_the_table_of_the_guard() -> None:
    shipped = {row.range.cidr: row.range.toggle for rows in _table().values() for row in rows}
    assert shipped == {cidr: toggle for cidr, toggle, *_ in IPV4 + IPV6} | dict.fromkeys(INHERITING, "inherit")


@pytest.mark.req("FR-WF-05a", "D2-07", "T-WF-SSRF-05")
@pytest.mark.parametrize(("cidr", "toggle", "before", "after"), IPV4, ids=str)
def test_a_blocked_address_is_blocked_in_every_disguise(
    cidr: str, toggle: str, before: bool | None, after: bool | None
) -> None:
    net = ip_network(cidr)
    assert isinstance(net.network_address, IPv4Address)
    for inner in (net.network_address, net.broadcast_address):
        assert isinstance(inner, IPv4Address)
        for name, outer in disguises(inner).items():
            found = blocked(outer)
            assert found is not None, name
            assert found.toggle == toggle, name
            assert carried_ipv4(outer) == inner, name


@pytest.mark.req("FR-WF-05a")
@pytest.mark.parametrize("inner", ["8.8.8.8", "1.1.1.1", "93.184.215.14", "172.32.0.0"])
def test_a_public_address_is_judged_as_itself_where_it_is_carried(inner: str) -> None:
    for name, outer in disguises(IPv4Address(inner)).items():
        assert blocked(outer) is None, name


@pytest.mark.req("D2-07")
@pytest.mark.parametrize("inner", ["10.0.0.1", "127.0.0.1", "8.8.8.8"])
def test_forms_whose_inside_cannot_be_trusted_are_blocked_whole(inner: str) -> None:
    for name, outer in blocked_whole(IPv4Address(inner)).items():
        assert blocked(outer) is not None, name


@pytest.mark.parametrize(
    "public", ["2000::1", "2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2620:fe::fe", "3f00::1"]
)
def test_global_unicast_is_public(public: str) -> None:
    assert name_address(ip_address(public)) is None


@pytest.mark.parametrize("outside", ["1000::1", "4000::1", "1fff:ffff::1", "8000::1", "e000::1", "200::1", "::2:0:0:1"])
def test_of_what_the_table_does_not_name_only_2000_3_is_public(outside: str) -> None:
    found = blocked(ip_address(outside))
    assert found is not None
    assert found.toggle == "block_reserved"
    assert ip_address(outside) in ip_network(found.cidr)
    assert ip_address("2000::1") not in ip_network(found.cidr)  # the block itself, not all of IPv6


@pytest.mark.req("FR-WF-05a", "FR-WF-05b")
@pytest.mark.parametrize(("inner", "toggle"), [("127.0.0.1", "block_loopback"), ("10.0.0.1", "block_private_ips")])
def test_a_toggle_counts_for_what_is_carried_too(inner: str, toggle: str) -> None:
    others = frozenset(TOGGLES) - {toggle}
    for name, outer in disguises(IPv4Address(inner)).items():
        assert blocked(outer, frozenset({toggle})) is None, name
        assert blocked(outer, others) is not None, name


@pytest.mark.req("FR-WF-05a", "D2-07")
@pytest.mark.parametrize("form", ["mapped", "NAT64", "6to4", "ISATAP"])
def test_a_form_is_known_by_every_one_of_its_bits(form: str) -> None:
    """Else an address that only looks like a disguise would be judged by bits that are part of its host."""
    whole = disguises(IPv4Address("8.8.8.8"))[form]
    bits = {"6to4": range(112, 128), "ISATAP": range(32, 64)}.get(form, range(32, 128))
    for bit in bits:
        near = IPv6Address(int(whole) ^ (1 << bit))
        if near != disguises(IPv4Address("8.8.8.8"))["ISATAP, universal"]:
            assert carried_ipv4(near) != carried_ipv4(whole), bit


ROW = {"cidr": "10.0.0.0/8", "what": "x", "toggle": "block_reserved", "source": "a test"}
WRONG_ROWS: dict[str, tuple[dict[str, str], str]] = {
    "another toggle": (
        ROW | {"toggle": "block"},
        r"^bad_args: ranges\.toml\.range\[0\]\.toggle: there is no toggle 'block'$",
    ),
    "another key": (ROW | {"not": "x"}, r"^bad_args: ranges\.toml\.range\[0\]\.not: unknown key"),
    "bits of a host": (ROW | {"cidr": "10.0.0.1/8"}, "has host bits set"),
    "no source": ({key: value for key, value in ROW.items() if key != "source"}, "source: is missing"),
}


@pytest.mark.parametrize(("row", "message"), WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_a_wrong_row_does_not_load(row: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "read_toml", lambda *_: {"range": [row]})
    with pytest.raises((SpanielError, ValueError), match=message):
        _table.__wrapped__()


def test_without_the_table_nothing_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "addresses.py"))
    with pytest.raises(SpanielError, match=rf"^bad_args: ranges {tmp_path}/ranges\.toml: cannot be read"):
        _table.__wrapped__()


addresses: st.SearchStrategy[Address] = st.one_of(
    st.integers(0, 2**32 - 1).map(IPv4Address), st.integers(0, 2**128 - 1).map(IPv6Address)
)


@given(addresses)
def test_what_python_calls_private_or_reserved_is_never_public_here(address: Address) -> None:
    if (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
    ):
        inner = carried_ipv4(address)
        assert blocked(address) is not None or (inner is not None and blocked(inner) is None)


@given(addresses, st.frozensets(st.sampled_from(TOGGLES)))
def test_a_toggle_opens_its_own_ranges_and_no_others(address: Address, off: frozenset[str]) -> None:
    always = blocked(address)
    opened = blocked(address, off)
    assert (opened is None) == (always is None or always.toggle in off)

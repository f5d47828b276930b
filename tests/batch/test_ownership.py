"""Who owns a host, and which shard it is in."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.batch.ownership import Owners, Shard, domain_number, read_shard, registrable_domain
from spaniel.errors import SpanielError

labels = st.text("abcdefghij", min_size=1, max_size=8)
hosts = st.builds(".".join, st.lists(labels, min_size=1, max_size=3)).map(lambda name: f"{name}.example")


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("one.github.io", "one.github.io"),  # the private section: its users are strangers to one another
        ("github.io", "github.io"),
        ("com", "com"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("example.com.", "example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_belongs_to_the_domain_that_somebody_registered(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


def test_the_partition_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert domain_number("www.example.com") == domain_number("example.com") == 0x13C51305C1CF2666
    assert [Shard(n, 3).has(domain_number("example.com")) for n in range(3)] == [True, False, False]


@given(hosts, st.integers(1, 20))
def test_every_host_is_in_one_shard(host: str, count: int) -> None:
    assert sum(Shard(place, count).has(domain_number(host)) for place in range(count)) == 1


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.integers(1, 8))
def test_no_worker_has_more_than_another_by_more_than_the_largest_domain(pages: list[int], workers: int) -> None:
    numbers = [domain_number(f"site{n}.example") for n in range(len(pages))]
    owners = Owners(zip(numbers, pages, strict=True), workers)
    loads = [0] * workers
    for number, count in zip(numbers, pages, strict=True):
        loads[owners.of(number)] += count
    assert max(loads) - min(loads) <= max(pages)


def test_eight_equal_hosts_are_shared_equally() -> None:
    numbers = [domain_number(f"127.0.0.{n}") for n in range(1, 9)]
    for workers in (2, 4):
        owners = Owners([(number, 125) for number in numbers], workers)
        assert set(Counter(map(owners.of, numbers)).values()) == {8 // workers}


def test_shards_do_not_thin_out_workers() -> None:
    """Hosts of one shard are spread over all workers, those that only redirects lead to included."""
    numbers = [domain_number(f"site{n}.example") for n in range(1000)]
    mine = [number for number in numbers if Shard(0, 2).has(number)]
    owners = Owners([], 2)
    first = sum(owners.of(number) == 0 for number in mine)
    assert 400 < len(mine) < 600
    assert 0.4 < first / len(mine) < 0.6


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/2/3", "1/99999999", ""])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SpanielError, match="--shard"):
        read_shard(text)
    assert read_shard("2/5") == Shard(1, 5)

"""What servers see of a batch: from the log of one that writes down every request."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from spaniel.batch.supervisor import Pace
from spaniel.errors import SpanielError
from spaniel.hosts.rules import HostRule, HostRules, read_rules
from tests.batch.harness import Request, Served, batch, records, serving

DELAY = 0.25


def too_soon(requests: list[Request], delay: float) -> list[tuple[Request, Request]]:
    """Pairs of requests to one host that overlap, or whose pause is shorter than it should be."""
    return [(one, other) for one, other in pairwise(requests) if other.came - one.gone < delay]


def gaps(served: Served, delay: float) -> list[tuple[Request, Request]]:
    return [pair for requests in served.by_host().values() for pair in too_soon(requests, delay)]


@pytest.mark.req("FG-28")
def test_no_two_requests_to_a_host_overlap_or_come_too_early(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.02) as served:
        urls = [served.url(f"www.site{n % 6}.example", f"/ok{n}") for n in range(36)]
        _, whole = batch(served, tmp_path, urls, Pace(2, 16, HostRules(HostRule(1, DELAY))))
        assert whole
        assert len(served.by_host()) == 6
        assert not gaps(served, DELAY)
        asked = [request.path for request in served.requests()]
        assert asked.count("/robots.txt") == 6  # once for each host
        assert len(asked) == 36 + 6


def test_without_politeness_the_same_log_shows_it(tmp_path: Path) -> None:
    """The positive control of the tests in this file."""
    with serving(tmp_path, pause=0.02) as served:
        urls = [served.url("www.site.example", f"/ok{n}") for n in range(12)]
        batch(served, tmp_path, urls, Pace(1, 16, HostRules(HostRule(4, 0.0))))
        assert gaps(served, DELAY)


def test_redirects_to_hosts_of_other_workers_are_as_polite(tmp_path: Path) -> None:
    with serving(tmp_path, pause=0.02) as served:
        target = served.url("www.shared.example", "/ok-target")
        urls = [served.url(f"www.site{n % 8}.example", f"/to?{target}{n}") for n in range(24)]
        urls += [served.url("www.shared.example", f"/ok{n}") for n in range(6)]
        _, whole = batch(served, tmp_path, urls, Pace(3, 16, HostRules(HostRule(1, DELAY))))
        assert whole
        assert not gaps(served, DELAY)
        found = records(tmp_path)
        assert [record["extraction"]["status"] for record in found] == [200] * 30
        assert sorted(record["ordinal"] for record in found) == list(range(30))


def test_crawl_delay_holds_up_no_other_host(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("slow-robots.example", f"/ok{n}") for n in range(3)]
        urls += [served.url(f"www.site{n % 4}.example", f"/ok{n}") for n in range(12)]
        batch(served, tmp_path, urls, Pace(1, 4, HostRules(HostRule(2, 0.05))))
        by_host = served.by_host()
        assert not too_soon(by_host.pop("slow-robots.example")[1:], 1.0)  # the first says so
        last_of_others = max(request.gone for requests in by_host.values() for request in requests)
        assert last_of_others < max(request.came for request in served.requests())


@pytest.mark.req("FG-22")
def test_a_host_that_asks_for_time_gets_it_and_its_page_is_fetched_then(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        urls = [served.url("www.busy.example", path) for path in ("/a-ok", "/busy", "/ok1", "/ok2")]
        batch(served, tmp_path, urls, Pace(1, 8, HostRules(HostRule(1, 0.0))))
        asked = served.by_host()["www.busy.example"]
        refused = next(number for number, request in enumerate(asked) if request.path == "/busy")
        assert asked[refused + 1].came - asked[refused].gone >= 0.9  # Retry-After: 1, in whole seconds
        assert [record["extraction"]["status"] for record in records(tmp_path)] == [200] * 4


def test_a_file_has_rules_for_single_hosts(tmp_path: Path) -> None:
    rules = tmp_path / "hosts.toml"
    rules.write_text('["fast.example"]\ndelay = 0\nper_host = 4\n')
    politeness = read_rules(HostRule(1, DELAY), str(rules))
    with serving(tmp_path, pause=0.02) as served:
        hosts = ("www.fast.example", "www.usual.example")
        urls = [served.url(host, f"/ok{n}") for host in hosts for n in range(8)]
        batch(served, tmp_path, urls, Pace(1, 16, politeness))
        by_host = served.by_host()
        assert too_soon(by_host["www.fast.example"], DELAY)
        assert not too_soon(by_host["www.usual.example"], DELAY)


def test_a_rule_is_found_by_the_name_that_hosts_have(tmp_path: Path) -> None:
    rules = tmp_path / "hosts.toml"
    rules.write_text('["Bücher.example."]\ndelay = 3\n["[::1]"]\ndelay = 4\n')
    politeness = read_rules(HostRule(), str(rules))
    assert [politeness.of(host).delay for host in ("www.xn--bcher-kva.example", "[::1]", "a.example")] == [3, 4, 1]


@pytest.mark.parametrize("name", ["https://a.example/", "a.example:8080", "*.a.example", "a.example/b", ""])
def test_a_rule_that_no_host_would_ever_have_is_refused(tmp_path: Path, name: str) -> None:
    rules = tmp_path / "hosts.toml"
    rules.write_text(f'["{name}"]\ndelay = 3\n')
    with pytest.raises(SpanielError, match="is not a domain"):
        read_rules(HostRule(), str(rules))

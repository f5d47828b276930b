"""What robots.txt files mean, fact by fact (facts.toml): the RFC's are law, Google's own are a choice with a reason."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from spaniel.robots import parse


class Fact(NamedTuple):
    kind: str
    body: bytes
    agent: str
    path: str
    allowed: bool
    otherwise: str


def read() -> dict[str, Fact]:
    facts = {}
    for row in tomllib.loads((Path(__file__).parent / "facts.toml").read_text(encoding="utf-8"))["fact"]:
        body = row["body"].encode("latin-1" if row.get("latin1") else "utf-8")
        for verdict in ("allowed", "refused"):
            for path in row.get(verdict, []):
                name = f"{row['about']}: {path or 'nothing'} {verdict}"
                facts[name] = Fact(
                    row["kind"], body, row["agent"], path, verdict == "allowed", row.get("otherwise", "")
                )
    return facts


FACTS = read()


@pytest.mark.req("FR-WF-08b", "FR-WF-08c", "FR-WF-08d", "NFR-WF-SEC-02")
@pytest.mark.parametrize("name", [name for name, fact in FACTS.items() if fact.kind == "rfc"])
def test_every_fact_of_the_rfc_holds(name: str) -> None:
    fact = FACTS[name]
    assert parse(fact.body).decide(fact.agent, fact.path).allowed is fact.allowed


@pytest.mark.req("NFR-WF-SEC-02")
@pytest.mark.parametrize("name", [name for name, fact in FACTS.items() if fact.kind == "google"])
def test_every_choice_of_googles_is_ours_or_has_a_reason_why_not(name: str) -> None:
    fact = FACTS[name]
    assert parse(fact.body).decide(fact.agent, fact.path).allowed is (fact.allowed is not bool(fact.otherwise))


def test_no_fact_of_the_rfc_is_argued_away() -> None:
    assert {fact.kind for fact in FACTS.values()} == {"rfc", "google"}
    assert not [name for name, fact in FACTS.items() if fact.kind == "rfc" and fact.otherwise]
    assert len([fact for fact in FACTS.values() if fact.otherwise]) == 5, "the list of exceptions may only shrink"


LONG = "/x/" + "a" * (8 * 2_083)


def test_a_long_line_is_not_cut_where_google_cuts_it() -> None:
    """It stops reading a line after 16,664 octets; the RFC knows no such limit, and 512 KiB bound the file."""
    robots = parse(f"user-agent: foobot\ndisallow: {LONG}/qux\n".encode())
    assert robots.decide("foobot", "/fux").allowed
    assert robots.decide("foobot", LONG + "/fux").allowed
    assert not robots.decide("foobot", LONG + "/qux").allowed

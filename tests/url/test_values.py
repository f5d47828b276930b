"""What the values of the room promise besides their text: how they show, compare, travel and forget."""

from __future__ import annotations

import pickle

import pytest

from spaniel.errors import SpanielError
from spaniel.url import canonicalize, load, parse
from spaniel.url import overrides as override_files
from spaniel.url.canonical import Draft, Pagination
from spaniel.url.hostlists import HostList, host_key
from spaniel.url.policy import Policy, shipped
from spaniel.url.rules.edits import MEMO, Names
from spaniel.url.value import _hosts, recognize


def test_canonical_url_has_str_and_equality_by_policy() -> None:
    one, two = canonicalize("https://Example.com/a"), canonicalize("https://example.com:443/a")
    assert str(one) == "https://example.com/a"
    assert repr(one) == "Canonical('https://example.com/a', policy='exact')"
    assert one == two
    assert len({one, two}) == 1
    assert one != canonicalize("https://example.com/a", policy="ingest")
    assert one != "https://example.com/a"


@pytest.mark.req("CP-11")
def test_a_page_of_a_list_is_told_beside_the_lists_url() -> None:
    found = canonicalize("https://www.boe.es/buscar/leyes?tipo=x&p=7", policy="clara")
    assert found.pagination == Pagination(paginated=True, page_param="p", total_pages=None)
    assert canonicalize("https://www.boe.es/buscar/leyes?tipo=x", policy="clara").pagination is None


def test_a_url_is_its_text() -> None:
    assert str(parse("HTTPS://Example.com/a?b#c")) == parse("HTTPS://Example.com/a?b#c").href


@pytest.mark.req("D2-12", "D2-14")
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://a.\u115f1b/", "invalid_host"),  # a letter that the parser leaves out: "a.1b"
        ("http://a.\u31641b/", "invalid_host"),
        ("http://\u00ad.example/", "invalid_url"),  # nothing is left of the label
        ("http://a.\u115f/", "invalid_url"),
    ],
)
def test_what_the_parser_makes_of_a_name_is_judged_again(url: str, code: str) -> None:
    with pytest.raises(SpanielError) as caught:
        parse(url)
    assert caught.value.code == code
    assert parse("http://a.\u00e4b/").host == "a.xn--b-zfa"  # the control


def test_a_list_entry_that_is_no_host_matches_nothing() -> None:
    assert host_key("a\x80.example") == ""
    listed = HostList(["a\x80.example", "b.example"])
    assert "a\x80.example" not in listed
    assert "b.example" in listed


def test_what_is_remembered_of_hosts_and_names_does_not_grow_without_end() -> None:
    for number in range(10_050):
        assert recognize(f"https://h{number}.example/")
    assert len(_hosts) <= 10_000
    names = Names(["utm_*", "x"])
    for number in range(MEMO + 50):
        assert names.match(f"utm_{number}=1") == "utm_*"
    assert len(names) <= MEMO
    assert names.match("X=1") == "x"
    assert names.match("y=1") == ""


def test_a_list_of_names_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(Names(["utm_*", "x"])))  # noqa: S301  our own
    assert (again.match("utm_a"), again.match("x"), again.match("y")) == ("utm_*", "x", "")


def test_a_policy_without_rules_is_refused() -> None:
    with pytest.raises(SpanielError, match="at least one rule"):
        Policy({"name": "none", "version": "1", "apply": []}, "mine.toml")


@pytest.mark.parametrize("name", shipped())
@pytest.mark.parametrize("raw", ["https://example.com/en/list", "http://www.example.com:8080/ca/a/?b=1&&a=2&lang=en#c"])
def test_every_rule_works_where_nobody_asks_for_notes(name: str, raw: str) -> None:
    policy = load(name)
    draft = Draft.of(parse(raw))
    for step in policy._steps:
        step.act(draft)
    assert draft.text() == policy.explain(raw).url


@pytest.mark.req("UN-07")
def test_overrides_rewrite_a_url_without_a_query_too() -> None:
    rewrite = {"from_prefix": "https://a.example/old/", "to_prefix": "https://b.example/new/"}
    entry = {"match": {"host": "a.example"}, "drop_query_params": ["x"], "rewrite_rules": [rewrite]}
    policy = load("curious").with_overrides(override_files.from_data({"overrides": [entry]}))
    assert policy.apply("https://a.example/old/page").url == "https://b.example/new/page"
    assert policy.apply("https://a.example/old/page?x=1").url == "https://b.example/new/page"
    assert policy.apply("https://a.example/other").url == "https://a.example/other"

"""Lists of domains: what may stand in them, and which hosts they mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.errors import Code, SpanielError
from spaniel.url.allowlist import ALLOWED, ANYWHERE, BLOCKED, domain_list, domain_rules
from spaniel.url.parsing import parse

LABEL = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)


def allows(written: str, host: str) -> bool:
    """Whether a list of this one domain lets a page of the host in; as a block it must do the opposite."""
    names, url = domain_list([written], ALLOWED), parse(f"http://{host}/")
    verdicts = []
    for rules in (domain_rules(names), domain_rules(None, names)):
        try:
            rules.require(url)
            verdicts.append(True)
        except SpanielError as error:
            assert error.code is Code.INVALID_HOST
            verdicts.append(False)
    allowed, passed = verdicts
    assert allowed is not passed
    return allowed


@pytest.mark.parametrize(
    ("written", "inside", "outside"),
    [
        ("example.com", ["example.com", "a.example.com", "a.b.example.com", "EXAMPLE.com."], ["com", "example.org"]),
        ("*.example.com", ["example.com", "a.example.com"], ["notexample.com"]),
        (".Example.COM.", ["example.com", "a.example.com"], ["example.com.evil.example"]),
        ("gov", ["a.gov", "b.a.gov"], ["a.gov.example", "agov"]),
        ("bücher.example", ["xn--bcher-kva.example", "a.BÜCHER.example"], ["bucher.example"]),
        ("xn--bcher-kva.example", ["bücher.example"], ["bcher.example"]),
        ("a.example", ["a。example"], ["aexample"]),
        ("93.184.215.14", ["93.184.215.14"], ["93.184.215.1"]),
        ("[2001:DB8:0::1]", ["[2001:db8::1]"], ["[2001:db8::2]"]),
    ],
)
def test_a_domain_is_itself_and_all_below_it_label_by_label(
    written: str, inside: list[str], outside: list[str]
) -> None:
    assert [host for host in inside if not allows(written, host)] == []
    assert [host for host in outside if allows(written, host)] == []


@given(NAME, NAME)
def test_only_whole_labels_count(name: str, other: str) -> None:
    labels, ending = other.split("."), name.split(".")
    assert allows(name, other) is (labels[-len(ending) :] == ending)
    assert allows(name, f"{other}.{name}")
    assert not allows(name, f"x{name}")


@pytest.mark.parametrize(
    "wrong",
    ["*", "", "  ", "*.", "*.*.com", "a*.com", "https://a.com", "a.com/", "a.com/x", "a.com:80", "me@a.com", "a.com?",
     "a.com#x", "a b.com", "a..com", "0177.0.0.1", "::1", "a.com,b.com", "a.com;b.com", "a" * 300, 3, None],
)  # fmt: skip
def test_what_could_match_nothing_is_refused(wrong: object) -> None:
    """In a list of blocked domains it would be an invisible hole."""
    with pytest.raises(SpanielError, match=r"blocked_domains: .* is not a domain") as caught:
        domain_list(["b.example", wrong], BLOCKED)
    assert caught.value.code is Code.BAD_ARGS
    assert domain_list([" b.example\n"], BLOCKED) == ("b.example",)  # white space around a name is no part of it


def test_one_text_is_no_list() -> None:
    """Its letters would be taken for domains, and what it names would stay open."""
    with pytest.raises(SpanielError, match="blocked_domains: must be a list of domains"):
        domain_list("evil.example", BLOCKED)


def test_no_lists_mean_every_domain() -> None:
    assert domain_rules(None) is ANYWHERE
    ANYWHERE.require(parse("https://a.example/"))


def test_a_block_rules_over_an_allowance() -> None:
    rules = domain_rules(("example.com",), ("private.example.com",))
    rules.require(parse("http://a.example.com/"))
    with pytest.raises(SpanielError, match="it is in blocked_domains"):
        rules.require(parse("http://a.private.example.com/"))

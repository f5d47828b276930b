"""Which group speaks to an agent, and where groups begin and end."""

from __future__ import annotations

import pytest

from spaniel.robots import RobotsDecision, parse

OURS = "forge-webfetch/1.0"


def lines(*rows: str) -> bytes:
    return "\n".join(rows).encode()


def allowed(body: bytes, path: str, agent: str = OURS) -> bool:
    return parse(body).decide(agent, path).allowed


SOME = lines(
    "User-agent: *", "Disallow: /all",
    "User-agent: web", "Disallow: /short",
    "User-agent: webfetch", "Disallow: /long",
    "User-agent: Forge-WebFetch", "Disallow: /own",
)  # fmt: skip


@pytest.mark.req("FR-WF-08b", "FR-WF-08e", "D2-13", "T-WF-ROB-05")
@pytest.mark.parametrize(
    ("agent", "group"),
    [
        ("forge-webfetch/1.0", "forge-webfetch"),
        ("FORGE-WEBFETCH", "forge-webfetch"),
        ("forge-webfetch (+https://example.com/bot)", "forge-webfetch"),
        ("my-webfetch/2", "webfetch"),
        ("webby/2", "web"),
        ("curl/8 webfetch", "*"),  # only the first token is ours
        ("curl webfetch/8", "*"),
        ("we", "*"),  # contained in a group's token is not enough
        ("", "*"),
        ("*", "*"),
        ("curl/webfetch", "*"),  # a version is no name
    ],
)
def test_our_token_chooses_the_group(agent: str, group: str) -> None:
    assert parse(SOME).decide(agent, "/").group == group


@pytest.mark.req("FR-WF-08e", "D2-13")
def test_of_the_tokens_that_are_contained_the_longest_wins_not_the_last() -> None:
    body = lines("User-agent: web", "Disallow: /", "User-agent: forge-we", "Disallow: /", "User-agent: webf")
    assert parse(body).decide(OURS, "/").group == "forge-we"


@pytest.mark.req("FR-WF-08b", "T-WF-ROB-05")
def test_star_group_applies_only_to_agents_without_a_group() -> None:
    assert not allowed(SOME, "/all", "curl/8")
    assert allowed(SOME, "/all", OURS)


@pytest.mark.req("FR-WF-08b")
def test_without_a_group_for_us_or_for_all_everything_is_allowed() -> None:
    assert parse(lines("User-agent: otherbot", "Disallow: /")).decide(OURS, "/") == RobotsDecision(
        True, None, None, None, None
    )


@pytest.mark.req("FR-WF-08b", "D2-13")
def test_groups_of_one_token_are_merged() -> None:
    body = lines(
        "User-agent: forge-webfetch", "Disallow: /a",
        "User-agent: other", "Disallow: /b",
        "User-agent: FORGE-webfetch/2", "User-agent: third", "Disallow: /c",
        "User-agent: *", "Disallow: /d", "User-agent: *", "Disallow: /e",
    )  # fmt: skip
    assert [allowed(body, path) for path in ("/a", "/b", "/c", "/d", "/e")] == [False, True, False, True, True]
    assert [allowed(body, path, "x") for path in ("/a", "/b", "/c", "/d", "/e")] == [True, True, True, False, False]


@pytest.mark.req("FR-WF-08b")
@pytest.mark.parametrize("between", ["", "# comment", "Sitemap: /map.xml", "Crawl-delay: 3", "Foo: bar", "nonsense"])
def test_what_is_no_rule_ends_no_group(between: str) -> None:
    body = lines("User-agent: a", between, "User-agent: b", between, "Disallow: /x", between, "Disallow: /y")
    for agent in "ab":
        assert [allowed(body, path, agent) for path in ("/x", "/y")] == [False, False]


@pytest.mark.req("FR-WF-08b")
def test_agent_line_after_an_empty_rule_starts_a_new_group() -> None:
    body = lines("User-agent: a", "Disallow:", "User-agent: b", "Disallow: /")
    assert allowed(body, "/", "a")
    assert not allowed(body, "/", "b")


@pytest.mark.parametrize("value", ["", "ツ", "/1.0", "*bot", "(all)"])
def test_rules_under_an_agent_line_that_names_nobody_are_for_nobody(value: str) -> None:
    body = lines("User-agent: first", "Disallow: /a", f"User-agent: {value}", "Disallow: /")
    assert parse(body).decide("first", "/").allowed
    assert parse(body).decide("allbot/1.0", "/").group is None


@pytest.mark.req("FR-WF-08e")
@pytest.mark.parametrize(
    ("value", "agent", "group"),
    [
        ("Googlebot/2.1", "googlebot", "googlebot"),
        ("Mediapartners-Google*", "mediapartners-google", "mediapartners-google"),
        ("MJ12bot", "MJ12bot/1.4", "mj12bot"),
        ("* # all", "anyone", "*"),
        ("* and everybody else", "anyone", "*"),
    ],
)
def test_versions_stars_and_digits_in_agent_lines_are_understood(value: str, agent: str, group: str) -> None:
    assert parse(lines(f"User-agent: {value}", "Disallow: /")).decide(agent, "/").group == group


@pytest.mark.req("FR-WF-08e")
def test_token_with_a_digit_is_not_truncated() -> None:
    assert allowed(lines("User-agent: W3C-checklink", "Disallow: /"), "/")


def test_two_agents_may_ask_in_turn() -> None:
    robots = parse(SOME)
    for _ in range(2):
        assert not robots.decide(OURS, "/own").allowed
        assert not robots.decide("curl", "/all").allowed

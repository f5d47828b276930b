"""Lines, other records, and what a decision tells."""

from __future__ import annotations

import pytest

from spaniel.robots import LIMIT, RobotsDecision, RobotsRule, parse

OURS = "forge-webfetch/1.0"


def lines(*rows: str) -> bytes:
    return "\n".join(rows).encode()


def allowed(body: bytes, path: str, agent: str = OURS) -> bool:
    return parse(body).decide(agent, path).allowed


@pytest.mark.req("T-WF-ROB-02", "FR-WF-08c")
@pytest.mark.parametrize(
    "rule", ["Disallow:", "Disallow: ", "Disallow: # nothing", "Allow:", "Disallow: /b", "Disallow: /A"]
)
def test_a_path_that_no_rule_names_is_allowed(rule: str) -> None:
    body = lines("User-agent: *", rule, "Disallow: /private/")
    assert allowed(body, "/a/page")
    assert allowed(body, "/")
    assert allowed(body, "/private")
    assert not allowed(body, "/private/")


@pytest.mark.req("T-WF-ROB-01", "FR-WF-08c")
@pytest.mark.parametrize(
    "path", ["/private", "/private/", "/private/a?b=1", "/private.html", "/privateer", "/private?x"]
)
def test_a_rule_holds_for_every_path_that_begins_with_it(path: str) -> None:
    assert not allowed(lines("User-agent: *", "Disallow: /private"), path)


@pytest.mark.req("T-WF-ROB-05", "FR-WF-08b")
@pytest.mark.parametrize(
    "others", [(), ("User-agent: otherbot", "Allow: /"), ("User-agent: forge", "User-agent: web-fetch", "Allow: /")]
)
def test_the_group_of_all_speaks_to_us_whatever_other_groups_there_are(others: tuple[str, ...]) -> None:
    body = lines(*others, "User-agent: *", "Disallow: /a")
    assert not allowed(body, "/a", "my-agent/1")


# --- what a decision tells ---


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-01", "NFR-WF-SEC-02")
def test_a_refusal_names_the_line_that_decided() -> None:
    body = lines("# welcome", "User-agent: *", "", "  Disallow: /private/  # keep out", "Disallow: /tmp")
    assert parse(body).decide(OURS, "/private/notes") == RobotsDecision(
        allowed=False,
        rule=RobotsRule(4, "Disallow: /private/  # keep out"),
        group="*",
        crawl_delay=None,
        content_signal=None,
    )


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-02")
def test_a_path_that_no_rule_speaks_of_is_allowed() -> None:
    body = lines("User-agent: *", "Disallow: /private/")
    assert parse(body).decide(OURS, "/public") == RobotsDecision(True, None, "*", None, None)


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-03")
@pytest.mark.parametrize("order", [("Allow: /a", "Disallow: /a"), ("Disallow: /a", "Allow: /a")])
def test_allow_beats_disallow_at_equal_length(order: tuple[str, str]) -> None:
    decision = parse(lines("User-agent: *", *order)).decide(OURS, "/ab")
    assert decision.allowed
    assert decision.rule is not None
    assert decision.rule.text == "Allow: /a"


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-03")
@pytest.mark.parametrize(
    ("allow", "disallow"), [("/a/*c", "/a/bc"), ("/a/bc", "/a/*c"), ("/*/b", "/a/*"), ("/*bc$", "/a/bc")]
)
def test_allow_beats_disallow_at_equal_length_across_kinds_of_patterns(allow: str, disallow: str) -> None:
    for order in ((f"Allow: {allow}", f"Disallow: {disallow}"), (f"Disallow: {disallow}", f"Allow: {allow}")):
        body = lines("User-agent: *", *order)
        assert allowed(body, "/a/bc")


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-04")
def test_the_longest_match_decides_whatever_the_order() -> None:
    body = lines("User-agent: *", "Allow: /a", "Disallow: /a/b", "Allow: /a/b/c", "Disallow: /a/b/c/d$")
    assert [allowed(body, path) for path in ("/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e")] == [
        True, False, True, False, True,
    ]  # fmt: skip


def test_a_line_that_is_no_utf8_can_still_be_shown() -> None:
    rule = parse(b"User-agent: *\nDisallow: /caf\xe9\n").decide(OURS, "/caf%E9").rule
    assert rule == RobotsRule(2, "Disallow: /caf\ufffd")


def test_robots_txt_itself_is_always_allowed() -> None:
    body = lines("User-agent: *", "Disallow: /")
    assert parse(body).decide(OURS, "/robots.txt") == RobotsDecision(True, None, "*", None, None)
    assert not allowed(body, "/robots.txt.bak")
    assert not allowed(body, "/a/robots.txt")


@pytest.mark.parametrize("path", ["", "?a", "a"])
def test_a_path_without_its_slash_is_read_with_one(path: str) -> None:
    assert not allowed(lines("User-agent: *", f"Disallow: /{path}$"), path)
    assert allowed(lines("User-agent: *", f"Disallow: /{path}b"), path)


@pytest.mark.req("FR-WF-08c")
@pytest.mark.parametrize(("one", "other"), [("/a/b", "/a/b"), ("/*/b", "/a*b"), ("/a*b", "/*/b")])
def test_of_rules_that_say_the_same_the_first_is_named(one: str, other: str) -> None:
    body = lines("User-agent: *", f"Disallow: {one}", f"Disallow: {other}")
    assert parse(body).decide(OURS, "/a/b").rule == RobotsRule(2, f"Disallow: {one}")


# --- lines ---


@pytest.mark.req("FR-WF-08b")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_with_cr_lf_or_both_and_are_counted_so(end: str) -> None:
    body = end.join(["User-Agent: foo", "Allow: /some/path", "User-Agent: bar", "", "", "Disallow: /", ""]).encode()
    assert parse(body).decide("bar", "/").rule == RobotsRule(6, "Disallow: /")


@pytest.mark.req("FR-WF-08b")
def test_line_ends_may_be_mixed_and_the_last_may_be_missing() -> None:
    body = b"User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /"
    assert parse(body).decide("bar", "/").rule == RobotsRule(6, "Disallow: /")


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_no_other_character_ends_a_line(space: str) -> None:
    assert allowed(lines("User-agent: *", f"Foo: {space}Disallow: /"), "/")


@pytest.mark.req("FR-WF-08b")
@pytest.mark.parametrize(
    "line",
    ["disallow:/x", "DISALLOW :\t/x", "\t Disallow : /x \t", "Disallow: /x#y", "Disallow /x", "disallow\t/x # y"],
)
def test_a_rule_may_be_written_in_many_ways(line: str) -> None:
    assert not allowed(lines("User-agent: *", line), "/x")


@pytest.mark.req("FR-WF-09b", "D2-13")
@pytest.mark.parametrize(
    "line",
    [
        "Disallow",
        "Disallow:",
        "Disallow: # /x",
        "Disallow /x y",
        "Disallow /x y z",
        "Dis allow: /x",
        "#Disallow: /x",
        ": /x",
        "Disallow\0: /x",
    ],
)
def test_a_bad_line_is_passed_over_and_the_others_stand(line: str) -> None:
    body = lines("User-agent: *", "Disallow: /y", line, "Disallow: /z")
    assert [allowed(body, path) for path in ("/x", "/x%20y", "/y", "/z")] == [True, True, False, False]


@pytest.mark.req("FR-WF-09b", "D2-13")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\r\n\r",
        b"<!doctype html><html><head><title>Not found</title></head><body>a: b</body></html>",
        b'{"error": "not found"}',
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "User-agent: *\nDisallow: /\n".encode("utf-16"),
        b"Disallow: /\nAllow: /x\n",
    ],
)
def test_a_file_without_one_valid_line_allows_all(body: bytes) -> None:
    assert parse(body).decide(OURS, "/x") == RobotsDecision(True, None, None, None, None)


# --- how much is read ---


@pytest.mark.req("D2-06")
def test_the_limit_is_512_kib() -> None:
    assert LIMIT == 512 * 1024


@pytest.mark.req("D2-06")
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("beyond", [b"", b"Allow: /x/y\n"])
def test_a_line_that_ends_at_the_limit_counts(end: bytes, beyond: bytes) -> None:
    head, last = b"User-agent: *\n#", b"\nDisallow: /x"
    body = head + b"." * (LIMIT - len(head) - len(last)) + last
    assert len(body) == LIMIT
    assert not allowed(body + end + beyond, "/x/y")


@pytest.mark.req("D2-06")
@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_a_line_that_the_limit_cuts_is_dropped(end: bytes) -> None:
    head, last = b"User-agent: *\n#", b"\nDisallow: /x"
    body = head + b"." * (LIMIT - len(head) - len(last)) + last
    assert not allowed(body, "/x/y")  # the control: the file ends there
    for more in (b"/", b"/y"):
        assert allowed(body + more + end, "/x/y")
        assert allowed(body + more + end + b"#" + end, "/x/y")
    assert allowed(b"a" * (LIMIT + 1), "/")


@pytest.mark.req("D2-06")
def test_the_last_line_within_the_limit_is_read_to_its_last_octet() -> None:
    body = b"User-agent: *\nDisallow: /x\n" + b"#" * LIMIT
    assert [allowed(body, path) for path in ("/x", "/")] == [False, True]


@pytest.mark.req("D2-06")
def test_what_lies_beyond_the_limit_is_not_read() -> None:
    assert not allowed(b"User-agent: *\nDisallow: /\n" + b"#\n" * LIMIT + b"Allow: /x\n", "/x")


# --- other records ---


def test_crawl_delay_and_content_signal_come_with_the_decision() -> None:
    body = lines(
        "User-agent: *", "Crawl-delay: 2.5", "Content-Signal: search=yes, ai-train=no", "Allow: /",
        "User-agent: other", "Crawl-delay: 9", "Content-signal: search=no", "Disallow: /",
    )  # fmt: skip
    assert parse(body).decide(OURS, "/")[2:] == ("*", 2.5, "search=yes, ai-train=no")
    assert parse(body).decide("other", "/")[2:] == ("other", 9.0, "search=no")


def test_a_crawl_delay_is_for_the_agents_above_it_though_rules_be_shared() -> None:
    body = lines("User-agent: greedy", "Crawl-delay: 60", "", "User-agent: *", "Disallow: /x")
    assert parse(body).decide("greedy", "/x")[:1] == (False,)
    assert parse(body).decide("greedy", "/x").crawl_delay == 60
    assert parse(body).decide(OURS, "/x").crawl_delay is None


@pytest.mark.parametrize(("value", "seconds"), [("0", 0.0), ("0.5", 0.5), ("1", 1.0), ("1e3", 1000.0)])
def test_a_crawl_delay_is_a_number_of_seconds(value: str, seconds: float) -> None:
    assert parse(lines("User-agent: *", f"Crawl-delay: {value}")).decide(OURS, "/").crawl_delay == seconds


def test_a_crawl_delay_is_for_every_agent_of_its_list() -> None:
    body = lines("User-agent: a", "User-agent: b", "Crawl-delay: 3", "Content-Signal: search=yes")
    for agent in "ab":
        assert parse(body).decide(agent, "/")[3:] == (3.0, "search=yes")


@pytest.mark.parametrize("line", ["Crawl-delay: 3", "Content-Signal: x", "Disallow: /", "Foo: bar", "nonsense"])
def test_rules_before_the_first_agent_and_unknown_keys_are_ignored(line: str) -> None:
    assert parse(lines(line, "User-agent: *", "Allow: /")).decide(OURS, "/")[3:] == (None, None)
    if line.startswith(("Foo", "nonsense")):
        assert parse(lines("User-agent: *", line, "Allow: /")).decide(OURS, "/")[3:] == (None, None)


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "1e999", "\0"])
def test_a_crawl_delay_that_is_no_span_of_time_is_none(value: str) -> None:
    assert parse(lines("User-agent: *", f"Crawl-delay: {value}")).decide(OURS, "/").crawl_delay is None


def test_of_several_crawl_delays_the_gentlest_counts() -> None:
    body = lines("User-agent: *", "Crawl-delay: 1", "Crawl-delay: 5", "Disallow:", "User-agent: *", "Crawl-delay: 3")
    assert parse(body).decide(OURS, "/").crawl_delay == 5


def test_a_group_that_names_an_agent_twice_speaks_once() -> None:
    body = lines("User-agent: *", "User-agent: *", "Content-Signal: search=yes", "Disallow: /")
    assert parse(body).decide(OURS, "/").content_signal == "search=yes"
    again = lines("User-agent: *", "Disallow: /x", "User-agent: *", "User-agent: *", "Content-Signal: search=no")
    assert parse(again).decide(OURS, "/").content_signal == "search=no"


def test_sitemaps_belong_to_the_whole_file() -> None:
    body = lines("Sitemap: https://example.com/a.xml", "User-agent: x", "Disallow: /", "SITEMAP:/b.xml # more")
    assert parse(body).sitemaps == ("https://example.com/a.xml", "/b.xml")

"""Spelling and matching of paths: examples, laws, and that nothing in a file makes them slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaniel.robots import LIMIT, parse
from spaniel.robots.rules import _follow, spell
from tests.stopwatch import growth

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = "forge-webfetch/1.0"


def matches(pattern: str | bytes, path: str) -> bool:
    value = pattern.encode() if isinstance(pattern, str) else pattern
    return not parse(b"User-agent: *\nDisallow: " + value).decide(OURS, path).allowed


@pytest.mark.req("FR-WF-08d", "T-WF-ROB-10")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("/", ["/", "/a", "/?q"], []),
        ("*", ["/", "/a"], []),
        ("/*", ["/", "/a"], []),
        ("/$", ["/"], ["/a", "/?q"]),
        ("$", [], ["/", "/$"]),
        ("*$", ["/", "/a"], []),
        ("/a$", ["/a"], ["/a/", "/ab", "/b/a", "/"]),
        ("/a*$", ["/a", "/ab"], ["/b"]),
        ("/*a$", ["/a", "/aa", "/ba"], ["/ab", "/"]),
        ("/a*b*c", ["/abc", "/a-b-c-d", "/acbc"], ["/acb", "/ab"]),
        ("/a*bab$", ["/abab", "/abbab"], ["/ab", "/abba"]),
        ("/ab*ba", ["/abba", "/ab-ba"], ["/aba"]),
        ("/a***b", ["/ab", "/axb"], ["/a"]),
        ("*.php", ["/x.php", "/.php5"], ["/php"]),
        ("/a$b", ["/a$b", "/a%24b"], ["/a"]),
        ("/a$$", ["/a$"], ["/a", "/a$b"]),
        ("/a?b", ["/a?bc"], ["/ab", "/axb"]),
        ("/*X", ["/aX", "/X"], ["/a", "/"]),
        ("/[a-z].+", ["/[a-z].+x"], ["/b.x"]),
        ("a", [], ["/a", "/"]),
        ("https://example.com/a", [], ["/a"]),
    ],
)
def test_stars_and_anchors(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not matches(pattern, path)] == []
    assert [path for path in no if matches(pattern, path)] == []


@pytest.mark.req("FR-WF-08c")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/ツ", "/%E3%83%84"),
        ("/%e3%83%84", "/%E3%83%84"),
        ("/%7Euser/%61", "/~user/a"),
        ("/a b", "/a%20b"),
        ('/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
    ],
)
def test_two_spellings_of_one_path_are_one(one: str, other: str) -> None:
    assert spell(one) == spell(other) == other
    assert matches(one, other)
    assert matches(other, one)


@pytest.mark.req("FR-WF-08c")
@pytest.mark.parametrize(("one", "other"), [("/a%2Fb", "/a/b"), ("/a%3Fb", "/a?b"), ("/%2541", "/A"), ("/a%26", "/a&")])
def test_reserved_characters_and_their_escapes_are_two_things(one: str, other: str) -> None:
    assert not matches(one, other)
    assert not matches(other, one)


@pytest.mark.req("FR-WF-08d")
def test_special_characters_are_meant_literally_when_escaped() -> None:
    assert matches("/file-with-a-%2A.html", "/file-with-a-*.html")  # RFC 9309 §2.2.3
    assert not matches("/file-with-a-%2A.html", "/file-with-a-star.html")
    assert matches("/foo-%24", "/foo-$")
    assert matches("/foo-%24", "/foo-$-and-more")


def test_octets_of_any_encoding_are_compared_as_octets() -> None:
    assert matches(b"/caf\xe9", "/caf%E9")
    assert matches(b"/\xff", "/%FF")
    assert not matches(b"/caf\xe9", "/café")


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-04")
def test_length_is_counted_in_octets_after_spelling() -> None:
    body = "User-agent: *\nDisallow: /ツ\nAllow: /*.htm\n".encode()  # 10 octets against 6, though 2 characters
    assert not parse(body).decide(OURS, "/ツ.htm").allowed


# --- laws ---

# Few letters, so that generated patterns and paths do meet.
PIECES = st.sampled_from(
    ["/", "a", "b", "ab", "%61", "%2F", "%2f", "%", "*", "$", "?", "ツ", "%E3%83%84", "%2A", "%24"]
)
PATHS = st.lists(PIECES, max_size=12).map(lambda pieces: "/" + "".join(pieces))
PATTERNS = st.lists(PIECES | st.just("*"), max_size=8).map("".join)


def obviously_matches(pattern: str, path: str) -> bool:
    """The same, one octet at a time, remembering every place of the pattern that could be reached."""
    anchored = pattern.endswith("$")
    pattern = pattern.removesuffix("$")
    tokens = "*".join(spell(piece) for piece in pattern.split("*"))
    reached = {0}
    seen = [reached]
    for octet in spell(path):
        stay = {at for at in closure(tokens, reached) if tokens[at : at + 1] == "*"}
        step = {at + 1 for at in closure(tokens, reached) if tokens[at : at + 1] == octet}
        reached = stay | step
        seen.append(reached)
    ends = [seen[-1]] if anchored else seen
    return bool(tokens or anchored) and any(len(tokens) in closure(tokens, places) for places in ends)


def closure(tokens: str, places: set[int]) -> set[int]:
    """The places, and those behind stars that stand for nothing."""
    found = set(places)
    for at in range(len(tokens)):
        if at in found and tokens[at] == "*":
            found.add(at + 1)
    return found


@pytest.mark.req("FR-WF-08d", "T-WF-ROB-10")
@given(PATTERNS, PATHS)
def test_matching_agrees_with_the_obvious_way(pattern: str, path: str) -> None:
    assert matches(pattern, path) is obviously_matches(pattern, path)


def octets(pattern: str) -> int:
    bare = pattern.removesuffix("$")
    return len("*".join(spell(piece) for piece in bare.split("*"))) + len(pattern) - len(bare)


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-03", "T-WF-ROB-04")
@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=8), PATHS)
def test_the_decision_is_that_of_the_longest_match_and_allow_wins_ties(
    rules: list[tuple[bool, str]], path: str
) -> None:
    body = "User-agent: *\n" + "".join(f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in rules)
    decision = parse(body.encode()).decide(OURS, path)
    fitting = [(octets(pattern), allow) for allow, pattern in rules if obviously_matches(pattern, path)]
    assert decision.allowed is max(fitting, default=(0, True))[1]
    if fitting:
        assert decision.rule is not None
        allow, pattern = rules[decision.rule.line - 2]
        assert (octets(pattern), allow) == max(fitting)
    else:
        assert decision.rule is None


@pytest.mark.req("FR-WF-08c", "T-WF-ROB-04")
@given(PATHS, PATHS)
def test_a_more_specific_allow_always_wins(path: str, more: str) -> None:
    literal = spell(path)
    body = f"User-agent: *\nDisallow: {literal}\nAllow: {literal}{spell(more)}\n".encode()
    assert parse(body).decide(OURS, path + more + "/rest").allowed


@given(st.text())
def test_spelling_is_a_fixed_point(path: str) -> None:
    once = spell(path)
    assert spell(once) == once
    assert once.isascii()


@given(PATHS)
def test_spelling_escapes_is_a_fixed_point(path: str) -> None:
    assert spell(spell(path)) == spell(path)


LINES = st.lists(
    st.sampled_from(
        [b"User-agent: a", b"User-agent: *", b"Disallow: /", b"Allow: /*a$", b"Crawl-delay: 1", b"\r", b"#", b"\0"]
    )
    | st.binary(max_size=12),
    max_size=20,
).map(b"\n".join)


@pytest.mark.req("FR-WF-09b", "NFR-WF-SEC-02")
@given(st.binary() | LINES, st.text(st.characters()), st.text(st.characters()))
def test_no_bytes_no_agent_and_no_path_ever_raise(body: bytes, agent: str, path: str) -> None:
    decision = parse(body).decide(agent, path)
    assert decision.allowed or decision.rule is not None


def test_surrogates_do_not_raise() -> None:
    assert spell("/\ud800") == "/%ED%A0%80"
    assert parse(b"User-agent: *\nDisallow: /").decide("\ud800", "/\udfff").allowed is False


# --- nothing in a file makes it slow ---


ALL = b"User-agent: *\n"


def prefixes(count: int) -> bytes:
    return b"".join(b"Disallow: /%s%d\n" % (b"a" * (number % 40), number) for number in range(count))


HOSTILE: dict[str, Callable[[int], tuple[bytes, str]]] = {
    "one star after another": lambda n: (ALL + b"Disallow: /" + b"*a" * n + b"*b", "/b" + "a" * 2_000),
    "patterns that almost match": lambda n: (ALL + b"Disallow: /*a*a*a*b\n" * n, "/b" + "a" * 100),
    "as many agents as rules": lambda n: (b"User-agent: a\nUser-agent: b\n" * n + b"Disallow: /x\n" * n, "/x"),
    "agents and delays in turn": lambda n: (b"User-agent: *\nCrawl-delay: 1\n" * n + b"Disallow: /x\n" * n, "/x"),
    "groups of one rule": lambda n: (b"User-agent: *\nDisallow: /x\n" * n, "/x"),
    "prefixes of many lengths": lambda n: (ALL + prefixes(n), "/" + "a" * 500),
    "escapes": lambda n: (ALL + b"Disallow: /" + b"%7e" * n, "/" + "%7e" * n),
    "empty lines": lambda n: (b"\n" * n * 10, "/"),
    "colons": lambda n: (b":\n" * n * 10, "/"),
    "unknown words": lambda n: (b"x y\n" * n * 10, "/"),
}


@pytest.mark.req("NFR-WF-SEC-02")
@pytest.mark.parametrize("name", HOSTILE)
def test_twice_the_file_takes_at_most_about_twice_the_time(name: str) -> None:
    """Four doublings, taken together: less than three times for each."""
    (small, short), (large, long) = HOSTILE[name](500), HOSTILE[name](500 * 2**4)
    assert len(large) <= LIMIT, "what is not read proves nothing"
    grown = growth(
        lambda: parse(small).decide(OURS, short), lambda: parse(large).decide(OURS, long), floor=1e-5, below=3**4
    )
    assert grown.times < 3**4


def test_a_pattern_of_thousands_of_stars_looks_at_each_star_once() -> None:
    class Path(str):
        __slots__ = ()
        asked = 0

        def find(self, *args: object) -> int:
            type(self).asked += 1
            return str.find(self, *args)  # type: ignore[arg-type]

    assert not _follow(Path("/b" + "a" * 2_046), 1, ["a"] * 1_999 + ["b"])
    assert Path.asked == 2_000

"""Mentions sorted: on the web, under one address and with an anchor; on the disk; left out, with the reason."""

from __future__ import annotations

import pytest

from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import rules, sort, web_address
from spaniel.health.links import Checked, Link, Place
from spaniel.verdicts import Verdict
from tests.health.test_excluding import mention

SITE = "https://one.org/d/"


@pytest.mark.parametrize(
    ("url", "base", "found"),
    [
        ("https://one.org/a#x", None, ("https://one.org/a", "x")),
        (" HTTPS://One.org/a ", None, ("https://one.org/a", "")),
        ("HTTP:one.org/a", None, ("HTTP:one.org/a", "")),  # no URL: whoever asks for it will say so
        ("https://one.org/a#x:~:text=some", None, ("https://one.org/a", "x")),
        ("https://one.org/a#:~:text=some", None, ("https://one.org/a", "")),
        ("https://one .org/#x", None, ("https://one .org/", "x")),
        ("ftp://one.org/a", SITE, None),
        ("httpx://one.org/a", SITE, None),
        ("mailto:a@one.org", SITE, None),
        ("a.md", None, None),
        ("#x", None, None),
        ("//two.org/a", None, ("https://two.org/a", "")),
        ("//two.org/a#x", None, ("https://two.org/a", "x")),
        ("//", None, None),
        ("a.md#x", SITE, ("https://one.org/d/a.md", "x")),
        ("/a", SITE, ("https://one.org/a", "")),
        ("//two.org/a", SITE, ("https://two.org/a", "")),
        ("https://two.org/a", SITE, ("https://two.org/a", "")),
    ],
)
def test_what_is_on_the_web_has_one_address(url: str, base: str | None, found: tuple[str, str] | None) -> None:
    assert web_address(mention(url), base) == found


@pytest.mark.parametrize(
    ("own", "base", "found"),
    [
        ("https://two.org/b/", SITE, "https://two.org/b/x"),
        ("https://two.org/b/", None, "https://two.org/b/x"),
        ("rel/", SITE, "https://one.org/d/x"),
        ("", SITE, "https://one.org/d/x"),
    ],
)
def test_a_documents_own_base_counts_where_it_is_one(own: str, base: str | None, found: str) -> None:
    assert web_address(mention("x", base=own), base) == (found, "")
    assert web_address(mention("x", base="rel/")) is None


def test_a_mention_goes_into_one_heap_with_all_its_places() -> None:
    urls = [
        "https://one.org/a#x",
        "https://one.org/a",
        "https://a.test/",
        "https://a.test/",
        "//",
        "a.md",
        "mailto:x",
    ]
    mentions = [mention(url, line) for line, url in enumerate(urls)]
    found = sort([*mentions, *mentions], rules())

    def at(*lines: int) -> tuple[Place, ...]:
        return tuple(Place("a.md", line, 1) for line in lines)

    assert found.web == [Link("https://one.org/a", ("x",), (Place("a.md", 0, 1, "x"), *at(1)))]
    assert found.local == [mentions[5], mentions[5]]
    reason = "without a scheme, and it names no host"
    assert [one for one in found.skipped if one.link.url == "//"] == [
        Checked(Link("//", places=at(4)), Verdict.SKIPPED, reason)
    ]
    assert {one.link.url: one.link.places for one in found.skipped} == {
        "https://a.test/": at(2, 3),
        "//": at(4),
        "mailto:x": at(6),
    }


def test_with_a_base_what_has_no_scheme_is_on_the_web_unless_a_rule_leaves_it_out() -> None:
    mentions: list[Mention] = [mention("//cdn.org/x"), mention("//cdn.org/private")]
    found = sort(mentions, rules([r"^https://cdn\.org/private"]), SITE)
    assert [one.url for one in found.web] == ["https://cdn.org/x"]
    assert [(one.link.url, one.reason) for one in found.skipped] == [
        ("https://cdn.org/private", r"excluded by ^https://cdn\.org/private")
    ]

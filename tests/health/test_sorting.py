"""Mentions are sorted into web links (normalized, with fragments), local links, and skipped links with reasons."""

from __future__ import annotations

import pytest

from spaniel.health.documents.mentions import Mention
from spaniel.health.filters import link_filter, sort_mentions, web_address
from spaniel.health.links import Checked, Link, Place
from spaniel.verdicts import Verdict
from tests.health.test_excluding import mention

SITE = "https://one.org/d/"


@pytest.mark.parametrize(
    ("url", "base", "found"),
    [
        ("https://one.org/a#x", None, ("https://one.org/a", "x")),
        (" HTTPS://One.org/a ", None, ("https://one.org/a", "")),
        ("HTTP:one.org/a", None, ("HTTP:one.org/a", "")),  # invalid: the request will report it
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
def test_web_links_are_normalized(url: str, base: str | None, found: tuple[str, str] | None) -> None:
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
def test_base_of_the_document_is_used_if_absolute(own: str, base: str | None, found: str) -> None:
    assert web_address(mention("x", base=own), base) == (found, "")
    assert web_address(mention("x", base="rel/")) is None


def test_mentions_are_merged_with_all_their_places() -> None:
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
    found = sort_mentions([*mentions, *mentions], link_filter())

    def at(*lines: int) -> tuple[Place, ...]:
        return tuple(Place("a.md", line, 1) for line in lines)

    assert found.web == [Link("https://one.org/a", ("x",), (Place("a.md", 0, 1, "x"), *at(1)))]
    assert found.local == [mentions[5], mentions[5]]
    reason = "no scheme and no host"
    assert [one for one in found.skipped if one.link.url == "//"] == [
        Checked(Link("//", places=at(4)), Verdict.SKIPPED, reason)
    ]
    assert {one.link.url: one.link.places for one in found.skipped} == {
        "https://a.test/": at(2, 3),
        "//": at(4),
        "mailto:x": at(6),
    }


def test_link_without_scheme_uses_the_base_and_the_filter() -> None:
    mentions: list[Mention] = [mention("//cdn.org/x"), mention("//cdn.org/private")]
    found = sort_mentions(mentions, link_filter([r"^https://cdn\.org/private"]), SITE)
    assert [one.url for one in found.web] == ["https://cdn.org/x"]
    assert [(one.link.url, one.reason) for one in found.skipped] == [
        ("https://cdn.org/private", r"excluded by ^https://cdn\.org/private")
    ]

"""Servers that answer a conditional request wrongly, or answer 304 without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.errors import Code
from spaniel.pipeline.caching import CHANGED, NEW
from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock, Reply, Site, html, redirect, text
from tests.pipeline.revalidating import (
    MODIFIED,
    OTTER,
    PIKE,
    WEEK,
    Version,
    Versions,
    cache_info,
    entry_of,
    ingested,
    ingesting,
)


@pytest.mark.req("FG-40")
async def test_a_304_that_nobody_asked_for_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    async with Site({"/blog": text("", 304)}) as site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        outcome = await spaniel.outcome(Request(site.url("/blog")))
    assert outcome.refusal is not None
    assert outcome.refusal.code is Code.NETWORK
    assert outcome.refusal.details["status"] == 304


@pytest.mark.req("FG-40")
async def test_304_of_another_hop_is_refused(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)}, {"/r": redirect("/blog")})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/r"))
        site.pages["/r"] = text("", 304)
        clock.advance(WEEK)
        outcome = await spaniel.outcome(Request(site.url("/r")))
    assert outcome.found is None
    assert outcome.refusal is not None
    assert outcome.refusal.details["status"] == 304


@pytest.mark.req("FG-40")
@pytest.mark.parametrize(
    ("stored", "named", "asked"),
    [
        ('"v1"', '"v1"', 1),
        ('"v1"', 'W/"v1"', 1),
        ('W/"v1"', '"v1"', 1),
        ('"v1-gzip"', '"v1"', 1),
        ('"v1"', None, 1),
        (None, '"v2"', 1),  # it was asked about by its date
        ('"v1"', '"v2"', 2),
        ('W/"v1"', 'W/"v2"', 2),
    ],
)
async def test_a_304_about_another_version_says_nothing_about_the_copy(
    tmp_path: Path, clock: FakeClock, stored: str | None, named: str | None, asked: int
) -> None:
    """RFC 9111 4.3.4: the page is then asked for as it is."""
    site = Versions({"/blog": Version(OTTER, stored)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))

        def lie(path: str) -> Reply | None:
            if path == "/robots.txt":
                return None
            head = {} if named is None else {"ETag": named}
            return (304, head, b"") if site.asked else html(PIKE, headers=head)

        site.reply = lie  # type: ignore[method-assign]
        clock.advance(WEEK)
        outcome = await ingested(spaniel, site.url("/blog"))
        assert site.requests["/blog"] == 1 + asked
    assert cache_info(outcome).how == ("not_modified" if asked == 1 else CHANGED)
    assert cache_info(outcome).etag == (named or stored)
    assert ("pike" in outcome.require().page.markdown) is (asked == 2)
    assert outcome.chain == ()


@pytest.mark.req("FG-39")
@pytest.mark.parametrize("etag", ["*", '"a", "b"', '"caf\xe9"', '"' + "x" * 3000 + '"', '"a\x7f"', "W/", '"'])
async def test_an_etag_that_cannot_be_sent_is_left_out(tmp_path: Path, clock: FakeClock, etag: str) -> None:
    """`*` would match every page there is; a list is no tag; a control character is no header's."""
    site = Versions({"/blog": Version(OTTER, etag)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(WEEK)
        await ingested(spaniel, site.url("/blog"))
        expected = {"if-modified-since": MODIFIED} | ({"if-none-match": "W/"} if etag == "W/" else {})
        assert site.asked == expected


@pytest.mark.req("FG-39", "FR-WF-05")
async def test_validators_are_sent_only_to_the_copys_url(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)}, {"/r": redirect("/blog")})
    elsewhere = Versions({"/blog": Version(PIKE, '"theirs"')})
    async with site, elsewhere, ingesting(site, elsewhere, cache=tmp_path, clock=clock) as spaniel:
        await ingested(spaniel, site.url("/r"))
        clock.advance(WEEK)
        site.seen.clear()
        same = await ingested(spaniel, site.url("/r"))
        assert ["if-none-match" in seen for seen in site.seen] == [False, True]
        assert (cache_info(same).how, same.chain) == ("not_modified", (site.url("/r"),))
        for target in (elsewhere.url("/blog"), site.url("/blog?q"), site.url("/blog", "other.example")):
            site.pages["/r"] = redirect(target)
            site.versions["/blog?q"] = Version(PIKE, '"v1"')  # the same tag of another page
            clock.advance(WEEK)
            site.seen.clear()
            moved = await ingested(spaniel, site.url("/r"), max_age=0)
            last = (elsewhere if str(elsewhere.port) in target else site).seen[-1]
            assert not [name for name in last if name.startswith("if-")]
            assert not [name for seen in site.seen for name in seen if name.startswith("if-")]
            fields = NEW if "other.example" in target else CHANGED  # there it has the same text
            assert (cache_info(moved).how, moved.final_url) == (fields, target)
            site.pages["/r"] = redirect("/blog")
            await ingested(spaniel, site.url("/r"), reason="asked")


@pytest.mark.req("FG-40", "FG-23")
async def test_the_way_to_a_renewed_copy_is_the_one_that_was_gone(tmp_path: Path, clock: FakeClock) -> None:
    site = Versions({"/blog": Version(OTTER)}, {"/r": redirect("/blog"), "/between": redirect("/blog")})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        assert (await ingested(spaniel, site.url("/r"))).chain == (site.url("/r"),)
        site.pages["/r"] = redirect("/between")
        clock.advance(WEEK)
        longer = await ingested(spaniel, site.url("/r"))
        assert (cache_info(longer).how, longer.chain) == ("not_modified", (site.url("/r"), site.url("/between")))
        assert (await ingested(spaniel, site.url("/r"))).chain == longer.chain
    entry = entry_of(tmp_path, site.url("/r"))
    assert entry is not None
    assert entry.fetched_at == clock.now()

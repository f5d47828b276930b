"""What a site says about the use of a page after a copy was kept: heard with a 304 and with the same bytes, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaniel.pipeline.request import Request
from spaniel.testing import FakeClock
from tests.pipeline.revalidating import (
    INGEST,
    OTTER,
    WEEK,
    Version,
    Versions,
    cache_info,
    entry_of,
    ingested,
    ingesting,
    steps,
)

SAME, ANOTHER = '"v1"', '"v2"'  # the server answers 304, or 200 with the same bytes
NO_AI = INGEST._replace(respect=("noai",))


def fields(etag: str, word: str) -> Version:
    return Version(OTTER, etag, more={"X-Robots-Tag": word})


@pytest.mark.req("FG-40", "FG-41")
@pytest.mark.parametrize(("etag", "status"), [(SAME, "304"), (ANOTHER, "200")])
async def test_a_copy_that_must_not_be_archived_any_more_is_dropped(tmp_path: Path, etag: str, status: str) -> None:
    clock, site = FakeClock(), Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        url = site.url("/blog")
        first = await ingested(spaniel, url)
        clock.advance(WEEK)
        site.versions["/blog"] = fields(etag, "noarchive")
        again = await ingested(spaniel, url)
    assert (steps(again)["fetch"], steps(again)["write_cache"]) == (status, "noarchive")
    page = again.require().page
    assert page.signals == {"robots": ["noarchive"]}
    assert page.markdown == first.require().page.markdown
    assert again.require().cache_info is None
    assert entry_of(tmp_path, url) is None


@pytest.mark.req("FG-40", "FG-41")
@pytest.mark.parametrize("etag", [SAME, ANOTHER])
async def test_new_signal_is_stored_with_a_renewed_copy(tmp_path: Path, etag: str) -> None:
    clock, site = FakeClock(), Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock) as spaniel:
        url = site.url("/blog")
        await ingested(spaniel, url)
        clock.advance(WEEK)
        site.versions["/blog"] = fields(etag, "noai")
        renewed = await ingested(spaniel, url)
        hit = await ingested(spaniel, url)
        clock.advance(WEEK)
        site.versions["/blog"] = Version(OTTER, etag)  # a 304 need not say again what was said before
        last = await ingested(spaniel, url)
    assert [outcome.require().page.signals for outcome in (renewed, hit, last)] == [{"robots": ["noai"]}] * 3
    assert (cache_info(hit).how, cache_info(last).how) == ("hit", "not_modified")


@pytest.mark.parametrize("etag", [SAME, ANOTHER])
async def test_new_refusing_signal_drops_the_copy(tmp_path: Path, etag: str) -> None:
    clock, site = FakeClock(), Versions({"/blog": Version(OTTER)})
    async with site, ingesting(site, cache=tmp_path, clock=clock, profile=NO_AI) as spaniel:
        url = site.url("/blog")
        first = await ingested(spaniel, url)
        site.versions["/blog"] = fields(etag, "noai")
        clock.advance(60)
        again = await ingested(spaniel, url, max_age=0.0)
        page = again.require().page
        assert first.require().page.markdown
        assert (page.page_type, page.title, page.markdown, page.metadata) == ("site_signal", "Otter", "", {})
        assert again.caveats[:2] == ("site_signal", "noai")
        assert again.require().method == "blocked"
        assert entry_of(tmp_path, url) is None  # or it would be served to the next who asks
        after = await ingested(spaniel, url)
    assert after.require().page.page_type == "site_signal"


async def test_a_content_signal_is_heard_for_a_copy_that_has_not_changed(tmp_path: Path) -> None:
    clock, site = FakeClock(), Versions({"/blog": Version(OTTER)})
    profile = INGEST._replace(respect=("ai-train",))
    async with site, ingesting(site, cache=tmp_path, clock=clock, profile=profile) as spaniel:
        await ingested(spaniel, site.url("/blog"))
        clock.advance(WEEK)
        site.versions["/blog"] = Version(OTTER, more={"Content-Signal": "ai-train=no"})
        again = await ingested(spaniel, site.url("/blog"))
    assert steps(again)["fetch"] == "304"
    assert again.require().page.page_type == "site_signal"


async def test_copy_with_a_respected_signal_is_not_served(tmp_path: Path) -> None:
    clock, site = FakeClock(), Versions({"/blog": fields(SAME, "noai"), "/free": Version(OTTER)})
    async with site:
        async with ingesting(site, cache=tmp_path, clock=clock) as spaniel:
            for path in ("/blog", "/free"):
                assert (await ingested(spaniel, site.url(path))).require().page.markdown
        async with ingesting(site, cache=tmp_path, clock=clock, profile=NO_AI) as spaniel:
            refused = await ingested(spaniel, site.url("/blog"))
            free = await spaniel.outcome(Request(site.url("/free")))
    assert (refused.require().page.page_type, refused.require().page.markdown) == ("site_signal", "")
    assert free.cache_hit


async def test_two_lines_of_one_header_are_two(tmp_path: Path) -> None:
    lines = {"X-Robots-Tag": "otherbot: nofollow\r\nX-Robots-Tag: noarchive"}
    site = Versions({"/blog": Version(OTTER, more=lines)})
    async with site, ingesting(site, cache=tmp_path, clock=FakeClock()) as spaniel:
        outcome = await ingested(spaniel, site.url("/blog"))
    assert outcome.require().page.signals == {"robots": ["noarchive"]}
    assert steps(outcome)["write_cache"] == "noarchive"

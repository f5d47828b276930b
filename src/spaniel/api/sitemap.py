"""The addresses that a site names: those of its sitemaps, and the links of one page."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spaniel.api.scraping import ScrapeOptions, links_of, scrape
from spaniel.errors import SpanielError
from spaniel.reading.parts import PageParts
from spaniel.sources.rows import ListOptions, Problems
from spaniel.sources.walk import fetch_lists, items
from spaniel.url.hostlists import same_owner
from spaniel.url.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaniel.api.service import Service

SITEMAP_SHARE = 0.6  # of the time; the rest is for the page


class SiteLink(NamedTuple):
    """An address of a site."""

    url: str
    title: str | None = None
    description: str | None = None


async def site_links(  # noqa: PLR0913  each is a word of its own to the caller
    service: Service,
    url: str,
    *,
    most: int,
    search: str,
    subdomains: bool,
    use_page: bool,
    use_sitemap: bool,
    seconds: float,
) -> list[SiteLink]:
    """Each address once: the page itself, those of the sitemaps, those of its links."""
    start = parse(url)
    found: dict[str, None] = {start.href: None}
    words = search.lower().split()

    def take(address: str) -> None:
        with suppress(SpanielError):
            other = parse(address)._replace(fragment=None)
            same = same_owner(other.host, start.host) if subdomains else other.host == start.host
            if same and all(word in other.href.lower() for word in words):
                found[other.href] = None

    refusal: SpanielError | None = None
    if use_page:
        options = ScrapeOptions(parts=PageParts(whole=True), timeout=seconds * (1 - SITEMAP_SHARE))
        try:
            scraped = await scrape(service, url, options)
            if scraped.outcome.found is not None:
                page = scraped.outcome.found.page
                for link in links_of(page.markdown, page.final_url)[0]:
                    take(link)
            else:
                refusal = scraped.outcome.refusal
        except SpanielError as error:
            refusal = error
    if use_sitemap and len(found) < most:
        with suppress(TimeoutError, SpanielError):
            async with asyncio.timeout(seconds * SITEMAP_SHARE):
                await _read_sitemaps(service, f"{start.origin}/", take, lambda: len(found) >= most)
    if refusal is not None and len(found) == 1:
        raise refusal.about(url)
    return [SiteLink(address) for address in list(found)[:most]]


async def _read_sitemaps(service: Service, site: str, take: Callable[[str], None], is_full: Callable[[], bool]) -> None:
    door = service.engine.services.door
    fetch = fetch_lists(door, service.engine.http, service.client().profile.way)
    async for item in items([site], fetch, ListOptions(kind="site"), Problems(), may_be_empty=True):
        take(item.raw_url)
        if is_full():
            return

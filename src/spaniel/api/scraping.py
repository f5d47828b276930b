"""What the drop-in APIs have in common: one page, with the options that their clients send, as a plain value."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

from spaniel.api.errors import bad_argument
from spaniel.api.html import targets_of
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spaniel.api.service import Service
    from spaniel.pipeline.outcome import Outcome
    from spaniel.reading.parts import PageParts

MOST_SECONDS = 300.0  # that a client may allow a page
PHONE = (390, 844)  # pixels of the window for `mobile`


class ScrapeOptions(NamedTuple):
    """How a page is fetched and read, whatever the API calls it."""

    profile: str | None = None
    parts: PageParts | None = None  # which parts are read; None: the main content
    max_age: float | None = None  # seconds; an older copy is not served
    no_cache: bool = False
    timeout: float | None = None  # seconds for all of it
    wait_ms: int = 0  # for scripts; the page is rendered
    wait_for: str = ""  # a CSS selector; the page is rendered
    mobile: bool = False
    screenshot: bool = False
    languages: tuple[str, ...] = ()
    raw: bool = False  # keep the HTML as it came


class Scraped(NamedTuple):
    """A page for a drop-in API."""

    outcome: Outcome
    previous: Outcome | None = None  # the stored copy before, where a comparison is wanted


async def scrape(service: Service, url: str, options: ScrapeOptions, *, compare: bool = False) -> Scraped:
    """Fetch a page. The outcome may be a refusal; `timeout` is raised if the client's own time is over."""
    client = service.client(options.profile)
    request = request_for(service, url, options)
    previous = service.engine.stored(Request(url), client.profile) if compare else None
    seconds = options.timeout
    try:
        async with asyncio.timeout(seconds):
            return Scraped(await service.outcome(client, request), previous)
    except TimeoutError:
        raise SpanielError(Code.TIMEOUT, timeout_ms=round((seconds or 0) * 1000), phase="fetch") from None


def request_for(service: Service, url: str, options: ScrapeOptions) -> Request:
    display = None
    usual = service.settings.browser.display
    if options.wait_ms or options.wait_for or options.mobile:
        display = usual
        if options.wait_ms:
            display = display._replace(idle_ms=min(max(options.wait_ms, usual.idle_ms), 300_000))
        if options.wait_for:
            display = display._replace(wait_for=options.wait_for)
        if options.mobile:
            display = display._replace(width=PHONE[0], height=max(PHONE[1], usual.height))
    if options.parts is not None:
        options.parts.require_valid()
    return Request(
        url,
        no_cache=options.no_cache,
        picture=options.screenshot,
        max_age=options.max_age,
        display=display,
        picture_height=service.settings.mcp.max_screenshot_height,
        parts=options.parts,
        keep_body=options.raw,
        languages=options.languages,
    )


def links_of(markdown: str, base: str) -> tuple[list[str], list[str]]:
    """The addresses of links and of images, each once, in order."""
    from spaniel.url.parsing import parse

    links: dict[str, None] = {}
    images: dict[str, None] = {}
    page = parse(base)
    for is_image, target in targets_of(markdown):
        if target.startswith("#") or not target:
            continue
        try:
            absolute = parse(target, page).href
        except SpanielError:
            continue
        (images if is_image else links)[absolute] = None
    return list(links), list(images)


def picture_url(picture: bytes | None) -> str | None:
    return None if picture is None else f"data:image/png;base64,{b64encode(picture).decode()}"


def milliseconds(body: dict[str, Any], name: str, low: int, high: int) -> float | None:
    """A number of milliseconds, as seconds; null and 0 for none."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise bad_argument(name, "must be a number of milliseconds")
    return min(max(value, low), high) / 1000 if value else None


def texts(body: dict[str, Any], name: str, most: int = 1_000) -> tuple[str, ...]:
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or len(value) > most:
        raise bad_argument(name, f"must be a list of at most {most:,} texts")
    return tuple(value)


def truth(body: dict[str, Any], name: str, *, default: bool = False) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_argument(name, "must be true or false")
    return value


def joined(warnings: Sequence[str]) -> str | None:
    return " ".join(warnings) or None

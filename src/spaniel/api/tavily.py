"""Drop-ins for Tavily's `POST /extract` and Open WebUI's external loader, `POST /load`: several pages in one call."""

from __future__ import annotations

import asyncio
import time
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from spaniel.api.endpoint import Endpoint, json_object, json_response
from spaniel.api.errors import bad_argument
from spaniel.api.scraping import MOST_SECONDS, ScrapeOptions, links_of, scrape, texts, truth
from spaniel.api.service import service_of
from spaniel.errors import SpanielError

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from spaniel.api.scraping import Scraped
    from spaniel.api.service import Service

MOST_URLS = 100
AT_ONCE = 8
TIME_SHARE = 0.9  # of `timeout`, after which its clients have left: they wait no longer themselves


async def extract(request: HttpRequest) -> Response:
    began = time.monotonic()
    service, body = service_of(request), await json_object(request)
    urls = _urls(body)
    seconds = body.get("timeout")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
        raise bad_argument("timeout", "must be a number of seconds")
    options = ScrapeOptions(timeout=min(seconds * TIME_SHARE, MOST_SECONDS) if seconds else None)
    want_images, form = truth(body, "include_images"), body.get("format", "markdown")
    results: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    for url, found in zip(urls, await _all(service, urls, options), strict=True):
        if isinstance(found, SpanielError):
            failed.append({"url": url, "error": f"{found.model_message}. {found.model_hint}"})
            continue
        page = found.outcome.require().page
        text = page.markdown if form != "text" else _plain(page.markdown)
        images = links_of(page.markdown, page.final_url)[1] if want_images else []
        results.append({"url": url, "title": page.headline, "raw_content": text, "images": images, "favicon": None})
    return json_response(
        {
            "results": results,
            "failed_results": failed,
            "response_time": round(time.monotonic() - began, 2),
            "request_id": token_hex(16),
        }
    )


async def load(request: HttpRequest) -> Response:
    """Pages for Open WebUI. A page that cannot be fetched is left out, unless it is the only one."""
    service, body = service_of(request), await json_object(request)
    urls = _urls(body)
    documents = []
    refusal: SpanielError | None = None
    for url, found in zip(urls, await _all(service, urls, ScrapeOptions()), strict=True):
        if isinstance(found, SpanielError):
            refusal = found
            continue
        page = found.outcome.require().page
        known = {"title": page.headline, "language": page.language, "description": page.metadata.get("description")}
        metadata = {"source": url, "url": page.final_url, **{key: value for key, value in known.items() if value}}
        documents.append({"page_content": page.markdown, "metadata": metadata})
    if refusal is not None and not documents:
        raise refusal
    return json_response(documents)


def _urls(body: dict[str, Any]) -> tuple[str, ...]:
    given = body.get("urls")
    urls = (given,) if isinstance(given, str) else texts(body, "urls", MOST_URLS)
    if not urls:
        raise bad_argument("urls", "is missing" if given is None else "is empty")
    return urls


async def _all(service: Service, urls: tuple[str, ...], options: ScrapeOptions) -> list[Scraped | SpanielError]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(url: str) -> Scraped | SpanielError:
        async with places:
            try:
                found = await scrape(service, url if "://" in url else f"https://{url}", options)
            except SpanielError as error:
                return error.about(url)
        if found.outcome.found is None:
            assert found.outcome.refusal is not None  # noqa: S101  an outcome has one of the two
            return found.outcome.refusal.about(url)
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(url)) for url in urls]
    return [task.result() for task in tasks]


def _plain(markdown: str) -> str:
    """The text without Markdown's marks."""
    import pyromark

    parts: list[str] = []
    for event in pyromark.events(markdown):
        if isinstance(event, dict):
            name, value = next(iter(event.items()))
            if name in ("Text", "Code"):
                parts.append(str(value))
            elif (name == "End" and value in ("Paragraph", "Item")) or (name == "End" and isinstance(value, dict)):
                parts.append("\n")
        elif event in ("SoftBreak", "HardBreak"):
            parts.append("\n")
    return "".join(parts).strip()


_BODY: dict[str, object] = {
    "type": "object",
    "properties": {"urls": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}},
    "required": ["urls"],
}
ENDPOINTS = [
    Endpoint("POST", "/extract", extract, "Pages in Tavily's form", "Tavily", _BODY),
    Endpoint(
        "POST", "/load", load, "Pages in Open WebUI's form", "Open WebUI", _BODY, answers={200: {"type": "array"}}
    ),
]

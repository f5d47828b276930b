"""Drop-in for Jina Reader: `GET /https://…` and `POST /` with a URL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from spaniel.api.endpoint import json_object, json_response, text_response
from spaniel.api.errors import ApiError, bad_argument, error_fields, status_of
from spaniel.api.html import html_of
from spaniel.api.scraping import MOST_SECONDS, ScrapeOptions, links_of, picture_url, scrape
from spaniel.api.service import service_of
from spaniel.chunking import chunk
from spaniel.chunking.tokens import cl100k
from spaniel.reading.parts import PageParts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request as HttpRequest

    from spaniel.api.scraping import Scraped
    from spaniel.errors import SpanielError
    from spaniel.pipeline.outcome import StoredPage

FORMS = ("default", "content", "markdown", "html", "text", "screenshot", "pageshot")
PROBE_TOKENS = 2_048  # of a piece, while a text is cut to a budget
TRUE = ("true", "1", "yes", "all")


async def read_address(request: HttpRequest) -> Response:
    """`GET /https://example.com/a?b=c`: what follows the slash is the address, as it was sent."""
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    address = raw[1:].decode("latin-1")
    if query := request.scope.get("query_string", b""):
        address += "?" + query.decode("latin-1")
    scheme, _, rest = address.partition(":")
    return await _read(request, f"{scheme}://{rest.lstrip('/')}", request.headers)


async def read_posted(request: HttpRequest) -> Response:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        from urllib.parse import parse_qs

        body: dict[str, Any] = {key: values[0] for key, values in parse_qs((await request.body()).decode()).items()}
    else:
        body = await json_object(request)
    url = body.get("url")
    if not isinstance(url, str) or not url.strip():
        raise bad_argument("url", "is missing" if url is None else "must be text")
    return await _read(request, url.strip() if "://" in url else f"https://{url.strip()}", request.headers)


async def _read(request: HttpRequest, url: str, headers: Mapping[str, str]) -> Response:
    form = headers.get("x-respond-with", headers.get("x-return-format", "default")).lower()
    if form not in FORMS:
        raise bad_argument("X-Respond-With", f"must be one of {', '.join(FORMS)}")
    options = _options(headers, picture=form in ("screenshot", "pageshot"))
    scraped = await scrape(service_of(request), url, options)
    outcome = scraped.outcome
    if outcome.found is None:
        raise outcome.refusal.about(url) if outcome.refusal else ApiError("not_found")
    budget = _number(headers, "x-token-budget")
    return await asyncio.to_thread(_respond, request, scraped, form, budget)


def _options(headers: Mapping[str, str], *, picture: bool) -> ScrapeOptions:
    """What its headers ask for."""

    def selectors(name: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in headers.get(name, "").split(",") if part.strip())

    parts = PageParts(selectors("x-target-selector"), selectors("x-remove-selector"))
    timeout = _number(headers, "x-timeout")
    tolerance = _number(headers, "x-cache-tolerance")
    return ScrapeOptions(
        parts=parts if parts != PageParts() else None,
        no_cache=headers.get("x-no-cache", "").lower() in TRUE or tolerance == 0,
        max_age=float(tolerance) if tolerance else None,
        timeout=min(float(timeout), MOST_SECONDS) if timeout else None,
        wait_for=headers.get("x-wait-for-selector", "").strip(),
        screenshot=picture,
    )


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise bad_argument(name.title(), "must be a whole number")
    return int(text)


def _respond(request: HttpRequest, scraped: Scraped, form: str, budget: int | None) -> Response:
    fetched, headers = scraped.outcome.require(), request.headers
    page, accept = fetched.page, headers.get("accept", "")
    content = page.markdown if budget is None else within(page.markdown, budget)
    known = zip(("links", "images"), links_of(page.markdown, page.final_url), strict=True)
    extra = {name: found for name, found in known if headers.get(f"x-with-{name}-summary", "").lower() in TRUE}
    html = html_of(content, page.final_url) if form == "html" else None
    picture = fetched.picture if form in ("screenshot", "pageshot") else None
    if "application/json" in accept:
        data = _fields(page, content, extra)
        if picture:
            data[f"{form}Url"] = picture_url(picture)
        if html is not None:
            data["html"] = html
        notes = list(scraped.outcome.caveats)
        return json_response({"code": 200, "status": 20_000, "data": data, "meta": {"notes": notes}})
    if picture is not None:
        return Response(picture, media_type="image/png")
    if html is not None:
        return text_response(html)  # as text: nothing of a page is ever served as a document of ours
    if form in ("markdown", "text") or "text/markdown" in accept:
        return text_response(content, "text/markdown" if form != "text" else "text/plain")
    return text_response(_with_head(page, content, extra))


def _fields(page: StoredPage, content: str, extra: dict[str, list[str]]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "title": page.headline or "",
        "description": page.metadata.get("description") or "",
        "url": page.final_url,
        "content": content,
        "usage": {"tokens": cl100k().count(content)},
    }
    data |= {name: {address: address for address in addresses} for name, addresses in extra.items()}
    if page.metadata.get("published"):
        data["publishedTime"] = page.metadata["published"]
    return data


def _with_head(page: StoredPage, content: str, extra: dict[str, list[str]]) -> str:
    """The plain form: a few lines about the page, then its text."""
    lines = [f"Title: {_line(page.headline)}", "", f"URL Source: {page.final_url}", ""]
    if published := page.metadata.get("published"):
        lines += [f"Published Time: {_line(published)}", ""]
    lines += ["Markdown Content:", content]
    for name, addresses in extra.items():
        lines += ["", f"{name.title()}:", *(f"- {address}" for address in addresses)]
    return "\n".join(lines)


def _line(text: object) -> str:
    return " ".join(str(text or "").split())


def within(markdown: str, budget: int) -> str:
    """The beginning of a text, in at most so many tokens."""
    if budget <= 0:
        return ""
    end = used = 0
    for part in chunk(markdown, min(PROBE_TOKENS, max(128, budget))):
        if used + part.token_count > budget:
            break
        used, end = used + part.token_count, part.end
    return markdown[:end]


def error_body(error: ApiError | SpanielError) -> tuple[int, object]:
    fields, status = error_fields(error), status_of(error)
    return status, {
        "code": status,
        "status": status * 100,
        "name": fields["code"],
        "message": fields["message"],
        "readableMessage": f"{fields['code']}: {fields['message']}",
        "data": None,
    }

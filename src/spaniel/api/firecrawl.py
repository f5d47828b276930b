"""Drop-in for Firecrawl, v1 and v2: scrape, batch scrape, map; crawl is not built yet.

Its clients always send `skipTlsVerification: true`: never obeyed, and said in `warning`, like everything else that is
not supported. An unknown key is accepted. Errors have a text in `error`; its clients retry 502 three times and give 403
and 408 meanings of their own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from spaniel.api.endpoint import Endpoint, json_object, json_response, query_number
from spaniel.api.errors import ApiError, bad_argument, error_fields, status_of
from spaniel.api.html import html_of
from spaniel.api.jobs import CANCELLED, ENDED, FAILED, FINISHED, KEPT_SECONDS, Job, jobs_of, moment, write_list
from spaniel.api.scraping import (
    MOST_SECONDS,
    ScrapeOptions,
    joined,
    links_of,
    milliseconds,
    picture_url,
    scrape,
    texts,
    truth,
)
from spaniel.api.service import caller_of, service_of
from spaniel.api.webhooks import Webhook, require_sendable
from spaniel.errors import Code, SpanielError
from spaniel.reading.parts import PageParts

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from spaniel.api.scraping import Scraped
    from spaniel.pipeline.outcome import Outcome, StoredPage

MAX_AGE_SECONDS = 4 * 3600.0  # the default of `maxAge`, as in Firecrawl
MOST_URLS = 10_000  # of a batch in one request
PAGE_SIZE = 100  # documents in one page of a batch's status
MOST_MAP_LINKS = 30_000
FORMATS = ("markdown", "html", "rawHtml", "links", "images", "screenshot", "changeTracking", "summary", "json")
NOT_BUILT = ("json", "summary", "extract", "attributes", "branding", "audio", "deterministicJson", "query")
STATES = {FINISHED: "completed", FAILED: "failed", CANCELLED: "cancelled"}


class _Wanted:
    """A scrape request, read leniently: what we do not do becomes a warning."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.warnings: list[str] = []
        self.formats = self._formats(body.get("formats"))
        if body.get("skipTlsVerification"):
            self._warn("Certificates are always verified (skipTlsVerification is ignored).")
        if body.get("headers"):
            self._warn("The headers were not sent: only the operator of this server may set request headers.")
        for name, what in (
            ("actions", "Actions are"),
            ("proxy", "A proxy per request is"),
            ("profile", "Profiles are"),
        ):
            if body.get(name) and body[name] not in ("basic", "auto"):
                self._warn(f"{what} not supported ({name} is ignored).")
        max_age = milliseconds(body, "maxAge", 0, 10**12)
        whole = not truth(body, "onlyMainContent", default=True)
        parts = PageParts(texts(body, "includeTags", 50), texts(body, "excludeTags", 50), whole)
        given = body.get("location")
        location: dict[str, Any] = given if isinstance(given, dict) else {}
        if location.get("country"):
            self._warn("Requests are sent from this server, whatever the country (location.country is ignored).")
        self.compare = "changeTracking" in self.formats
        self.options = ScrapeOptions(
            parts=parts if parts != PageParts() else None,
            max_age=MAX_AGE_SECONDS if "maxAge" not in body or body["maxAge"] is None else max_age,
            no_cache=self.compare or (body.get("maxAge") == 0),
            timeout=milliseconds(body, "timeout", 1_000, int(MOST_SECONDS * 1000)),
            wait_ms=round((milliseconds(body, "waitFor", 0, 60_000) or 0) * 1000),
            mobile=truth(body, "mobile"),
            screenshot="screenshot" in self.formats,
            languages=texts(location, "languages", 20),
            raw="rawHtml" in self.formats,
        )

    def _formats(self, given: object) -> list[str]:
        if given is None:
            return ["markdown"]
        if not isinstance(given, list):
            raise bad_argument("formats", "must be a list")
        names: list[str] = []
        for item in given:
            name = item.get("type") if isinstance(item, dict) else item
            if not isinstance(name, str):
                raise bad_argument("formats", "must hold names, or objects with a type")
            name = name.partition("@")[0]
            if name in NOT_BUILT or name not in FORMATS:
                self._warn(f"The format '{name[:40]}' is not supported.")
            else:
                names.append(name)
        return names

    def _warn(self, text: str) -> None:
        self.warnings.append(text)


async def scrape_one(request: HttpRequest) -> Response:
    service, body = service_of(request), await json_object(request)
    url = _url(body)
    wanted = _Wanted(body)
    scraped = await scrape(service, url, wanted.options, compare=wanted.compare)
    outcome = scraped.outcome
    if outcome.found is None:
        raise outcome.refusal.about(url) if outcome.refusal else SpanielError(Code.INTERNAL, error="no page")
    fields: dict[str, Any] = {"success": True, "data": await asyncio.to_thread(_document, scraped, wanted)}
    if warning := joined(wanted.warnings):
        fields["warning"] = fields["data"]["warning"] = warning
    return json_response(fields)


def _url(body: dict[str, Any]) -> str:
    url = body.get("url")
    if not isinstance(url, str) or not url.strip():
        raise bad_argument("url", "is missing" if url is None else "must be text")
    url = url.strip()
    return url if "://" in url else f"https://{url}"


def _document(scraped: Scraped, wanted: _Wanted) -> dict[str, Any]:
    outcome = scraped.outcome
    found = outcome.require()
    page = found.page
    data: dict[str, Any] = {}
    if "markdown" in wanted.formats:
        data["markdown"] = page.markdown
    if "html" in wanted.formats:
        data["html"] = html_of(page.markdown, page.final_url)
    if "rawHtml" in wanted.formats and found.body is not None:
        data["rawHtml"] = found.body
    if "links" in wanted.formats or "images" in wanted.formats:
        links, images = links_of(page.markdown, page.final_url)
        data |= {name: value for name, value in (("links", links), ("images", images)) if name in wanted.formats}
    if "screenshot" in wanted.formats:
        data["screenshot"] = picture_url(found.picture)
    if wanted.compare:
        data["changeTracking"] = _change(scraped)
    data["metadata"] = _metadata(outcome, page)
    return data


def _change(scraped: Scraped) -> dict[str, Any]:
    before = scraped.previous.found if scraped.previous is not None else None
    if before is None:
        return {"previousScrapeAt": None, "changeStatus": "new", "visibility": "visible"}
    same = before.page.markdown == scraped.outcome.require().page.markdown
    return {
        "previousScrapeAt": before.fetched_at.isoformat(),
        "changeStatus": "same" if same else "changed",
        "visibility": "visible",
    }


def _metadata(outcome: Outcome, page: StoredPage) -> dict[str, Any]:
    known = page.metadata
    fields = {
        "title": page.headline,
        "description": known.get("description"),
        "language": page.language,
        "author": known.get("author"),
        "publishedTime": known.get("published"),
        "modifiedTime": known.get("modified"),
        "ogImage": known.get("image"),
        "ogSiteName": known.get("site_name"),
        "sourceURL": outcome.requested_url,
        "url": page.final_url,
        "statusCode": page.status,
        "contentType": page.content_type or None,
        "proxyUsed": "basic",
        "cacheState": "hit" if outcome.cache_hit else "miss",
        "cachedAt": moment(outcome.require().fetched_at.timestamp()) if outcome.cache_hit else None,
        "creditsUsed": 1,
        "notes": list(outcome.caveats) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


# Batches


async def batch_start(request: HttpRequest) -> Response:
    service, body, caller = service_of(request), await json_object(request), caller_of(request)
    urls = texts(body, "urls", MOST_URLS)
    if not urls:
        raise bad_argument("urls", "is empty")
    wanted = _Wanted(body)
    options = _batch_options(wanted, service.own.profile)
    hook = _webhook(body.get("webhook"))
    if hook is not None:
        require_sendable(service.engine, hook)
    jobs = jobs_of(request)
    jobs.require_room(caller)
    id_, folder = jobs.new_folder()
    try:
        total = write_list(folder, iter([_url({"url": url}) for url in urls]))
        jobs.add(id_, caller, "batch", total, options, hook)
    except BaseException:
        jobs.drop_folder(id_)
        raise
    version = request.url.path.split("/")[1]
    fields = {"success": True, "id": id_, "url": f"{_base(request)}/{version}/batch/scrape/{id_}", "invalidURLs": []}
    if warning := joined(wanted.warnings):
        fields["warning"] = warning
    return json_response(fields)


def _batch_options(wanted: _Wanted, profile: str) -> dict[str, Any]:
    options = wanted.options
    if options.parts or options.wait_ms or options.mobile or options.screenshot or options.raw:
        wanted.warnings.append("Batches read the main content over HTTP; options that need more are ignored.")
    return {"profile": profile, "cached": not options.no_cache, "formats": wanted.formats, "delay": 1.0}


def _webhook(given: object) -> Webhook | None:
    if given is None:
        return None
    if isinstance(given, str):
        return Webhook(given)
    if isinstance(given, dict) and isinstance(given.get("url"), str):
        metadata = given.get("metadata")
        return Webhook(given["url"], metadata=metadata if isinstance(metadata, dict) else {})
    raise bad_argument("webhook", "must be an address, or an object with a url")


async def batch_status(request: HttpRequest) -> Response:
    _service, caller = service_of(request), caller_of(request)
    jobs, id_ = jobs_of(request), request.path_params["id"]
    job = await asyncio.to_thread(jobs.job, caller, id_)
    offset = query_number(request, "skip", 0, 0, 1 << 60)
    most = query_number(request, "limit", PAGE_SIZE, 1, 1_000)
    page = await asyncio.to_thread(jobs.results, job, offset, most)
    formats = job.options.get("formats", ["markdown"])
    data = await asyncio.to_thread(lambda: [_from_record(line, formats) for line in page.lines])
    fields: dict[str, Any] = {
        "success": True,
        "status": _state(job),
        "total": job.total,
        "completed": job.progress.get("done", 0),
        "creditsUsed": job.progress.get("pages", 0),
        "expiresAt": moment((job.ended or job.created) + KEPT_SECONDS),
        "data": [document for document in data if document is not None],
    }
    if page.next is not None and page.lines and (job.state in ENDED or len(page.lines) == most):
        fields["next"] = f"{_base(request)}{request.url.path}?skip={page.next}&limit={most}"
    if job.error:
        fields["error"] = job.error
    return json_response(fields)


def _state(job: Job) -> str:
    return STATES.get(job.state, "scraping")


def _from_record(line: bytes, formats: list[str]) -> dict[str, Any] | None:
    """A document from a record of the run; None for a page that could not be fetched (see `errors`)."""
    import msgspec

    record = msgspec.json.decode(line)
    if record.get("error") or record.get("markdown") is None:
        return None
    data: dict[str, Any] = {}
    markdown = record["markdown"]
    if "markdown" in formats:
        data["markdown"] = markdown
    if "html" in formats:
        data["html"] = html_of(markdown, record["final_url"])
    if "links" in formats or "images" in formats:
        links, images = links_of(markdown, record["final_url"])
        data |= {name: value for name, value in (("links", links), ("images", images)) if name in formats}
    data["metadata"] = {
        "title": record.get("title"),
        "language": record.get("language"),
        "sourceURL": record["requested_url"],
        "url": record["final_url"],
        "statusCode": record.get("status") or 200,
    }
    return data


async def batch_errors(request: HttpRequest) -> Response:
    import msgspec

    _service, caller = service_of(request), caller_of(request)
    jobs = jobs_of(request)
    job = await asyncio.to_thread(jobs.job, caller, request.path_params["id"])
    errors: list[dict[str, Any]] = []
    blocked: list[str] = []
    offset: int | None = 0
    while offset is not None and len(errors) < MOST_URLS:
        page = await asyncio.to_thread(jobs.results, job, offset, 1_000)
        for line in page.lines:
            record = msgspec.json.decode(line)
            if error := record.get("error"):
                url = record["requested_url"]
                if error["code"] == Code.ROBOTS_DISALLOWED:
                    blocked.append(url)
                errors.append(
                    {"id": str(record.get("ordinal", "")), "url": url, "code": error["code"], "error": error["message"]}
                )
        offset = page.next if page.lines else None
    return json_response({"errors": errors, "robotsBlocked": blocked})


async def batch_cancel(request: HttpRequest) -> Response:
    _service, caller = service_of(request), caller_of(request)
    jobs = jobs_of(request)
    await asyncio.to_thread(jobs.want, caller, request.path_params["id"], "cancel")
    return json_response({"success": True, "status": "cancelled", "message": "The batch was cancelled"})


# Map


async def map_site(request: HttpRequest) -> Response:
    """The addresses that a site's page and sitemaps name."""
    service, body = service_of(request), await json_object(request)
    url, limit = _url(body), body.get("limit", 5_000)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise bad_argument("limit", "must be a whole number, 1 or more")
    from spaniel.api.sitemap import site_links

    only_sitemap = body.get("sitemap") == "only" or truth(body, "sitemapOnly")
    no_sitemap = body.get("sitemap") == "skip" or truth(body, "ignoreSitemap")
    search = body.get("search")
    found = await site_links(
        service,
        url,
        most=min(limit, MOST_MAP_LINKS),
        search=search if isinstance(search, str) else "",
        subdomains=truth(body, "includeSubdomains", default=True),
        use_page=not only_sitemap,
        use_sitemap=not no_sitemap,
        seconds=milliseconds(body, "timeout", 1_000, int(MOST_SECONDS * 1000)) or 60.0,
    )
    if request.url.path.startswith("/v1/"):
        return json_response({"success": True, "links": [link.url for link in found]})
    links = [
        {name: value for name, value in link._asdict().items() if value is not None and value != ""} for link in found
    ]
    return json_response({"success": True, "links": links})


async def crawl(_: HttpRequest) -> Response:
    raise ApiError(
        "not_implemented",
        "Crawling is not built yet",
        "List the pages with /v2/map, then send them to /v2/batch/scrape.",
    )


def _base(request: HttpRequest) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


STATUS = {  # other failures of a page are 500: its clients retry a 502, which would only repeat them
    "timeout": 408, "robots_disallowed": 403, "ssrf_blocked": 403, "port_blocked": 403,
}  # fmt: skip


def error_body(error: ApiError | SpanielError) -> tuple[int, object]:
    """Status and body of an error: a text in `error`, our code, and what to do."""
    fields = error_fields(error)
    status = status_of(error)
    if isinstance(error, SpanielError):
        status = STATUS.get(str(error.code), 500 if status in (500, 502, 503, 504) else status)
    text = f"{fields['message']}. {fields['hint']}" if fields.get("hint") else fields["message"]
    return status, {"success": False, "error": text, "code": fields["code"], "details": fields.get("details")}


_OBJECT: dict[str, object] = {"type": "object"}
_SCRAPE: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "minLength": 1},
        "formats": {"type": "array"},
        "onlyMainContent": {"type": "boolean"},
        "includeTags": {"type": "array", "items": {"type": "string"}},
        "excludeTags": {"type": "array", "items": {"type": "string"}},
        "waitFor": {"type": "number"},
        "timeout": {"type": "number"},
        "maxAge": {"type": "number"},
        "mobile": {"type": "boolean"},
    },
    "required": ["url"],
}
_BATCH: dict[str, object] = {
    "type": "object",
    "properties": {"urls": {"type": "array", "items": {"type": "string"}}, "formats": {"type": "array"}},
    "required": ["urls"],
}
ENDPOINTS = [
    endpoint
    for version in ("v2", "v1")
    for endpoint in (
        Endpoint("POST", f"/{version}/scrape", scrape_one, "Scrape a page", "Firecrawl", _SCRAPE),
        Endpoint("POST", f"/{version}/batch/scrape", batch_start, "Start a batch", "Firecrawl", _BATCH),
        Endpoint("GET", f"/{version}/batch/scrape/{{id}}", batch_status, "A batch and its pages", "Firecrawl"),
        Endpoint("DELETE", f"/{version}/batch/scrape/{{id}}", batch_cancel, "Cancel a batch", "Firecrawl"),
        Endpoint("GET", f"/{version}/batch/scrape/{{id}}/errors", batch_errors, "What failed", "Firecrawl"),
        Endpoint("POST", f"/{version}/map", map_site, "The addresses of a site", "Firecrawl", _SCRAPE),
        Endpoint("POST", f"/{version}/crawl", crawl, "Not built yet", "Firecrawl", _SCRAPE),
        Endpoint("GET", f"/{version}/crawl/{{id}}", crawl, "Not built yet", "Firecrawl"),
        Endpoint("DELETE", f"/{version}/crawl/{{id}}", crawl, "Not built yet", "Firecrawl"),
    )
]

"""Spaniel's own HTTP API, under `/api`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from starlette.responses import Response

from spaniel import __version__
from spaniel.api.endpoint import (
    Endpoint,
    EventQueue,
    error_event,
    event,
    event_stream,
    json_object,
    json_response,
    query_number,
    query_text,
    text_response,
    typed_body,
)
from spaniel.api.errors import ApiError, bad_argument, not_found
from spaniel.api.service import caller_of, service_of
from spaniel.defaults import CHUNK_TOKENS
from spaniel.errors import Code, SpanielError, shown
from spaniel.pipeline.request import WIDER_SCHEMA, Request, Trace, TraceStep, bad, read_request
from spaniel.tool.framework import ToolCtx, ToolError
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import OUTPUT_SCHEMA as MORE_OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA
from spaniel.tool.web_fetch_more import WebFetchMoreTool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request as HttpRequest

    from spaniel.api.recent_answers import RecentAnswers
    from spaniel.api.service import Service
    from spaniel.app.client import Spaniel
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.outcome import Outcome

Text = Annotated[str, msgspec.Meta(min_length=1)]
MOST_LINKS = 1_000  # of one check; more are a job
MOST_OUTPUT_BYTES = 100 << 20  # of an answer of `more`: the whole page
CHECK_SECONDS = 600.0
FORMATS = ("json", "markdown", "record")


# Fetching


async def fetch(request: HttpRequest) -> Response:
    service, args = service_of(request), await json_object(request)
    form = args.pop("format", "json")
    if form not in FORMATS:
        raise bad_argument("format", f"must be one of {', '.join(FORMATS)}")
    client, wanted = _wanted(service, args)
    if form == "record":
        from spaniel.pipeline.record import record_of

        outcome = await service.outcome(client, wanted)
        chunks = client.view(outcome, wanted.max_chunk_tokens).chunk_records() if outcome.found is not None else None
        return json_response(record_of(outcome, chunks).as_dict())
    outcome, answer = await _fetched(service, client, wanted, Trace(), request)
    if form == "json":
        recent: RecentAnswers = request.app.state.recent
        recent.keep(await request.body(), client, wanted, outcome, answer)
    return _shaped(answer, form)


def _wanted(service: Service, args: dict[str, Any]) -> tuple[Spaniel, Request]:
    """The client and the request that a call describes (FR-WF-02, D2-38)."""
    client = service.client(args.pop("profile", "web_fetch"))
    display = None if client.profile.is_srd else service.settings.browser.display
    wanted = read_request(args, display)
    return client, wanted._replace(picture_height=service.settings.mcp.max_screenshot_height)


async def _fetched(
    service: Service, client: Spaniel, wanted: Request, trace: Trace, request: HttpRequest
) -> tuple[Outcome, Answer]:
    outcome = await service.outcome(client, wanted, trace)
    answer = client.view(outcome, wanted.max_chunk_tokens, trace)
    service.session(caller_of(request), client.profile.name).recent.remember(wanted, answer)
    return outcome, answer


def _shaped(answer: Answer, form: str) -> Response:
    if form == "markdown":
        return text_response(answer.markdown, "text/markdown")
    fields = answer.as_dict()
    if answer.picture is not None:
        from base64 import b64encode

        fields["screenshot"] = b64encode(answer.picture).decode()
    return json_response(fields)


async def stream(request: HttpRequest) -> Response:
    """The steps of a fetch as they end, then the result or the error."""
    service = service_of(request)
    args: dict[str, Any] = {"url": query_text(request, "url")}
    for name in ("no_cache", "force_browser"):
        if (value := request.query_params.get(name)) is not None:
            if value not in ("true", "false"):
                raise bad_argument(name, "must be true or false")
            args[name] = value == "true"
    if "max_chunk_tokens" in request.query_params:
        args["max_chunk_tokens"] = query_number(request, "max_chunk_tokens", 0, 0, 1_000_000)
    args["profile"] = request.query_params.get("profile", "web_fetch")
    client, wanted = _wanted(service, args)
    queue = EventQueue()

    async def work() -> None:
        try:
            _, answer = await _fetched(
                service, client, wanted, Trace(lambda step: queue.put("step", _step(step))), request
            )
            queue.put("result", answer.as_dict())
        except SpanielError as error:
            queue.put("error", error)
        finally:
            queue.close()

    async def events() -> AsyncIterator[bytes]:
        task = asyncio.ensure_future(work())
        try:
            async for name, value in queue:
                yield error_event(value) if isinstance(value, SpanielError) else event(name, value)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return event_stream(events())


def _step(step: TraceStep) -> dict[str, object]:
    return {**step._asdict(), "url": shown(step.url)}


async def more(request: HttpRequest) -> Response:
    service, args = service_of(request), await json_object(request)
    client = service.client(args.pop("profile", "web_fetch"))
    session = service.session(caller_of(request), client.profile.name)
    tool = WebFetchMoreTool(client, service.settings.tool._replace(enabled=True, allow_auto_execution=True), session)
    try:
        result = await tool.call(args, ToolCtx(MOST_OUTPUT_BYTES, MOST_OUTPUT_BYTES))
    except ToolError as error:
        raise error.error from None
    return json_response(result.fields)


# URLs


class CanonicalizeBody(msgspec.Struct, forbid_unknown_fields=True):
    url: Text
    policy: str = "clara"
    explain: bool = False
    online: bool = False


async def canonicalize(request: HttpRequest) -> Response:
    from spaniel.url.policy import load, shipped

    service, body = service_of(request), await typed_body(request, CanonicalizeBody)
    if body.policy not in shipped():  # a path would be a file of the server
        raise bad_argument("policy", f"must be one of {', '.join(shipped())}")
    policy = load(body.policy)
    if body.online:
        found = await service.client("web_fetch").canonicalize(body.url, policy)
    else:
        found = policy.explain(body.url) if body.explain else policy.apply(body.url)
    fields = found.as_dict()
    if body.explain:
        fields["steps"] = [step._asdict() for step in found.steps]
    return json_response(fields)


async def may_i(request: HttpRequest) -> Response:
    from spaniel.app.robots import robots_facts

    service = service_of(request)
    return json_response(await robots_facts(service.engine, query_text(request, "url")))


# Documents that the caller has


class ExtractBody(msgspec.Struct, forbid_unknown_fields=True):
    html: str
    url: str | None = None
    content_type: str = "text/html"


async def extract(request: HttpRequest) -> Response:
    from spaniel.net.deadline import Deadline
    from spaniel.reading.kinds import kind_of

    service, body = service_of(request), await typed_body(request, ExtractBody)
    declared = body.content_type if "charset" in body.content_type else f"{body.content_type}; charset=utf-8"
    raw = body.html.encode("utf-8", "replace")
    deadline = Deadline(service.settings.limits.timeout_seconds)
    document = await service.engine.services.readers.read(raw, kind_of(declared, raw), body.url, deadline)
    return json_response(document.as_dict())


class ChunkBody(msgspec.Struct, forbid_unknown_fields=True):
    markdown: str
    max_tokens: int = CHUNK_TOKENS.default


async def chunk(request: HttpRequest) -> Response:
    from spaniel.chunking import chunk as cut

    body = await typed_body(request, ChunkBody)
    if not CHUNK_TOKENS.allows(body.max_tokens):
        raise bad("max_tokens", f"{body.max_tokens} is not between {CHUNK_TOKENS.low} and {CHUNK_TOKENS.high}")
    chunks = await asyncio.to_thread(cut, body.markdown, body.max_tokens)
    return json_response({"chunks": [part.record() for part in chunks]})


# Links


class CheckBody(msgspec.Struct, forbid_unknown_fields=True):
    urls: Annotated[list[Text], msgspec.Meta(min_length=1, max_length=MOST_LINKS)]
    soft_404: bool = False


async def check(request: HttpRequest) -> Response:
    from spaniel.health.reports.json import result_object

    service, body = service_of(request), await typed_body(request, CheckBody)
    checking = service.client("web_fetch").check(body.urls, soft_404=body.soft_404)
    try:
        async with asyncio.timeout(CHECK_SECONDS), aclosing(checking) as found:
            results = [result_object(checked) async for checked in found]
    except TimeoutError:
        raise SpanielError(Code.TIMEOUT, timeout_ms=round(CHECK_SECONDS * 1000), phase="check") from None
    return json_response({"results": results})


async def registry_domains(request: HttpRequest) -> Response:
    return json_response({"domains": await asyncio.to_thread(_domains, service_of(request))})


def _domains(service: Service) -> list[dict[str, object]]:
    from spaniel.registry.database import open_registry

    folder = service.settings.registry_folder
    return [
        {"domain": file.home.host, "cnames": list(file.metadata.cnames), "records": len(file.records)}
        for file in open_registry(folder).files()
    ]


async def registry_records(request: HttpRequest) -> Response:
    domain = request.path_params["domain"]
    found = await asyncio.to_thread(_records, service_of(request), domain)
    if found is None:
        raise not_found(f"The link database has no domain '{shown(domain, 100)}'")
    return json_response({"records": found})


def _records(service: Service, domain: str) -> list[dict[str, object]] | None:
    from spaniel.registry.database import open_registry

    files = list(open_registry(service.settings.registry_folder).files(hosts=[domain]))
    return [record.as_dict() for file in files for record in file.records] if files else None


class RegistryBody(msgspec.Struct, forbid_unknown_fields=True):
    url: Text


async def registry_add(request: HttpRequest) -> Response:
    service, body = service_of(request), await typed_body(request, RegistryBody)
    if not service.own.writable:
        raise ApiError("forbidden", "The link database is read-only here", "Start the server with --writable.")

    def add() -> dict[str, object]:
        from spaniel.registry.database import open_registry

        with open_registry(service.settings.registry_folder).editing() as editor:
            added = editor.add(body.url)
        return {"record": added.record.as_dict(), "is_new": added.is_new}

    return json_response(await asyncio.to_thread(add), 201)


# The server itself


async def health(_: HttpRequest) -> Response:
    return json_response({"status": "ok"})


async def ready(request: HttpRequest) -> Response:
    if not service_of(request).is_ready:
        raise ApiError("busy", "The server is starting or stopping", headers={"retry-after": "1"})
    return json_response({"status": "ready"})


async def metrics(request: HttpRequest) -> Response:
    text = await asyncio.to_thread(service_of(request).metrics.text)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def capabilities(request: HttpRequest) -> Response:
    service = service_of(request)
    limits, own = caller_of(request).limits, service.own
    return json_response(
        {
            "version": __version__,
            "profiles": {
                name: {"content": list(service.client(name).profile.content), "default": name == own.profile}
                for name in own.profiles
            },
            "limits": {**limits._asdict(), "max_body_bytes": own.max_body_bytes},
            "browser": service.settings.uses_browser,
            "jobs": ["batch", "check"],
            "writable": own.writable,
            "apis": ["spaniel", "mcp", "firecrawl-v1", "firecrawl-v2", "jina-reader", "tavily-extract", "open-webui"],
        }
    )


def _with(schema: Mapping[str, Any], more: Mapping[str, object]) -> dict[str, object]:
    """An object's schema with further properties."""
    return {**schema, "properties": {**schema["properties"], **more}}


_FETCH_BODY = _with(
    WIDER_SCHEMA,
    {
        "profile": {"type": "string", "default": "web_fetch", "description": "One of /api/capabilities"},
        "format": {"type": "string", "enum": list(FORMATS), "default": "json"},
    },
)
_FETCH_OUT = _with(OUTPUT_SCHEMA, {"screenshot": {"type": "string", "description": "PNG in base64, if requested"}})
_MORE_BODY = _with(MORE_SCHEMA, {"profile": {"type": "string"}})
_ANY: dict[str, object] = {"type": "object"}
_URL = {"url": {"type": "string", "minLength": 1, "required": True}}

ENDPOINTS = [
    Endpoint(
        "POST", "/api/fetch", fetch, "Fetch a page as token-counted Markdown", body=_FETCH_BODY,
        answers={200: {"anyOf": [_FETCH_OUT, _ANY]}},
    ),
    Endpoint(
        "GET", "/api/fetch/stream", stream, "Fetch a page; each step as a server-sent event, then the result",
        query={
            **_URL, "profile": {"type": "string"}, "no_cache": {"type": "boolean"},
            "force_browser": {"type": "boolean"}, "max_chunk_tokens": {"type": "integer"},
        },
        content_type="text/event-stream",
    ),
    Endpoint(
        "POST", "/api/more", more, "Read on in a page that was fetched, or search it", body=_MORE_BODY,
        answers={200: MORE_OUTPUT_SCHEMA},
    ),
    Endpoint("POST", "/api/canonicalize", canonicalize, "The canonical form of a URL", body=CanonicalizeBody),
    Endpoint("POST", "/api/extract", extract, "Turn a page that you have into Markdown", body=ExtractBody),
    Endpoint("POST", "/api/chunk", chunk, "Cut Markdown into token-counted chunks", body=ChunkBody),
    Endpoint("GET", "/api/may-i", may_i, "Whether robots.txt allows a URL, and which line decides", query=_URL),
    Endpoint("POST", "/api/check", check, f"Check up to {MOST_LINKS:,} links; more are a job", body=CheckBody),
    Endpoint("GET", "/api/registry/domains", registry_domains, "The domains of the link database"),
    Endpoint("GET", "/api/registry/domains/{domain}", registry_records, "The records of a domain"),
    Endpoint(
        "POST", "/api/registry/records", registry_add, "Add a URL to the link database (with --writable)",
        body=RegistryBody, answers={201: _ANY},
    ),
    Endpoint("GET", "/api/capabilities", capabilities, "What this server offers and allows"),
    Endpoint("GET", "/healthz", health, "Whether the process runs", tag="Server"),
    Endpoint("GET", "/readyz", ready, "Whether it takes requests", tag="Server"),
    Endpoint("GET", "/metrics", metrics, "Counters for Prometheus", tag="Server", content_type="text/plain"),
]  # fmt: skip

"""Jobs over HTTP, under `/api/jobs`."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from starlette.responses import FileResponse, Response

from spaniel.api.endpoint import (
    Endpoint,
    event,
    event_stream,
    json_response,
    query_number,
    typed_body,
)
from spaniel.api.errors import ApiError, bad_argument
from spaniel.api.jobs import ENDED, LIST, RESULTS, jobs_of, write_list
from spaniel.api.service import caller_of, service_of
from spaniel.api.webhooks import Webhook, require_sendable
from spaniel.defaults import BATCH_DELAY_SECONDS, BATCH_PER_HOST
from spaniel.errors import install_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, MutableMapping

    from starlette.requests import Request as HttpRequest

    from spaniel.api.jobs import Job
    from spaniel.api.service import Service

JSONL = "application/x-ndjson"
LISTS = {  # what may be uploaded as it is, and its ending: `batch` reads all of them
    "text/plain": "list.txt", "text/csv": "list.csv", "application/x-ndjson": "list.jsonl",
    "application/xml": "list.xml", "text/xml": "list.xml",
}  # fmt: skip
UPLOAD_SECONDS = 600.0
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=8192)]


class JobBody(msgspec.Struct, forbid_unknown_fields=True):
    """A job to be started. A list of any size can be uploaded instead: see the description of the path."""

    urls: Annotated[list[Text], msgspec.Meta(min_length=1)]
    kind: Literal["batch", "check"] = "batch"
    profile: str = "ingest"
    delay: Annotated[float, msgspec.Meta(ge=0, le=3600)] = float(BATCH_DELAY_SECONDS.default)
    per_host: Annotated[int, msgspec.Meta(ge=1, le=64)] = BATCH_PER_HOST.default
    cached: bool = False
    soft_404: bool = False
    webhook: Webhook | None = None


def is_upload(scope: MutableMapping[str, Any]) -> bool:
    """Whether the body of a request is a list that is written to the disk as it comes."""
    if scope["method"] != "POST" or scope["path"] != "/api/jobs":
        return False
    kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    return kind.partition(b";")[0].strip().lower().decode("latin-1") in LISTS


async def start(request: HttpRequest) -> Response:
    service, caller = service_of(request), caller_of(request)
    jobs = jobs_of(request)
    await asyncio.to_thread(jobs.require_room, caller)
    uploaded = is_upload(request.scope)
    body = _from_query(request) if uploaded else await typed_body(request, JobBody)
    options = _options(service, body)
    if body.webhook is not None:
        require_sendable(service.engine, body.webhook)
    id_, folder = await asyncio.to_thread(jobs.new_folder)
    try:
        if uploaded:
            name = LISTS[request.headers["content-type"].partition(";")[0].strip().lower()]
            await _receive(request, os.path.join(folder, name))
            options["list"], total = name, 0
        else:
            options["list"], total = LIST, await asyncio.to_thread(write_list, folder, iter(body.urls))
        job = await asyncio.to_thread(jobs.add, id_, caller, body.kind, total, options, body.webhook)
    except BaseException:
        await asyncio.to_thread(jobs.drop_folder, id_)
        raise
    return json_response(job.as_dict(), 202, {"location": f"/api/jobs/{id_}"})


def _from_query(request: HttpRequest) -> JobBody:
    """The options of an uploaded list are in the query."""
    known = {name: value for name, value in request.query_params.items() if name != "urls"}
    try:
        return msgspec.convert({**known, "urls": ["-"]}, JobBody, strict=False)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise bad_argument(place.rstrip("`") or "query", reason) from None


def _options(service: Service, body: JobBody) -> dict[str, Any]:
    if body.kind == "check":
        return {"soft_404": body.soft_404}
    profile = service.client(body.profile).profile.name  # refused if callers may not use it
    return {"profile": profile, "delay": body.delay, "per_host": body.per_host, "cached": body.cached}


async def _receive(request: HttpRequest, path: str) -> None:
    """Write the body to a file as it comes."""
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            with open(path, "xb") as file:  # noqa: ASYNC230  opened once; it is written by a thread
                async for piece in request.stream():
                    await asyncio.to_thread(file.write, piece)
    except TimeoutError:
        raise ApiError("request_timeout") from None


async def list_jobs(request: HttpRequest) -> Response:
    found = await asyncio.to_thread(jobs_of(request).list, caller_of(request))
    return json_response({"jobs": [job.as_dict() for job in found]})


async def _job(request: HttpRequest) -> Job:
    return await asyncio.to_thread(jobs_of(request).job, caller_of(request), request.path_params["id"])


async def show(request: HttpRequest) -> Response:
    return json_response((await _job(request)).as_dict())


async def change(request: HttpRequest) -> Response:
    """`POST /api/jobs/{id}/pause`, `/resume`, `/cancel`."""
    wanted = {"pause": "pause", "resume": "run", "cancel": "cancel"}[request.url.path.rpartition("/")[2]]
    jobs = jobs_of(request)
    return json_response(
        (await asyncio.to_thread(jobs.want, caller_of(request), request.path_params["id"], wanted)).as_dict()
    )


async def remove(request: HttpRequest) -> Response:
    await asyncio.to_thread(jobs_of(request).remove, caller_of(request), request.path_params["id"])
    return Response(status_code=204)


async def results(request: HttpRequest) -> Response:
    """A page of results: JSON lines, or with `format=parquet` all of them once the job has ended."""
    jobs, job = jobs_of(request), await _job(request)
    form = request.query_params.get("format", "jsonl")
    if form == "parquet":
        return await _parquet(jobs.path(job, RESULTS), job)
    if form != "jsonl":
        raise bad_argument("format", "must be jsonl or parquet")
    offset = query_number(request, "offset", 0, 0, 1 << 60)
    page = await asyncio.to_thread(jobs.results, job, offset, query_number(request, "limit", 100, 1, 10_000))
    headers = {}
    if page.next is not None:
        headers["x-next-offset"] = str(page.next)
        headers["link"] = f'</api/jobs/{job.id}/results?offset={page.next}>; rel="next"'
    return Response(b"".join(page.lines), headers=headers, media_type=JSONL)


async def _parquet(lines: str, job: Job) -> Response:
    from importlib.util import find_spec

    if job.kind != "batch":
        raise bad_argument("format", "parquet is for batches")
    if job.state not in ENDED:
        raise bad_argument("format", f"the job is {job.state}; Parquet is written when it has ended")
    if find_spec("pyarrow") is None:
        raise ApiError("not_implemented", "pyarrow is not installed", f"Run: {install_command('parquet')}")
    path = f"{lines.removesuffix('.jsonl')}.parquet"
    await asyncio.to_thread(_write_parquet, lines, path)
    return FileResponse(path, media_type="application/vnd.apache.parquet", filename=f"{job.id}.parquet")


def _write_parquet(lines: str, path: str) -> None:
    from spaniel.batch.outputs.files import finish

    if not os.path.exists(path):
        finish([lines], path, again=True)


async def events(request: HttpRequest) -> Response:
    """The progress of a job as server-sent events, until it ends."""
    jobs, caller, job = jobs_of(request), caller_of(request), await _job(request)

    async def stream() -> AsyncIterator[bytes]:
        number = 0
        with suppress(ApiError):  # it was removed meanwhile
            async for name, value in jobs.events(caller, job.id):
                number += 1
                yield event(name, value, number)

    return event_stream(stream())


_JOB: dict[str, object] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "kind": {"type": "string", "enum": ["batch", "check"]},
        "state": {"type": "string", "enum": ["queued", "running", "paused", "finished", "failed", "cancelled"]},
        "total": {"type": "integer"},
        "progress": {"type": "object"},
        "created": {"type": "string"},
        "ended": {"type": ["string", "null"]},
        "error": {"type": ["string", "null"]},
    },
    "required": ["id", "kind", "state", "total", "progress"],
}
_PAGE = {"offset": {"type": "integer", "minimum": 0}, "limit": {"type": "integer", "minimum": 1, "maximum": 10_000}}
ENDPOINTS = [
    Endpoint(
        "POST", "/api/jobs", start,
        "Start a batch or a check; a list can also be uploaded as text, CSV, JSON lines or a sitemap",
        body=JobBody, answers={202: _JOB},
    ),
    Endpoint("GET", "/api/jobs", list_jobs, "Your jobs"),
    Endpoint("GET", "/api/jobs/{id}", show, "A job and its progress", answers={200: _JOB}),
    Endpoint("DELETE", "/api/jobs/{id}", remove, "Cancel a job, or remove one that has ended", answers={204: {}}),
    Endpoint("POST", "/api/jobs/{id}/pause", change, "Pause a job at its next checkpoint", answers={200: _JOB}),
    Endpoint("POST", "/api/jobs/{id}/resume", change, "Resume a paused job", answers={200: _JOB}),
    Endpoint("POST", "/api/jobs/{id}/cancel", change, "Cancel a job", answers={200: _JOB}),
    Endpoint(
        "GET", "/api/jobs/{id}/results", results, "Results so far, page by page",
        query={**_PAGE, "format": {"type": "string", "enum": ["jsonl", "parquet"]}}, content_type=JSONL,
    ),
    Endpoint(
        "GET", "/api/jobs/{id}/events", events, "Progress as server-sent events", content_type="text/event-stream"
    ),
]  # fmt: skip

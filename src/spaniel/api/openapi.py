"""`/openapi.json`, made from the endpoints and their types, and a page that lists it."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spaniel import __version__
from spaniel.api.endpoint import json_response
from spaniel.api.errors import SERVICE_CODES
from spaniel.errors import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request as HttpRequest

    from spaniel.api.endpoint import Endpoint

_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string", "enum": sorted([*map(str, TABLE), *SERVICE_CODES])},
                "message": {"type": "string"},
                "retryable": {"type": "boolean"},
                "hint": {"type": "string"},
                "details": {"type": "object"},
            },
            "required": ["code", "message", "retryable", "hint"],
        }
    },
    "required": ["error"],
}
_FIRECRAWL_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "success": {"const": False},
        "error": {"type": "string"},
        "code": _ERROR["properties"]["error"]["properties"]["code"],
        "details": {"type": ["object", "null"]},
    },
    "required": ["success", "error", "code"],
}
STATUSES = sorted({row.status for row in TABLE.values()} | {status for status, _ in SERVICE_CODES.values()})


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    components: dict[str, Any] = {"Error": _ERROR, "FirecrawlError": _FIRECRAWL_ERROR}
    for endpoint in endpoints:
        path = re.sub(r":\w+\}", "}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Spaniel",
            "version": __version__,
            "description": "Fetches the web for programs that read it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint, components: dict[str, Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)", endpoint.path)
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    for name, schema in (endpoint.query or {}).items():
        own = {key: value for key, value in schema.items() if key != "required"}
        parameters.append({"name": name, "in": "query", "required": bool(schema.get("required")), "schema": own})
    answers = endpoint.answers or {200: {} if endpoint.content_type != "application/json" else {"type": "object"}}
    responses: dict[str, Any] = {
        str(status): {"description": "Success", "content": {endpoint.content_type: {"schema": schema}}}
        for status, schema in answers.items()
    }
    name = "FirecrawlError" if endpoint.tag == "Firecrawl" else "Error"
    error = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    for status in STATUSES:
        responses[str(status)] = {"description": "An error", "content": {"application/json": error}}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', endpoint.path.lower()).strip('_')}",
        "tags": [endpoint.tag],
        "responses": responses,
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        content = {"application/json": {"schema": _schema(endpoint.body, components)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _schema(body: Any, components: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(body, type):
        return dict(body)
    (schema,), found = msgspec.json.schema_components([body], ref_template="#/components/schemas/{name}")
    components.update(found)
    return schema


async def openapi(request: HttpRequest) -> Response:
    return json_response(document(request.app.state.endpoints))


async def reference(request: HttpRequest) -> Response:
    """The endpoints as a page without scripts."""
    rows = "".join(
        f"<tr><td><code>{each.method}</code></td><td><code>{escape(each.path)}</code></td>"
        f"<td>{escape(each.summary)}</td></tr>"
        for each in request.app.state.endpoints
    )
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Spaniel: HTTP API</title>"
        "<meta name=viewport content='width=device-width'><h1>Spaniel: HTTP API</h1>"
        "<p>The full description, with schemas: <a href=/openapi.json>/openapi.json</a></p>"
        f"<table><tr><th>Method<th>Path<th>What it does</tr>{rows}</table></html>"
    )
    return Response(page, media_type="text/html; charset=utf-8")

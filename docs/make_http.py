"""The page of the service's paths, made from the endpoints that it serves."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from spaniel.api.app import ENDPOINTS
from spaniel.api.endpoint import Endpoint  # noqa: TC001
from spaniel.api.errors import SERVICE_CODES
from spaniel.api.openapi import document

ABOUT = {
    "Spaniel": 'Bodies and answers are JSON. An error is `{"error": {"code", "message", "retryable", "hint"}}`.',
    "Server": "For people, probes and monitoring. `/healthz` and `/readyz` need no token.",
    "Firecrawl": "[What is supported](../howto/drop-in.md#firecrawl). Both versions have the same paths.",
    "Tavily": "[What is supported](../howto/drop-in.md#tavily-and-open-webui).",
    "Open WebUI": "The form of its external web loader.",
}
MORE = [
    ("GET", "/https://…", "A page as Jina Reader returns it", "Jina Reader"),
    ("POST", "/", 'The same, with `{"url": …}`', "Jina Reader"),
    ("POST", "/mcp", "MCP, streamable HTTP: the tools of `spaniel mcp`", "MCP"),
]


def http_page() -> str:
    lines = [
        "# HTTP API",
        "",
        "<!-- Made from src/spaniel/api by `make docs`. -->",
        "",
        "The paths of [`spaniel serve`](../howto/service.md). `/openapi.json` describes them with schemas.",
        "",
    ]
    paths = document(ENDPOINTS)["paths"]
    for tag, found in groupby(sorted(ENDPOINTS, key=lambda each: list(ABOUT).index(each.tag)), lambda each: each.tag):
        lines += [f"## {tag}", "", ABOUT[tag], "", "| path | what it does | takes |", "|---|---|---|"]
        lines += [_row(each, paths) for each in found if not each.path.startswith("/v1/")]
        lines.append("")
    lines += ["## Jina Reader and MCP", "", "| path | what it does |", "|---|---|"]
    lines += [f"| `{method} {path}` | {what} |" for method, path, what, _ in MORE]
    lines += ["", "## Errors", "", "Beside the [codes of a fetch](errors.md), the service has its own:", ""]
    lines += ["| code | HTTP | meaning |", "|---|---|---|"]
    lines += [f"| `{code}` | {status} | {meaning} |" for code, (status, meaning) in SERVICE_CODES.items()]
    return "\n".join(lines) + "\n"


def _row(endpoint: Endpoint, paths: dict[str, Any]) -> str:
    operation = paths[endpoint.path][endpoint.method.lower()]
    named = [f"`{parameter['name']}`" for parameter in operation.get("parameters", []) if parameter["in"] == "query"]
    if endpoint.body is not None:
        body = operation["requestBody"]["content"]["application/json"]["schema"]
        named += [f"`{name}`" for name in _properties(body)]
    path = endpoint.path.replace("/v2/", "/v2|v1/") if endpoint.path.startswith("/v2/") else endpoint.path
    shown = path.replace("|", "\\|")
    return f"| `{endpoint.method} {shown}` | {endpoint.summary} | {', '.join(named)} |"


def _properties(schema: dict[str, Any]) -> list[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = document(ENDPOINTS)["components"]["schemas"][name]
    return list(schema.get("properties", {}))


PAGES = {"reference/http.md": http_page}

"""Fills parts of hand-written pages from the code: what stands between `<!-- part: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaniel.pipeline.request import RENDERING, SCHEMA
from spaniel.tool.web_fetch import OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import OUTPUT_SCHEMA as MORE_OUTPUT_SCHEMA
from spaniel.tool.web_fetch_more import SCHEMA as MORE_SCHEMA
from spaniel.verdicts import MEANINGS, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
PART = re.compile(r"(<!-- part: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
KINDS = {"integer": "number", "boolean": "true or false", "string": "text"}


def _arguments(properties: dict[str, Any], required: list[str] | None = None) -> str:
    rows = ["| argument | type | what it does |", "|---|---|---|"]
    for name, what in properties.items():
        kind = KINDS[what["type"]]
        if "maximum" in what:
            kind += f", {what['minimum']} to {what['maximum']}"
        need = " (required)" if name in (required or ()) else ""
        rows.append(f"| `{name}` | {kind} | {what['description']}{need} |")
    return "\n".join(rows)


def _tool(schema: dict[str, Any]) -> str:
    return _arguments(schema["properties"], schema["required"])


def answers() -> str:
    """The fields of both tools' answers."""
    rows = ["| field | tool | meaning |", "|---|---|---|"]
    both: dict[str, Any] = {**OUTPUT_SCHEMA["properties"], **MORE_OUTPUT_SCHEMA["properties"]}  # type: ignore[dict-item]
    of_first: Any = OUTPUT_SCHEMA["properties"]
    for name, what in both.items():
        tool = "both" if name in of_first else "`web_fetch_more`"
        rows.append(f"| `{name}` | {tool} | {_meaning(name, what)} |")
        inner = what.get("items", what).get("properties", {})
        for each, of in inner.items():
            by = "`web_fetch_more`" if each == "number" else tool
            rows.append(f"| `{name}.{each}` | {by} | {_meaning(each, of)} |")
    number: Any = MORE_OUTPUT_SCHEMA["properties"]["chunks"]["items"]["properties"]["number"]  # type: ignore[index]
    assert number["description"] in "\n".join(rows)  # noqa: S101
    return "\n".join(rows)


PLAIN = {  # fields whose schema has no description, because a model needs none
    "requested_url": "The URL of the call",
    "fetched_at": "When the page was fetched (UTC)",
    "title": "The page's `<title>`",
    "chunks": "The text, cut into chunks",
    "next_chunk": "The first chunk that was not given whole",
    "total_chunks": "Chunks in the whole page",
    "token_count": "Its tokens (cl100k_base)",
    "rendering_method": "`http` or `browser`",
    "truncation_reason": "Why the end was left out",
}


def _meaning(name: str, what: dict[str, Any]) -> str:
    return str(what.get("description") or PLAIN[name])


def verdicts() -> str:
    rows = [f"| `{verdict}` | {MEANINGS[verdict]} |" for verdict in Verdict]
    return "\n".join(["| verdict | means |", "|---|---|", *rows])


def threats() -> str:
    """The table of SECURITY.md, without the names of tests."""
    text = (HERE.parent / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    return "\n".join(["| threat | protection |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows if a != "threat")])


PARTS: dict[str, Callable[[], str]] = {
    "web_fetch": lambda: _tool(SCHEMA),
    "web_fetch_profiles": lambda: _arguments(RENDERING),  # type: ignore[arg-type]
    "web_fetch_more": lambda: _tool(MORE_SCHEMA),
    "answers": answers,
    "verdicts": verdicts,
    "threats": threats,
    "modules": runpy.run_path(str(HERE / "make_commands.py"))["modules"],
}


def filled(text: str) -> str:
    """A page with its parts as the code has them today."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[4]}", text)


PAGES = ("reference/mcp.md", "reference/python.md", "explanation/security.md", "explanation/verdicts.md")

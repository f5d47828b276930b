"""A tool's definition in the formats of the common model APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.tool.framework import ToolExecutor

# The JSON Schema keywords that every API accepts: Gemini rejects `additionalProperties`, strict OpenAI `default`.
PLAIN = ("type", "description", "enum", "format", "items", "properties", "required", "minimum", "maximum")


def for_openai(tool: ToolExecutor, *, strict: bool = False) -> dict[str, object]:
    """An entry of `tools` in an OpenAI-style chat request; `strict` makes the model follow the schema."""
    function: dict[str, object] = {"name": tool.name, "description": tool.description}
    if strict:
        function |= {"strict": True, "parameters": all_required(tool.schema)}
    else:
        function["parameters"] = dict(tool.schema)
    return {"type": "function", "function": function}


def for_anthropic(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `tools` in an Anthropic-style messages request."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}


def for_gemini(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `function_declarations` in a Gemini-style request."""
    return {"name": tool.name, "description": tool.description, "parameters": plain(tool.schema)}


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with only the keywords of `PLAIN`; the tool itself checks what is left out."""
    kept = {word: schema[word] for word in PLAIN if word in schema}
    if "properties" in kept:
        kept["properties"] = {name: plain(part) for name, part in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = plain(kept["items"])
    return kept


def all_required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema for strict mode: every property is required, and an optional one may be null."""
    needed = schema["required"]
    properties = {
        name: plain(part) if name in needed else {**plain(part), "type": [part["type"], "null"]}
        for name, part in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

"""A tool's definition as the two common families of model interfaces want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spaniel.tool.framework import ToolExecutor


def for_openai(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `tools` in an OpenAI-style chat request."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)}
    return {"type": "function", "function": function}


def for_anthropic(tool: ToolExecutor) -> dict[str, object]:
    """An entry of `tools` in an Anthropic-style messages request."""
    return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}

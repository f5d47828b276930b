"""The tools that a model calls, `web_fetch` and `web_fetch_more`, and the small framework around them (D2-10)."""

from spaniel.tool.framework import ToolCtx, ToolError, ToolExecutor
from spaniel.tool.registry import ToolRegistry, for_anthropic, for_gemini, for_openai, registry_for
from spaniel.tool.web_fetch import WebFetchTool
from spaniel.tool.web_fetch_more import WebFetchMoreTool

__all__ = [
    "ToolCtx",
    "ToolError",
    "ToolExecutor",
    "ToolRegistry",
    "WebFetchMoreTool",
    "WebFetchTool",
    "for_anthropic",
    "for_gemini",
    "for_openai",
    "registry_for",
]

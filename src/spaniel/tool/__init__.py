"""The tool that a model calls: `web_fetch`, and the small framework around it (D2-10)."""

from spaniel.tool.framework import ToolCtx, ToolError, ToolExecutor, ToolRegistry
from spaniel.tool.render import for_anthropic, for_openai
from spaniel.tool.web_fetch import WebFetchTool, registry_for

__all__ = [
    "ToolCtx",
    "ToolError",
    "ToolExecutor",
    "ToolRegistry",
    "WebFetchTool",
    "for_anthropic",
    "for_openai",
    "registry_for",
]

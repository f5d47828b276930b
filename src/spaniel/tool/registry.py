"""Where tools are looked up by their names, under one `tools.mode`; and the registry that settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spaniel.errors import Code, SpanielError
from spaniel.tool.admission import record_refusal, switched_off
from spaniel.tool.framework import ToolError, not_in_mode
from spaniel.tool.recent import RecentPages
from spaniel.tool.web_fetch import WebFetchTool
from spaniel.tool.web_fetch_more import WebFetchMoreTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spaniel.app.groups import Mode
    from spaniel.app.settings import Settings
    from spaniel.browser.rendering import RenderOptions
    from spaniel.pipeline.profile import Profile
    from spaniel.tool.framework import Client, ToolCtx, ToolExecutor

TOOLS = (WebFetchTool, WebFetchMoreTool)


class ToolRegistry:
    """Tools by their names, letter for letter (FR-WF-01)."""

    def __init__(self, mode: Mode = "enabled", absent: Mapping[str, SpanielError] | None = None) -> None:
        self.mode = mode
        self._tools: dict[str, ToolExecutor] = {}
        self._absent = absent or {}  # what is not there, and what a call of it is told

    def register(self, tool: ToolExecutor) -> None:
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already: a name belongs to one tool")
        self._tools[tool.name] = tool

    def get(self, name: str) -> ToolExecutor | None:
        return self._tools.get(name)

    def advertised(self) -> list[ToolExecutor]:
        """What a model is told of: everything, unless tools are disabled."""
        return [] if self.mode == "disabled" else list(self._tools.values())

    async def execute(self, name: str, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """Run a tool; raises nothing but `ToolError`."""
        tool = self.get(name)
        if self.mode != "enabled" or tool is None:
            error = not_in_mode(self.mode) if self.mode != "enabled" else self._missing(name)
            record_refusal(args, error)
            raise ToolError(name, error)
        return await tool.execute(args, ctx)

    def _missing(self, name: str) -> SpanielError:
        there = ", ".join(self._tools) or "none"
        unknown = SpanielError(Code.BAD_ARGS, field="name", reason=f"no such tool; there is: {there}")
        return self._absent.get(name, unknown)


def registry_for(client: Client, settings: Settings) -> ToolRegistry:
    """The registry that settings ask for (FR-WF-CFG-PREC-01 to 03): tools that are off are not in it."""
    concerned = settings.tool
    if concerned.mode == "disabled" or not concerned.enabled:
        return ToolRegistry(concerned.mode, {tool.name: switched_off() for tool in TOOLS})
    registry, recent = ToolRegistry(concerned.mode), RecentPages()
    registry.register(WebFetchTool(client, concerned, recent, display=_display(client, settings)))
    registry.register(WebFetchMoreTool(client, concerned, recent))
    return registry


def _display(client: Client, settings: Settings) -> RenderOptions | None:
    """What pages are rendered with by another profile than the SRD's: then a call may change it (D2-38)."""
    try:
        profile: Profile | None = getattr(client, "profile", None)
    except RuntimeError:  # it is not open yet, so that nobody knows
        return None
    return None if profile is None or profile.is_srd else settings.browser.display

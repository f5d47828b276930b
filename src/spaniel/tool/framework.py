"""What a tool is, what it is called with, how it fails, and where it is looked up by its one name (D2-10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.app.groups import Mode
    from spaniel.pipeline.trace import TraceStep

OUTPUT_BYTES = 65_536  # some 16,000 tokens of English


@dataclass
class ToolCtx:
    """What a host gives with a call: how much it takes, whom to ask, whom to tell.

    `approve` gets the approval summary and says yes or no; `progress` is told of each step as it ends.
    """

    max_output_bytes: int = OUTPUT_BYTES
    available_capacity_bytes: int = OUTPUT_BYTES
    allow_truncation: bool = True  # a tool that keeps to the budget by itself says no here (FR-WF-03a)
    approve: Callable[[str], bool | Awaitable[bool]] | None = None
    progress: Callable[[TraceStep], None] | None = None

    @property
    def effective_max_bytes(self) -> int:
        return min(self.max_output_bytes, self.available_capacity_bytes)


class ToolError(Exception):
    """The one way in which a tool fails: its message is the SRD's JSON (FR-WF-18)."""

    def __init__(self, tool: str, error: SpanielError) -> None:
        self.tool = tool
        self.error = error
        self.message = error.as_json()
        super().__init__(self.message)

    @property
    def code(self) -> Code:
        return self.error.code

    @property
    def retryable(self) -> bool:
        return self.error.retryable

    def __reduce__(self) -> tuple[object, ...]:
        return ToolError, (self.tool, self.error)


class ToolExecutor(Protocol):
    """A tool that a model can call by name, with arguments that its schema describes."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, object]: ...

    def is_side_effecting(self) -> bool: ...

    def requires_approval(self) -> bool: ...

    def approval_summary(self, args: Mapping[str, object]) -> str: ...

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str: ...


class ToolRegistry:
    """Tools by their names, letter for letter (FR-WF-01), under one `tools.mode`."""

    def __init__(self, mode: Mode = "enabled") -> None:
        self.mode = mode
        self._tools: dict[str, ToolExecutor] = {}

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
        if self.mode != "enabled":
            raise ToolError(name, not_in_mode(self.mode))
        tool = self.get(name)
        if tool is None:
            there = ", ".join(self._tools) or "none"
            raise ToolError(name, SpanielError(Code.BAD_ARGS, field="name", reason=f"no such tool; there is: {there}"))
        return await tool.execute(args, ctx)


def not_in_mode(mode: Mode) -> SpanielError:
    """Nothing runs but in mode `enabled` (FR-WF-CFG-PREC-01, 03)."""
    return SpanielError(Code.BAD_ARGS, field="tools.mode", reason=f"is '{mode}': no tool is run")

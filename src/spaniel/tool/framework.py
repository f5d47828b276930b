"""The types of the tool framework: context, error, client, result and executor (D2-10)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import OUTPUT_BYTES
from spaniel.errors import Code, SpanielError
from spaniel.tool.recent import RecentPages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.app.settings import Mode
    from spaniel.browser.rendering import RenderOptions
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request, Trace, TraceStep


@dataclass
class ToolCtx:
    """What a host passes with a call: its output budget, and callbacks for approval and progress.

    `approve` gets the approval summary and returns whether the call may run; `progress` gets each step as it ends.
    """

    max_output_bytes: int = OUTPUT_BYTES.default
    available_capacity_bytes: int = OUTPUT_BYTES.default
    allow_truncation: bool = True  # set to False by a tool that fits the budget itself (FR-WF-03a)
    approve: Callable[[str], bool | Awaitable[bool]] | None = None
    progress: Callable[[TraceStep], None] | None = None

    @property
    def effective_max_bytes(self) -> int:
        return min(self.max_output_bytes, self.available_capacity_bytes)


class ToolError(Exception):
    """The only exception a tool raises: its message is the SRD's JSON (FR-WF-18) with a hint (D2-32)."""

    def __init__(self, tool: str, error: SpanielError) -> None:
        self.tool = tool
        self.error = error
        fields = {**error.as_dict(), "message": error.model_message, "hint": error.model_hint}
        self.message = json.dumps(fields, ensure_ascii=False)
        super().__init__(self.message)

    @property
    def code(self) -> Code:
        return self.error.code

    @property
    def retryable(self) -> bool:
        return self.error.retryable

    def __reduce__(self) -> tuple[object, ...]:
        return ToolError, (self.tool, self.error)


class Client(Protocol):
    """What the tools fetch with: an open `Spaniel`, or the MCP server's `LazyClient`."""

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer: ...

    async def require_form(self, request: Request, trace: Trace | None = None) -> None: ...

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None: ...


class PageResult(NamedTuple):
    """The page a result was cut from: its request, the whole answer, and which part was asked for."""

    request: Request
    answer: Answer
    from_chunk: int = 1
    find: str = ""


class ToolResult(NamedTuple):
    """What a call returns: `fields` match the tool's output schema and fit the caller's budget."""

    fields: dict[str, object]
    page: PageResult | None = None  # None: the tool does not return part of a page


@dataclass
class ToolSession:
    """What the tools of one host share.

    `display` is set for profiles other than the SRD's: the default rendering options, which a call may then override
    (D2-38). `max_screenshot_height` is in pixels; 0 means no limit.
    """

    recent: RecentPages = field(default_factory=RecentPages)
    display: RenderOptions | None = None
    max_screenshot_height: int = 0


class ToolExecutor(Protocol):
    """A tool that a model can call by name, with arguments that its schema describes."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, object]: ...

    @property
    def output_schema(self) -> Mapping[str, object]: ...

    def is_side_effecting(self) -> bool: ...

    def requires_approval(self) -> bool: ...

    def approval_summary(self, args: Mapping[str, object]) -> str: ...

    async def call(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult: ...

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """The fields of `call` as JSON."""


def not_in_mode(mode: Mode) -> SpanielError:
    """Tools run only in mode `enabled` (FR-WF-CFG-PREC-01, 03)."""
    return SpanielError(Code.BAD_ARGS, field="tools.mode", reason=f"is '{mode}': no tool is run")

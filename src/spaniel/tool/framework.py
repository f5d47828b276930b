"""What a tool is, what it is called with, what it fetches with, and how it fails (D2-10)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spaniel.defaults import OUTPUT_BYTES
from spaniel.errors import Code, SpanielError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from spaniel.app.groups import Mode
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request
    from spaniel.pipeline.trace import Trace, TraceStep


@dataclass
class ToolCtx:
    """What a host gives with a call: how much it takes, whom to ask, whom to tell.

    `approve` gets the approval summary and says yes or no; `progress` is told of each step as it ends.
    """

    max_output_bytes: int = OUTPUT_BYTES.default
    available_capacity_bytes: int = OUTPUT_BYTES.default
    allow_truncation: bool = True  # a tool that keeps to the budget by itself says no here (FR-WF-03a)
    approve: Callable[[str], bool | Awaitable[bool]] | None = None
    progress: Callable[[TraceStep], None] | None = None

    @property
    def effective_max_bytes(self) -> int:
        return min(self.max_output_bytes, self.available_capacity_bytes)


class ToolError(Exception):
    """The one way in which a tool fails: its message is the SRD's JSON (FR-WF-18) and what to do about it (D2-32)."""

    def __init__(self, tool: str, error: SpanielError) -> None:
        self.tool = tool
        self.error = error
        self.message = json.dumps({**error.as_dict(), "hint": error.model_hint}, ensure_ascii=False)
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
    """What the tools fetch with: an open `Spaniel`."""

    async def answer(self, request: Request, trace: Trace | None = None) -> Answer: ...

    async def require_form(self, request: Request, trace: Trace | None = None) -> None: ...

    async def stored(self, request: Request, trace: Trace | None = None) -> Answer | None: ...


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


def not_in_mode(mode: Mode) -> SpanielError:
    """Nothing runs but in mode `enabled` (FR-WF-CFG-PREC-01, 03)."""
    return SpanielError(Code.BAD_ARGS, field="tools.mode", reason=f"is '{mode}': no tool is run")

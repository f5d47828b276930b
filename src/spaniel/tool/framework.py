"""The tool framework: context, result, error and session, whether a call may run, and what page tools share (D2-10).

Each refused call is logged: its mode, its switch, the user's approval.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spaniel.defaults import OUTPUT_BYTES
from spaniel.errors import APPROVAL, Code, SpanielError, shown
from spaniel.pipeline.outcome import Outcome, write_log_line
from spaniel.url.parsing import parse, requested

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from spaniel.app.settings import Mode, ToolSettings
    from spaniel.browser.rendering import RenderOptions
    from spaniel.pipeline.answer import Answer
    from spaniel.pipeline.request import Request, Trace, TraceStep

log = logging.getLogger("spaniel.tool")
MAX_URLS = 1_000  # some 500 pages: more than a session of a model reads
MAX_RENDERED = 4  # answers that the cache does not store, each up to a few MB


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


class RecentPages:
    """Finds a page by its requested or its final URL; the cache only knows the requested one."""

    def __init__(self) -> None:
        self._requests: OrderedDict[str, Request] = OrderedDict()
        self._rendered: OrderedDict[Request, Answer] = OrderedDict()

    def remember(self, request: Request, answer: Answer) -> None:
        """Later calls read the same copy: rendered or not, with chunks of the same size."""
        rendered = request.force_browser or request.picture or request.display is not None
        request = request._replace(no_cache=False, force_browser=rendered, picture=False, picture_height=0)
        for url in (request.url, answer.final_url):
            key = _key(url)
            self._requests[key] = request
            self._requests.move_to_end(key)
        while len(self._requests) > MAX_URLS:
            self._requests.popitem(last=False)
        if request.display is not None:
            self._rendered[request] = answer._replace(picture=None)
            self._rendered.move_to_end(request)
            while len(self._rendered) > MAX_RENDERED:
                self._rendered.popitem(last=False)

    def request_for(self, url: str) -> Request | None:
        """The last request that fetched this page."""
        return self._requests.get(_key(url))

    def rendered(self, request: Request) -> Answer | None:
        """The answer of a call with rendering options of its own, which the cache does not store."""
        return self._rendered.get(request)


def _key(url: str) -> str:
    try:
        return parse(url)._replace(fragment=None).href
    except SpanielError:
        return url


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


@contextmanager
def refusals_recorded(args: object) -> Iterator[None]:
    """Log what is refused before a fetch starts; a fetch logs its own refusals (FR-WF-19c)."""
    try:
        yield
    except SpanielError as error:
        record_refusal(args, error)
        raise


def record_refusal(args: object, error: SpanielError) -> None:
    url = args.get("url") if isinstance(args, Mapping) else None
    write_log_line(Outcome(requested(url) if isinstance(url, str) else "", refusal=error), 0)


def not_in_mode(mode: Mode) -> SpanielError:
    """Tools run only in mode `enabled` (FR-WF-CFG-PREC-01, 03)."""
    return SpanielError(Code.BAD_ARGS, field="tools.mode", reason=f"is '{mode}': no tool is run")


def switched_off() -> SpanielError:
    reason = "is false: the tool is switched off"
    return SpanielError(Code.BAD_ARGS, field="tools.webfetch.enabled", reason=reason)


def as_mapping(args: object) -> Mapping[str, object]:
    """A model may send anything for arguments."""
    if not isinstance(args, Mapping):
        raise SpanielError(Code.BAD_ARGS, field="arguments", reason="must be an object")
    return args


class PageTool(ABC):
    """What the tools that return a page share: a call fits the budget, and raises only `ToolError`."""

    name: str

    def __init__(self, client: Client, settings: ToolSettings, session: ToolSession | None = None) -> None:
        self._client = client
        self._settings = settings
        self._session = session or ToolSession()

    @abstractmethod
    def _request(self, args: Mapping[str, object]) -> Request:
        """The request that a call would make."""

    @abstractmethod
    async def _run(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult: ...

    def is_side_effecting(self) -> bool:
        return True  # it sends requests

    def requires_approval(self) -> bool:
        """Whether the user may be asked; a cached page needs no approval."""
        return not self._settings.allow_auto_execution

    def approval_summary(self, args: Mapping[str, object]) -> str:
        """The approval question: scheme, host, path and rendering method; never the query (NFR-WF-OP-03)."""
        try:
            return self._summary(self._request(as_mapping(args)))
        except SpanielError as error:
            raise ToolError(self.name, error) from error

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """The answer as JSON, within the budget (FR-WF-03)."""
        from spaniel.chunking import serialize

        return serialize((await self.call(args, ctx)).fields)

    async def call(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        """What `execute` does, for hosts that need more than its text."""
        ctx.allow_truncation = False  # a cut by the host would break the JSON
        try:
            return await self._run(args, ctx)
        except SpanielError as error:
            raise ToolError(self.name, error) from error
        except Exception as error:  # a bug, or the host's callback: the caller's loop must survive (NFR-WF-REL-02)
            log.exception("%s failed", self.name)
            internal = SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}")
            record_refusal(args, internal)
            raise ToolError(self.name, internal) from error

    def _summary(self, request: Request) -> str:
        url = parse(request.url)
        rendered = request.force_browser or request.picture or request.display is not None
        method = "browser" if rendered or url.host in self._settings.js_heavy else "http"
        return f"{self.name} {shown(url.redacted)} ({method})"

    def _require_on(self) -> None:
        if self._settings.mode != "enabled":
            raise not_in_mode(self._settings.mode)
        if not self._settings.enabled:
            raise switched_off()

    async def _require_approval(self, request: Request, ctx: ToolCtx) -> None:
        if self._settings.allow_auto_execution:
            return
        if ctx.approve is None:
            reason = "is required, but this host cannot ask the user"
            raise SpanielError(Code.BAD_ARGS, field=APPROVAL, reason=reason)
        asked = self._summary(request)
        verdict = ctx.approve(asked)
        if (await verdict if isawaitable(verdict) else verdict) is not True:
            raise SpanielError(Code.BAD_ARGS, field=APPROVAL, reason=f"denied by the user: {asked}")

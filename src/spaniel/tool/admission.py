"""Whether a call may run: the tool's mode, its switch, the user's approval. Each refusal is logged."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import contextmanager
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeVar

from spaniel.errors import APPROVAL, Code, SpanielError, shown
from spaniel.pipeline.outcome import Outcome, write_log_line
from spaniel.tool.framework import ToolCtx, ToolError, not_in_mode
from spaniel.url.parsing import parse, requested

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from spaniel.app.settings import ToolSettings
    from spaniel.pipeline.request import Request

log = logging.getLogger("spaniel.tool")
T = TypeVar("T")


async def run(name: str, args: object, work: Awaitable[T]) -> T:
    """Await the work; every exception becomes a `ToolError`."""
    try:
        return await work
    except SpanielError as error:
        raise ToolError(name, error) from error
    except Exception as error:  # a bug, or the host's callback: the caller's loop must survive (NFR-WF-REL-02)
        log.exception("%s failed", name)
        internal = SpanielError(Code.INTERNAL, error=f"{type(error).__name__}: {error}")
        record_refusal(args, internal)
        raise ToolError(name, internal) from error


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


def require_on(settings: ToolSettings) -> None:
    if settings.mode != "enabled":
        raise not_in_mode(settings.mode)
    if not settings.enabled:
        raise switched_off()


def switched_off() -> SpanielError:
    reason = "is false: the tool is switched off"
    return SpanielError(Code.BAD_ARGS, field="tools.webfetch.enabled", reason=reason)


def as_mapping(args: object) -> Mapping[str, object]:
    """A model may send anything for arguments."""
    if not isinstance(args, Mapping):
        raise SpanielError(Code.BAD_ARGS, field="arguments", reason="must be an object")
    return args


def summary(tool: str, request: Request, settings: ToolSettings) -> str:
    """The approval question: scheme, host, path and rendering method; never the query (NFR-WF-OP-03)."""
    url = parse(request.url)
    rendered = request.force_browser or request.picture or request.display is not None
    method = "browser" if rendered or url.host in settings.js_heavy else "http"
    return f"{tool} {shown(url.redacted)} ({method})"


async def require_approval(asked: str, settings: ToolSettings, ctx: ToolCtx) -> None:
    if settings.allow_auto_execution:
        return
    if ctx.approve is None:
        reason = "is required, but this host cannot ask the user"
        raise SpanielError(Code.BAD_ARGS, field=APPROVAL, reason=reason)
    verdict = ctx.approve(asked)
    if (await verdict if isawaitable(verdict) else verdict) is not True:
        raise SpanielError(Code.BAD_ARGS, field=APPROVAL, reason=f"denied by the user: {asked}")

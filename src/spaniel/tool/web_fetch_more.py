"""`web_fetch_more`: reads further chunks of a fetched page, or searches it, from the cache (D2-29)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request, Trace, bad, checked, require_known, text, whole_number
from spaniel.tool.admission import as_mapping, refusals_recorded, require_approval, require_on, run, summary
from spaniel.tool.framework import Client, PageResult, ToolCtx, ToolError, ToolResult, ToolSession
from spaniel.tool.schemas import MORE_OUTPUT_SCHEMA, MORE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spaniel.app.settings import ToolSettings
    from spaniel.chunking import Chunk
    from spaniel.pipeline.answer import Answer

NAME = "web_fetch_more"
DESCRIPTION = (
    "Read more of a page that web_fetch returned, from the cached copy, without fetching it again. "
    "Pass its url and, as from_chunk, the next_chunk of the previous answer; an answer without 'more' is the last. "
    "Or pass find: the chunks of the whole page with these words, best first, each with its number. "
    "A page that is no longer cached is fetched again, with the note 'fetched_again': its chunks may have changed. "
    "A page that was never fetched is refused: call web_fetch first."
)
FETCHED_AGAIN = "fetched_again"
MAX_FOUND = 10  # chunks: further matches rarely help a model, and fill its context


class MoreRequest(NamedTuple):
    """The checked arguments of a call."""

    url: str
    from_chunk: int = 1
    from_offset: int = 0
    find: str = ""
    max_chunk_tokens: int | None = None  # None: the size of the last call for this page


class WebFetchMoreTool:
    """A `ToolExecutor` that shares its session with `WebFetchTool`."""

    name = NAME
    title = "Read on in a fetched web page"
    description = DESCRIPTION
    schema = MORE_SCHEMA
    output_schema = MORE_OUTPUT_SCHEMA

    def __init__(self, client: Client, settings: ToolSettings, session: ToolSession | None = None) -> None:
        self._client = client
        self._settings = settings
        self._recent = (session or ToolSession()).recent

    def is_side_effecting(self) -> bool:
        return True  # a page that is no longer cached is fetched again

    def requires_approval(self) -> bool:
        """Whether the user may be asked; a cached page needs no approval."""
        return not self._settings.allow_auto_execution

    def approval_summary(self, args: Mapping[str, object]) -> str:
        """The approval question, if the page has to be fetched again."""
        try:
            return summary(NAME, self._request(read_more(as_mapping(args))), self._settings)
        except SpanielError as error:
            raise ToolError(NAME, error) from error

    async def execute(self, args: Mapping[str, object], ctx: ToolCtx) -> str:
        """The requested part as JSON, within the budget."""
        from spaniel.chunking import serialize

        return serialize((await self.call(args, ctx)).fields)

    async def call(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        """What `execute` does, for hosts that need more than its text."""
        ctx.allow_truncation = False
        return await run(NAME, args, self._read_on(args, ctx))

    async def _read_on(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        trace = Trace(ctx.progress)
        with refusals_recorded(args):
            require_on(self._settings)
            asked = read_more(as_mapping(args))
            request = self._request(asked)
            answer = self._recent.rendered(request) or await self._client.stored(request, trace)
            if answer is None:
                self._require_fetched(asked)
                await require_approval(summary(NAME, request, self._settings), self._settings, ctx)
        if answer is None:
            answer = _noted(await self._client.answer(request, trace))
        self._recent.remember(request, answer)
        with trace.step("fit"):
            fields = part_of(answer, asked, ctx.effective_max_bytes)
        return ToolResult(fields, PageResult(request, answer, asked.from_chunk, asked.find))

    def _require_fetched(self, asked: MoreRequest) -> None:
        """A page that is not cached is fetched again only if this session fetched it before (D2-42)."""
        if self._recent.request_for(asked.url) is None:
            reason = "this page has not been fetched yet; call web_fetch first"
            raise SpanielError(Code.BAD_ARGS, field="url", reason=reason, cause="not_fetched")

    def _request(self, asked: MoreRequest) -> Request:
        """The request that fetched the page, found by any of its URLs; else a new one."""
        request = self._recent.request_for(asked.url) or Request(asked.url)
        if asked.max_chunk_tokens is not None:
            request = request._replace(max_chunk_tokens=asked.max_chunk_tokens)
        return checked(request)


def read_more(args: Mapping[str, object]) -> MoreRequest:
    """The checked arguments; limits that depend on the page are checked once it is loaded."""
    require_known(args, MoreRequest._fields)
    find = args.get("find")
    if find is not None and not isinstance(find, str):
        raise bad("find", "must be text")
    first, offset = whole_number(args, "from_chunk"), whole_number(args, "from_offset")
    asked = MoreRequest(
        text(args, "url"),
        1 if first is None else first,
        offset or 0,
        (find or "").strip(),
        whole_number(args, "max_chunk_tokens"),
    )
    if asked.from_chunk < 1 or asked.from_offset < 0:
        name = "from_chunk" if asked.from_chunk < 1 else "from_offset"
        raise bad(name, "chunks are numbered from 1, their characters from 0")
    return asked


def part_of(answer: Answer, asked: MoreRequest, max_bytes: int) -> dict[str, object]:
    """The chunks from a number on, or those with the words: as many as fit."""
    from spaniel.chunking.fit import fit, read_on

    chunks = answer.chunks
    fields = {**answer.fields(), "total_chunks": len(chunks)}
    if not chunks:
        return fit(fields, chunks, max_bytes)
    if asked.find:
        return _found(fields, chunks, asked, max_bytes)
    return read_on(fields, chunks, max_bytes, asked.from_chunk, asked.from_offset)


def _found(fields: dict[str, object], chunks: Sequence[Chunk], asked: MoreRequest, max_bytes: int) -> dict[str, object]:
    from spaniel.chunking.fit import fit_found
    from spaniel.chunking.search import search

    before = asked.from_chunk - 1
    found = search(chunks[before:], asked.find, len(chunks))
    numbers = [before + match.number for match in found[:MAX_FOUND]]
    return fit_found({**fields, "matches": len(found)}, chunks, numbers, max_bytes)


def _noted(answer: Answer) -> Answer:
    """Note that the page was fetched again, unless another call has put it into the cache meanwhile."""
    return answer if answer.served_at else answer._replace(notes=(*answer.notes, FETCHED_AGAIN))

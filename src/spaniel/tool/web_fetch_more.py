"""`web_fetch_more`: reads further chunks of a fetched page, or searches it, from the cache (D2-29)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spaniel.defaults import CHUNK_TOKENS
from spaniel.errors import Code, SpanielError
from spaniel.pipeline.request import Request, Trace, bad, checked, require_known, text, whole_number
from spaniel.tool.framework import PageResult, PageTool, ToolCtx, ToolResult, as_mapping, refusals_recorded
from spaniel.tool.web_fetch import answer_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "url": {
            "type": "string",
            "minLength": 1,
            "description": "The page: the URL passed to web_fetch, or the final_url of its answer",
        },
        "from_chunk": {
            "type": "integer",
            "minimum": 1,
            "description": "The chunk to continue from: next_chunk of the previous answer. Default: the first",
        },
        "from_offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Where to start in that chunk: next_offset of the previous answer, if it had one",
        },
        "find": {
            "type": "string",
            "description": "Words to search for: the chunks with any of them, best first, instead of all in order. "
            "Words in quotation marks are searched as a phrase",
        },
        "max_chunk_tokens": {
            "type": "integer",
            "minimum": CHUNK_TOKENS.low,
            "maximum": CHUNK_TOKENS.high,
            "description": "As in the previous call; a different size changes the chunk numbers",
        },
    },
    "required": ["url"],
    "additionalProperties": False,
}


OUTPUT_SCHEMA = answer_schema(
    {"number": {"type": "integer", "minimum": 1, "description": "The number of a chunk found by find"}},
    ("total_chunks",),
    {
        "total_chunks": {"type": "integer", "minimum": 0, "description": "Chunks in the whole page"},
        "matches": {"type": "integer", "minimum": 0, "description": "With find: how many chunks contain the words"},
    },
)


class WebFetchMoreTool(PageTool):
    """A `ToolExecutor` that shares its session with `WebFetchTool`."""

    name = NAME
    title = "Read on in a fetched web page"
    description = DESCRIPTION
    schema = SCHEMA
    output_schema = OUTPUT_SCHEMA

    def _request(self, args: Mapping[str, object]) -> Request:
        """The request that would be made if the page has to be fetched again."""
        return self._request_for(read_more(args))

    async def _run(self, args: Mapping[str, object], ctx: ToolCtx) -> ToolResult:
        trace, recent = Trace(ctx.progress), self._session.recent
        with refusals_recorded(args):
            self._require_on()
            asked = read_more(as_mapping(args))
            request = self._request_for(asked)
            answer = recent.rendered(request) or await self._client.stored(request, trace)
            if answer is None:
                if recent.request_for(asked.url) is None:  # only what this session fetched is fetched again (D2-42)
                    reason = "this page has not been fetched yet; call web_fetch first"
                    raise SpanielError(Code.BAD_ARGS, field="url", reason=reason, cause="not_fetched")
                await self._require_approval(request, ctx)
        if answer is None:
            answer = _noted(await self._client.answer(request, trace))
        recent.remember(request, answer)
        with trace.step("fit"):
            fields = part_of(answer, asked, ctx.effective_max_bytes)
        return ToolResult(fields, PageResult(request, answer, asked.from_chunk, asked.find))

    def _request_for(self, asked: MoreRequest) -> Request:
        """The request that fetched the page, found by any of its URLs; else a new one."""
        request = self._session.recent.request_for(asked.url) or Request(asked.url)
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
